"""Published data sets of texts and pairs with labels: GLUE and more.

Orders of labels are those of google-research/bert (run_classifier.py).
"""

import collections
import dataclasses
import math
import re
import statistics

from absl import logging

from keras_bert_impl.tasks.basics import example_types
from tfrecords.labelled import data_sets

# Squares of such labels, summed over a batch, are float32.
_LARGEST_SCORE = 1e15
_SEPARATOR = example_types.LABEL_SEPARATOR
# Values of a column that says whether a label applies.
_MARKS = {"1": True, "1.0": True, "true": True}
_MARKS |= {"0": False, "0.0": False, "false": False}
_NLI = ("contradiction", "entailment", "neutral")
_TWO_WAY_NLI = ("entailment", "not_entailment")
_BINARY = ("0", "1")
# Meanings of the classes 0 and 1.
_ACCEPTABILITY = ("unacceptable", "acceptable")
_SENTIMENT = ("negative", "positive")
_EQUIVALENCE = ("not_equivalent", "equivalent")
_DUPLICATION = ("not_duplicate", "duplicate")
_FOLLOWS = ("not_entailment", "entailment")
_FILES = {"train": "train.tsv", "dev": "dev.tsv", "test": "test.tsv"}
# Metrics of several data sets.
_MATTHEWS = ("matthews", "accuracy")
_F1 = ("f1", "accuracy", "accuracy_and_f1")


@dataclasses.dataclass(frozen=True)
class TextSource(data_sets.Source):
  """Source of texts with labels.

  Attributes:
    text: str, column of the text.
    text_pair: str, column of the second text; None without pairs.
    label_names: tuple of (label in the file, what it is called here), where
      they differ.
  """

  text: str = "sentence"
  text_pair: str | None = None
  label_names: tuple[tuple[str, str], ...] = ()

  def example(self, row, name, label):
    """Returns the `TextExample` of a row; its label is a str or None."""
    return example_types.TextExample(
      name,
      row.value(self.text, "text_column"),
      None
      if self.text_pair is None
      else row.value(self.text_pair, "text_pair_column"),
      dict(self.label_names).get(label, label),
      row.origin,
    )


@dataclasses.dataclass(frozen=True)
class LabelsSource(TextSource):
  """Source of texts with any number of labels each.

  Attributes:
    label: str, column of the labels, or of a list of a JSON file; or several
      columns, separated by commas, each with the name of a label and 1 where it
      applies, or 0.
    label_separator: str, what stands between the labels of a column.
  """

  label_separator: str = _SEPARATOR

  def read(self, paths, needs_labels, counts):
    """Returns the examples; see `Source`. Warns of labels that look joined."""
    examples = super().read(paths, needs_labels, counts)
    labels = [labels_of(example) for example in examples]
    joined = [each[0] for each in labels if re.search("[,;]", "".join(each))]
    if joined and all(len(each) < 2 for each in labels):
      logging.warning(
        "%s: no text has several labels, and %d have one like %r, with a comma"
        " or semicolon: if that separates labels, give label_separator.",
        ", ".join(paths),
        len(joined),
        joined[0],
      )
    return examples

  def label_of(self, row, is_needed):
    """Returns the labels of a row, tuple of str; None without such a column."""
    columns = [name.strip() for name in self.label.split(",")]
    if len(columns) > 1:
      if not is_needed and row.values.keys().isdisjoint(columns):
        return None
      return tuple(name for name in columns if _is_marked(row, name))
    listed = [
      value
      for name, value in row.values.items()
      if name.rpartition(".")[0] == self.label and name[-1].isdigit()
    ]
    if not listed and not is_needed and self.label not in row.values:
      return None
    labels = listed or row.value(self.label, "label_column").split(
      self.label_separator
    )
    labels = [label.strip() for label in labels]
    return label_tuple([*filter(None, labels)], row.origin)


@dataclasses.dataclass(frozen=True)
class TextDataSet(data_sets.DataSet):
  """A data set of texts, with its labels and metrics.

  Attributes:
    labels: tuple of str, its classes; None for scores.
    class_names: tuple of str, what its labels mean, where they are numbers.
    metrics: tuple of str, as the task takes them, the main one first.
    submissions: {split: file name} of what GLUE takes.
    tfds_splits: {split: `TextSource`} in TensorFlow Datasets, if it is there.
  """

  labels: tuple[str, ...] | None = _BINARY
  class_names: tuple[str, ...] = ()
  metrics: tuple[str, ...] = ("accuracy",)
  submissions: dict = dataclasses.field(default_factory=dict)
  tfds_splits: dict = dataclasses.field(default_factory=dict)


def label_tuple(labels, origin):
  """Returns the labels of a text that may have several, tuple of str.

  Raises:
    ValueError: one is repeated or cannot be written; names the place.
  """
  for label in labels:
    if labels.count(label) > 1 or _SEPARATOR in label or not label.strip():
      raise ValueError(
        f"{origin} has the label {label!r}, but must name labels without"
        f" {_SEPARATOR!r}, each once."
      )
  return tuple(sorted(labels))


def labels_of(example):
  """Returns all labels of an example, tuple; () if they are unknown."""
  label = example.label
  if label is None:
    return ()
  return label if isinstance(label, tuple) else (label,)


def label_set(examples, known=None):
  """Returns the labels of examples in order, tuple of str.

  Args:
    examples: list.
    known: list of str, the labels of a run to go on with, or None: their order
      stays, if they are the same. Otherwise integers go by their value, and
      others by the alphabet.
  """
  labels = {x for each in examples for x in labels_of(each)}
  if labels == {*(known or ())}:
    return tuple(known or ())
  if all(re.fullmatch(r"-?[0-9]{1,18}", label) for label in labels):
    return tuple(sorted(labels, key=lambda label: (int(label), label)))
  return tuple(sorted(labels))


def label_names(task_name):
  """Returns {label: meaning}; {} if labels are words, or unknown.

  Args:
    task_name: str, of any script, or None.
  """
  try:
    data_set = data_sets.find(DATA_SETS, task_name or "")
  except ValueError:  # custom, or none of texts
    return {}
  return dict(zip(data_set.labels or (), data_set.class_names, strict=False))


def check_labels(examples, labels):
  """Checks that all given labels are known.

  Raises:
    ValueError: one is not; names file and row.
  """
  known = frozenset(labels)
  for example in examples:
    for label in labels_of(example):
      if label not in known:
        raise ValueError(
          f"{example.origin} has the label {label!r}, which must be one of "
          f"{', '.join(labels)}."
        )


def count_untrained(examples, training_examples):
  """Returns {label: number of `examples`} of labels without training data."""
  trained = set(label_set(training_examples))
  labels = (label for example in examples for label in labels_of(example))
  return collections.Counter(x for x in labels if x not in trained)


def are_pairs(splits):
  """Returns whether the examples of {split: list} are pairs of texts."""
  return any(
    example.text_pair is not None
    for examples in splits.values()
    for example in examples[:1]
  )


def with_scores(examples):
  """Returns the examples with their labels as numbers.

  Raises:
    ValueError: one is no number; names file and row.
  """
  return [
    e
    if e.label is None
    else dataclasses.replace(e, label=score_of(e.label, e.origin))
    for e in examples
  ]


def mean_score(examples):
  """Returns the mean of the labels, scores; 0.0 without any."""
  return statistics.fmean(e.label for e in examples) if examples else 0.0


def _is_marked(row, column):
  """Returns whether a row has the label of a column."""
  value = row.value(column, "label_column")
  if value.strip().lower() not in _MARKS:
    raise ValueError(
      f"{row.origin} has {value!r} in the column {column!r}, which must be 1"
      " where the label applies, or 0."
    )
  return _MARKS[value.strip().lower()]


def score_of(text, origin):
  """Returns the number that a text is.

  Raises:
    ValueError: it is none; names `origin`, file and row.
  """
  try:
    score = float(text)
  except ValueError:
    score = math.nan
  if not abs(score) <= _LARGEST_SCORE:
    raise ValueError(
      f"{origin} has the score {text!r}, which must be a number in"
      f" [-{_LARGEST_SCORE:g}, {_LARGEST_SCORE:g}]."
    )
  return score


def _glue(
  name,
  source,
  files=_FILES,
  tfds_texts=None,
  test_id="index",
  submissions=None,
  **options,
):
  """Returns a data set of GLUE.

  Args:
    name: str.
    source: `TextSource` of its columns.
    files: {split: str}, as published.
    tfds_texts: (column, column or None) of the texts in TensorFlow Datasets,
      where these are others.
    test_id: str, column of the names of rows in the test set.
    submissions: as of `TextDataSet`; default: a file of the name.
    **options: fields of `TextDataSet`.
  """
  test = dataclasses.replace(source, id=test_id, columns=None)
  splits = {
    split: dataclasses.replace(
      test if split.startswith("test") else source, files=(file,)
    )
    for split, file in files.items()
  }
  text, text_pair = tfds_texts or (source.text, source.text_pair)
  names = zip(options.get("class_names", ()), _BINARY, strict=False)
  tfds_source = TextSource(
    text=text, text_pair=text_pair, label_names=tuple(names)
  )
  return TextDataSet(
    name,
    splits,
    submissions=submissions or {"test": f"{name}.tsv"},
    tfds_splits=_tfds(name, tfds_source, files),
    **options,
  )


def _tfds(name, source, files):
  """Returns {split: source} of a part of GLUE in TensorFlow Datasets."""
  place = f"tfds:glue/{data_sets.plain(name)}?split="
  return {
    split: dataclasses.replace(
      source,
      files=(place + file.replace(".tsv", "").replace("dev", "validation"),),
      # The label column of a test set has placeholders, so it is not read.
      label="hidden" if split.startswith("test") else "label",
      id="idx",
    )
    for split, file in files.items()
  }


def _adv_glue(attacked, numbered=(), **keys):
  """Returns the part of AdvGLUE for models of a part of GLUE.

  Args:
    attacked: `TextDataSet` of GLUE.
    numbered: tuple of str, the labels that its numbers mean.
    **keys: str, lists of the file by split.
  """
  texts = next(iter(attacked.tfds_splits.values()))
  source = TextSource(
    ("dev_ann.json",),
    id="idx",
    text=texts.text,
    text_pair=texts.text_pair,
    label_names=tuple((str(k), label) for k, label in enumerate(numbered)),
  )
  keys = {"dev": data_sets.plain(attacked.name), **keys}
  return TextDataSet(
    f"AdvGLUE-{attacked.name}",
    {
      split: dataclasses.replace(source, key=key) for split, key in keys.items()
    },
    note="AdvGLUE is for evaluation: start from --init_checkpoint of"
    f" {attacked.name}.",
    labels=attacked.labels,
  )


def xnli(language):
  """Returns XNLI in a language ("zh", "de", ...), translated for training."""
  translated = TextSource(
    text="premise",
    text_pair="hypo",
    label_names=(("contradictory", "contradiction"),),
  )
  published = dataclasses.replace(_GOLD, where=("language", language))
  return TextDataSet(
    "XNLI",
    translated.in_splits(train=f"multinli/multinli.train.{language}.tsv")
    | published.in_splits(dev="xnli.dev.tsv", test="xnli.test.tsv"),
    labels=_NLI,
  )


_SENTENCE = TextSource(text="sentence")
_SENTENCES = TextSource(text="sentence1", text_pair="sentence2")
_QUESTIONS = TextSource(text="question1", text_pair="question2")
_GOLD = dataclasses.replace(_SENTENCES, label="gold_label")
_PREMISES = TextSource(text="premise", text_pair="hypothesis")

_GLUE = (
  _glue(
    "CoLA",
    dataclasses.replace(
      _SENTENCE, columns=("source", "label", "mark", "sentence")
    ),
    class_names=_ACCEPTABILITY,
    metrics=_MATTHEWS,
  ),
  _glue("SST-2", _SENTENCE, class_names=_SENTIMENT),
  _glue(
    "MRPC",
    TextSource(text="#1 String", text_pair="#2 String", label="Quality"),
    tfds_texts=("sentence1", "sentence2"),
    class_names=_EQUIVALENCE,
    metrics=_F1,
  ),
  _glue(
    "QQP",
    # Some questions of the published training data hold tabs or line feeds.
    dataclasses.replace(
      _QUESTIONS, label="is_duplicate", has_malformed_rows=True
    ),
    test_id="id",
    class_names=_DUPLICATION,
    metrics=_F1,
  ),
  _glue(
    "STS-B",
    dataclasses.replace(_SENTENCES, label="score"),
    labels=None,
    metrics=("spearman", "pearson", "pearson_and_spearman"),
  ),
  _glue(
    "MNLI",
    _GOLD,
    {
      "train": "train.tsv",
      "dev": "dev_matched.tsv",
      "dev_mismatched": "dev_mismatched.tsv",
      "test": "test_matched.tsv",
      "test_mismatched": "test_mismatched.tsv",
    },
    tfds_texts=("premise", "hypothesis"),
    submissions={"test": "MNLI-m.tsv", "test_mismatched": "MNLI-mm.tsv"},
    labels=_NLI,
  ),
  _glue(
    "QNLI",
    TextSource(text="question", text_pair="sentence"),
    labels=_TWO_WAY_NLI,
  ),
  _glue("RTE", _SENTENCES, labels=_TWO_WAY_NLI),
  _glue(
    "WNLI",
    _SENTENCES,
    note=(
      "The paper leaves WNLI out and hands in the majority class, which no"
      " system had beaten (65.1 % of the test set): a score below the baseline"
      " is what to expect. --do_predict --predict_majority writes its file."
    ),
    class_names=_FOLLOWS,
  ),
  TextDataSet(
    "AX",
    TextSource(text="Premise", text_pair="Hypothesis", label="Label").in_splits(
      dev="diagnostic-full.tsv"
    )
    | dataclasses.replace(_SENTENCES, id="index").in_splits(
      test="diagnostic.tsv"
    ),
    note="AX has no training data: start from --init_checkpoint of MNLI.",
    labels=_NLI,
    metrics=_MATTHEWS,
    submissions={"test": "AX.tsv"},
    tfds_splits=_tfds("AX", _PREMISES, {"test": "test.tsv"}),
  ),
)
_ATTACKED = {data_set.name: data_set for data_set in _GLUE}

DATA_SETS = (
  *_GLUE,
  xnli("zh"),
  TextDataSet(
    "NSMC",
    TextSource(text="document", id="id").in_splits(
      train="ratings_train.txt", test="ratings_test.txt"
    ),
    class_names=_SENTIMENT,
  ),
  TextDataSet(
    "KLUE-NLI",
    dataclasses.replace(_PREMISES, id="guid", label="gold_label").in_splits(
      train="klue-nli-v1.1_train.json", dev="klue-nli-v1.1_dev.json"
    ),
    labels=_NLI,
  ),
  TextDataSet(
    "KLUE-STS",
    dataclasses.replace(_SENTENCES, id="guid", label="labels.label").in_splits(
      train="klue-sts-v1.1_train.json", dev="klue-sts-v1.1_dev.json"
    ),
    labels=None,
    metrics=("pearson", "f1_from_3"),
  ),
  TextDataSet(
    "KorNLI",
    _GOLD.in_splits(
      train="snli_1.0_train.ko.tsv multinli.train.ko.tsv",
      dev="xnli.dev.ko.tsv",
      test="xnli.test.ko.tsv",
    ),
    labels=_NLI,
  ),
  TextDataSet(
    "KorSTS",
    dataclasses.replace(_SENTENCES, label="score").in_splits(
      train="sts-train.tsv", dev="sts-dev.tsv", test="sts-test.tsv"
    ),
    labels=None,
    metrics=("spearman", "pearson"),
  ),
  _adv_glue(_ATTACKED["SST-2"]),
  _adv_glue(_ATTACKED["QQP"]),
  _adv_glue(
    _ATTACKED["MNLI"],
    ("entailment", "neutral", "contradiction"),
    dev_mismatched="mnli-mm",
  ),
  _adv_glue(_ATTACKED["QNLI"], _TWO_WAY_NLI),
  _adv_glue(_ATTACKED["RTE"], _TWO_WAY_NLI),
)
