"""The data set of texts that the flags of run_classifier.py name."""

import collections
import dataclasses

from keras_bert_impl import heads
from keras_bert_impl.command_line import program
from keras_bert_impl.runs.labelled_data import labelled_splits
from tfrecords.labelled import classification_data, data_sets

_METRICS = {
  heads.CLASSIFICATION: ("accuracy", "macro_f1"),
  heads.MULTI_LABEL: ("micro_f1", "macro_f1", "exact_match"),
  heads.REGRESSION: ("spearman", "pearson"),
}


def metrics_of(head, names=None):
  """Returns the metrics of classes, of several labels or scores, tuple of str.

  Args:
    head: str, of `keras_bert_impl.heads`.
    names: str, comma-separated, in place of the usual ones; or None.
  """
  return tuple(program.split_names(names or "")) or _METRICS[head]


def read_file(path, multi_label=False, **columns):
  """Returns the labelled examples of a file, list of `TextExample`.

  Args:
    path: str; a file of a published data set is read as such.
    multi_label: bool, whether texts may have several labels.
    **columns: text, text_pair, label: names of the columns of another file.

  Raises:
    FileNotFoundError: there is no such file.
    ValueError: it is malformed or lacks a column; names file and row.
  """
  source = data_sets.published_source(classification_data.DATA_SETS, path)
  if multi_label:
    source = classification_data.LabelsSource(**{"text": "text"} | columns)
  elif columns or source is None:
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
  source_class, head = classification_data.TextSource, heads.CLASSIFICATION
  if config.regression:
    head = heads.REGRESSION
  elif config.multi_label:
    source_class, head = classification_data.LabelsSource, heads.MULTI_LABEL
  source = source_class(
    text_pair=config.text_pair_column, **config.source_options
  )
  return classification_data.TextDataSet(
    labelled_splits.CUSTOM,
    labelled_splits.custom_splits(source),
    labels=None
    if config.regression
    else tuple(program.split_names(config.labels or "")),
    metrics=metrics_of(head, config.metrics),
  )
