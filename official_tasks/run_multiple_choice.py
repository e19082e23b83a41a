r"""Fine-tunes a model to choose among continuations or answers: SWAG and more.

    python official_tasks/run_multiple_choice.py \
      --task_name=SWAG --data_dir=swag --do_train --do_eval \
      --init_checkpoint=uncased_L-12_H-768_A-12/bert_model.ckpt \
      --train_batch_size=16 --learning_rate=2e-5 --output_dir=swag_run

    ... --train_file=mine.jsonl --dev_fraction=0.1 --text_column=question \
      --choice_columns=a,b,c               your own data

Writes checkpoints, predictions of each split, results.json and report.html into
--output_dir.
"""

import dataclasses

from etils import epy

from keras_bert_impl import options
from keras_bert_impl.command_line import program
from keras_bert_impl.runs.labelled_data import labelled_splits
from official_tasks import fine_tuning_flags
from tfrecords.labelled import choice_data, data_sets

with epy.lazy_imports():
  from keras_bert_impl.runs.fine_tuning import task_parts


@dataclasses.dataclass(frozen=True)
class MultipleChoiceConfig(labelled_splits.SplitsConfig):
  """Files and columns of the examples.

  Raises:
    ValueError: flags contradict each other.
  """

  choice_columns: str | None = options.common(
    None,
    "Names of the columns of the choices, comma-separated, or of one column of"
    " lists (JSON). Labels count the choices from 0.",
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


def _data_set(config):
  """Returns the `DataSet` of the flags."""
  if not config.is_custom:
    return data_sets.find(choice_data.DATA_SETS, config.task_name)
  source = choice_data.ChoiceSource(
    choices=tuple(program.split_names(config.choice_columns)),
    **config.source_options,
  )
  return data_sets.DataSet(
    labelled_splits.CUSTOM, labelled_splits.custom_splits(source)
  )


def main():
  """Reads the flags and the data; the rest is `job.Job`."""
  config = program.from_flags(MultipleChoiceConfig)
  data_set = _data_set(config)
  job = fine_tuning_flags.read_flags()
  splits, counts = labelled_splits.read(data_set, config, job.settings)
  parts = task_parts.of_choices(job, splits)
  job.run(parts, splits, dataclasses.asdict(config), counts)


program.define_flags(MultipleChoiceConfig)
labelled_splits.list_data_sets(choice_data.DATA_SETS)
fine_tuning_flags.define_flags()

if __name__ == "__main__":
  program.run(main)
