"""Splits of choices: the data set that run_multiple_choice.py reads."""

import dataclasses

from keras_bert_impl import options
from keras_bert_impl.kinds.choices import choice_data
from keras_bert_impl.runs.labelled_data import labelled_splits
from tfrecords.labelled import data_sets


@dataclasses.dataclass(frozen=True)
class MultipleChoiceConfig(labelled_splits.SplitsConfig):
  """Files and columns of the examples.

  Raises:
    ValueError: flags contradict each other.
  """

  choice_columns: tuple[str, ...] | None = options.listed(
    None,
    "Names of the columns of the choices, comma-separated, or of one column of"
    " lists (JSON). Labels count the choices from 0.",
    is_common=True,
  )

  def __post_init__(self):
    super().__post_init__()
    if self.is_custom:
      if not self.choice_columns:
        raise ValueError(
          "--choice_columns must be given, or --task_name with a data set."
        )
    else:
      self._check_columns(("choice_columns",))


def data_set(config):
  """Returns the `DataSet` of the flags.

  Args:
    config: `MultipleChoiceConfig`.

  Raises:
    ValueError: there is none of that name.
  """
  if not config.is_custom:
    return data_sets.find(choice_data.DATA_SETS, config.task_name)
  source = choice_data.ChoiceSource(
    choices=config.choice_columns,
    **config.source_options,
  )
  return data_sets.DataSet(
    labelled_splits.CUSTOM, labelled_splits.custom_splits(source)
  )
