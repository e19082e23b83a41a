"""The data set of texts that the flags of run_classifier.py name."""

import collections
import dataclasses

from keras_bert_impl.command_line import program
from keras_bert_impl.runs.labelled_data import labelled_splits
from tfrecords.labelled import classification_data, data_sets


def metrics_of(is_scored, names=None):
  """Returns the metrics of scores or classes, tuple of str.

  Args:
    is_scored: bool, whether labels are scores.
    names: str, comma-separated, in place of the usual ones; or None.
  """
  usual = ("spearman", "pearson") if is_scored else ("accuracy", "macro_f1")
  return tuple(program.split_names(names or "")) or usual


def read_file(path, **columns):
  """Returns the labelled examples of a file, list of `TextExample`.

  Args:
    path: str; a file of a published data set is read as such.
    **columns: text, text_pair, label: names of the columns of another file.

  Raises:
    FileNotFoundError: there is no such file.
    ValueError: it is malformed or lacks a column; names file and row.
  """
  source = data_sets.published_source(classification_data.DATA_SETS, path)
  if columns or source is None:
    source = classification_data.TextSource(**{"text": "text"} | columns)
  return source.read([path], True, collections.Counter())


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
  return classification_data.TextDataSet(
    labelled_splits.CUSTOM,
    labelled_splits.custom_splits(source),
    labels=None
    if config.regression
    else tuple(program.split_names(config.labels or "")),
    metrics=metrics_of(config.regression, config.metrics),
  )
