"""The data set of texts that the flags of run_classifier.py name."""

import dataclasses

from keras_bert_impl.command_line import program
from keras_bert_impl.runs.labelled_data import labelled_splits
from tfrecords.labelled import classification_data, data_sets


def data_set(config):
  """Returns the `TextDataSet` of the flags.

  Args:
    config: `run_classifier.ClassifierConfig`.

  Raises:
    ValueError: there is none of that name, or not where it is looked for.
  """
  if config.is_custom:
    return _custom(config)
  found = data_sets.find(classification_data.DATA_SETS, config.task_name)
  if found.name == "XNLI":
    return classification_data.xnli(config.language)
  if config.tfds:
    if not found.tfds_splits:
      raise ValueError(
        f"{found.name} is not in TensorFlow Datasets: give --data_dir"
        " without --tfds."
      )
    return dataclasses.replace(found, splits=found.tfds_splits)
  return found


def _custom(config):
  source = classification_data.TextSource(
    text_pair=config.text_pair_column, **config.source_options
  )
  metrics = ("accuracy", "macro_f1")
  if config.regression:
    metrics = ("spearman", "pearson")
  return classification_data.TextDataSet(
    labelled_splits.CUSTOM,
    labelled_splits.custom_splits(source),
    labels=None
    if config.regression
    else tuple(program.split_names(config.labels or "")),
    metrics=tuple(program.split_names(config.metrics or "")) or metrics,
  )
