"""The data set of texts that the flags of run_classifier.py name."""

import collections
import dataclasses
from typing import NamedTuple

from absl import logging

from keras_bert_impl import heads, options
from keras_bert_impl.kinds.texts import classification_data, text_options
from keras_bert_impl.runs.labelled_data import labelled_splits
from keras_bert_impl.tasks.basics import example_types
from tfrecords.labelled import data_sets

_METRICS = {
  heads.CLASSIFICATION: ("accuracy", "macro_f1"),
  heads.MULTI_LABEL: ("micro_f1", "macro_f1", "exact_match"),
  heads.REGRESSION: ("spearman", "pearson"),
}
_CUSTOM_FLAGS = (
  "text_pair_column",
  "labels",
  "multi_label",
  "regression",
  "metrics",
)


@dataclasses.dataclass(frozen=True)
class ClassifierConfig(labelled_splits.SplitsConfig, text_options.TextOptions):
  """Files, columns, labels and metrics of the examples.

  Raises:
    ValueError: flags contradict each other.
  """

  tfds: bool = options.common(
    False,
    "Whether to read a GLUE task from TensorFlow Datasets; --data_dir is then"
    " its folder, if given.",
  )
  language: str = options.field("zh", "Language of XNLI.")
  text_pair_column: str | None = options.common(
    None, "Name of the column of the second text; default: no second text."
  )
  labels: tuple[str, ...] | None = options.listed(
    None,
    "Class names, comma-separated; default: those of the training data.",
  )
  multi_label: bool = options.common(
    False, "Whether texts have any number of labels, with label_separator."
  )
  label_separator: str = options.field(
    example_types.LABEL_SEPARATOR,
    "What stands between the labels of a text, with --multi_label.",
  )
  regression: bool = options.common(
    False, "Whether labels are numbers, not classes."
  )
  predict_majority: bool = options.field(
    False,
    "Whether to predict the majority class of the training data for every text,"
    " without a model, as is done for WNLI. With --do_predict alone.",
  )

  def __post_init__(self):
    super().__post_init__()
    if not self.is_custom:
      self._check_columns(_CUSTOM_FLAGS)
    if self.labels and self.regression:
      raise ValueError("give --regression or --labels, not both.")
    if self.multi_label and (self.regression or self.predict_majority):
      raise ValueError(
        "give --multi_label without --regression and --predict_majority."
      )
    check_separator(self.label_separator, self.multi_label)


class Texts(NamedTuple):
  """The examples of a data set of texts.

  Attributes:
    splits: {split: list of `TextExample`}.
    counts: {split: {what: int}}, of the readers.
    labels: tuple of str, the classes; None for scores.
  """

  splits: dict
  counts: dict
  labels: tuple[str, ...] | None


def check_separator(label_separator, multi_label):
  """Raises ValueError unless labels can be separated by it, or it is usual."""
  is_usual = label_separator == example_types.LABEL_SEPARATOR
  if not (multi_label or is_usual):
    raise ValueError(
      f"label_separator ({label_separator!r}) needs multi_label."
    )
  if not isinstance(label_separator, str) or not label_separator:
    raise ValueError(
      f"label_separator ({label_separator!r}) must be a text, such as ','."
    )


def class_weights(value, labels):
  """Returns {class: float} of the option class_weight, checked.

  Raises:
    ValueError: it names no class, or no number from 0 on.
  """
  for name, number in value.items():
    options.check_choice("class_weight", name, labels or ("no class: none",))
    options.check_numbers("[0, 1e6]", **{f"class_weight of {name}": number})
  return value


def metrics_of(head, names=None):
  """Returns the metrics of classes, of several labels or scores, tuple of str.

  Args:
    head: str, of `keras_bert_impl.heads`.
    names: tuple of str, in place of the usual ones; or None.
  """
  return names or _METRICS[head]


def read_file(path, multi_label=False, **columns):
  """Returns the labelled examples of a file, list of `TextExample`.

  Args:
    path: str; a file of a published data set is read as such.
    multi_label: bool, whether texts may have several labels.
    **columns: text, text_pair, label: names of the columns of another file;
      label_separator, as of `LabelsSource`.

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
    config: `ClassifierConfig`.

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


def read(data_set, config, settings, known_labels=None):
  """Reads the splits that a run needs, and checks their labels.

  Args:
    data_set: `TextDataSet`.
    config: `ClassifierConfig`.
    settings: `fine_tuning_config.FineTuningConfig`.
    known_labels: list of str, those of the run to go on with, or None.

  Returns:
    `Texts`.

  Raises:
    ValueError: a split is missing or malformed, or a label is unknown.
    FileNotFoundError: a file does not exist.
  """
  splits, counts = labelled_splits.read(data_set, config, settings)
  if data_set.labels is None:
    scored = map(classification_data.with_scores, splits.values())
    return Texts(dict(zip(splits, scored, strict=True)), counts, None)
  labels = _labels(data_set, splits, known_labels)
  _check_labels(labels, splits, counts)
  return Texts(splits, counts, labels)


def _custom(config):
  source_class, head = classification_data.TextSource, heads.CLASSIFICATION
  if config.regression:
    head = heads.REGRESSION
  elif config.multi_label:
    source_class, head = classification_data.LabelsSource, heads.MULTI_LABEL
  own = {"text_pair": config.text_pair_column, **config.source_options}
  if config.multi_label:
    own["label_separator"] = config.label_separator
  source = source_class(**own)
  return classification_data.TextDataSet(
    labelled_splits.CUSTOM,
    labelled_splits.custom_splits(source),
    labels=None if config.regression else config.labels or (),
    metrics=metrics_of(head, config.metrics),
  )


def _labels(data_set, splits, known_labels):
  """Returns the classes: the known ones, or those of the training data."""
  if data_set.labels:
    return data_set.labels
  if "train" in splits:
    return classification_data.label_set(splits["train"], known_labels)
  if known_labels:
    return tuple(known_labels)
  raise ValueError("--labels must be given: no run or data names the classes.")


def _check_labels(labels, splits, counts):
  """Checks the labels of all splits; counts those that are not trained on.

  Raises:
    ValueError: one is unknown; names file and row.
  """
  for examples in splits.values():
    classification_data.check_labels(examples, labels)
  if "train" not in splits:
    return
  for split, examples in splits.items():
    untrained = classification_data.count_untrained(examples, splits["train"])
    for label, count in untrained.items():
      what = f"examples of {label!r}, which no training example is"
      counts.setdefault(split, {})[what] = count
      logging.warning("%s: %d %s.", split, count, what)
