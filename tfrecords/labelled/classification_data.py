"""Published data sets of texts and pairs with labels: GLUE and more.

Orders of labels are those of google-research/bert (run_classifier.py).
"""

import collections
import dataclasses
import math
import statistics

from keras_bert_impl.tasks.basics import example_types
from tfrecords.labelled import data_sets

# Squares of such labels, summed over a batch, are float32.
_LARGEST_SCORE = 1e15
_NLI = ("contradiction", "entailment", "neutral")
_TWO_WAY_NLI = ("entailment", "not_entailment")
_BINARY = ("0", "1")
# What these mean.
_ACCEPTABILITY = ("unacceptable", "acceptable")
_SENTIMENT = ("negative", "positive")
_EQUIVALENCE = ("not_equivalent", "equivalent")
_DUPLICATION = ("not_duplicate", "duplicate")
# As AdvGLUE numbers the classes of MNLI.
_NUMBERED_NLI = (
  ("0", "entailment"),
  ("1", "neutral"),
  ("2", "contradiction"),
)
_TFDS_SPLITS = (("train", "train"), ("dev", "validation"), ("test", "test"))
_NUMBERED_TWO_WAY = tuple(
  (str(number), label) for number, label in enumerate(_TWO_WAY_NLI)
)


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
      row.value(self.text),
      None if self.text_pair is None else row.value(self.text_pair),
      dict(self.label_names).get(label, label),
      row.origin,
    )


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


def label_set(examples):
  """Returns the labels of examples in order, tuple of str."""
  return tuple(sorted({e.label for e in examples}))


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
    if example.label is not None and example.label not in known:
      raise ValueError(
        f"{example.origin} has the label {example.label!r}, which must be one "
        f"of {', '.join(labels)}."
      )


def count_untrained(examples, training_examples):
  """Returns {label: number of `examples`} of labels without training data."""
  trained = {example.label for example in training_examples}
  return collections.Counter(
    e.label for e in examples if e.label is not None and e.label not in trained
  )


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
    e if e.label is None else dataclasses.replace(e, label=_score(e))
    for e in examples
  ]


def mean_score(examples):
  """Returns the mean of the labels, scores; 0.0 without any."""
  return statistics.fmean(e.label for e in examples) if examples else 0.0


def _score(example):
  try:
    score = float(example.label)
  except ValueError:
    score = math.nan
  if not abs(score) <= _LARGEST_SCORE:
    raise ValueError(
      f"{example.origin} has the score {example.label!r}, which must be a"
      f" number in [-{_LARGEST_SCORE:g}, {_LARGEST_SCORE:g}]."
    )
  return score


def _glue(name, text, text_pair=None, **options):
  """Returns a data set of GLUE with the usual files."""
  source = TextSource(
    text=text,
    text_pair=text_pair,
    label=options.pop("label", "label"),
    has_malformed_rows=options.pop("has_malformed_rows", False),
  )
  splits = {
    split: dataclasses.replace(source, files=(f"{split}.tsv",))
    for split in ("train", "dev")
  }
  splits["test"] = dataclasses.replace(
    source, files=("test.tsv",), id=options.pop("test_id", "index")
  )
  return TextDataSet(
    name,
    options.pop("splits", splits),
    submissions={"test": f"{name}.tsv"},
    **options,
  )


def _tfds(name, text, text_pair=None, label_names=(), splits=_TFDS_SPLITS):
  """Returns the splits of a part of GLUE in TensorFlow Datasets."""
  return {
    split: TextSource(
      (f"tfds:glue/{name}?split={published}",),
      # The label column of a test set has placeholders, so it is not read.
      label="hidden" if split.startswith("test") else "label",
      id="idx",
      text=text,
      text_pair=text_pair,
      label_names=label_names,
    )
    for split, published in splits
  }


def _binary(no, yes):
  """Returns the `label_names` of the classes 0 and 1."""
  return (no, "0"), (yes, "1")


def _cola():
  published = TextSource(
    columns=("source", "label", "mark", "sentence"), text="sentence"
  )
  return _glue(
    "CoLA",
    "sentence",
    class_names=_ACCEPTABILITY,
    metrics=("matthews", "accuracy"),
    splits={
      "train": dataclasses.replace(published, files=("train.tsv",)),
      "dev": dataclasses.replace(published, files=("dev.tsv",)),
      "test": TextSource(("test.tsv",), id="index", text="sentence"),
    },
    tfds_splits=_tfds("cola", "sentence", None, _binary(*_ACCEPTABILITY)),
  )


def _mnli():
  source = TextSource(
    label="gold_label", text="sentence1", text_pair="sentence2"
  )
  return TextDataSet(
    "MNLI",
    {
      "train": dataclasses.replace(source, files=("train.tsv",)),
      "dev": dataclasses.replace(source, files=("dev_matched.tsv",)),
      "dev_mismatched": dataclasses.replace(
        source, files=("dev_mismatched.tsv",)
      ),
      "test": dataclasses.replace(
        source, files=("test_matched.tsv",), id="index"
      ),
      "test_mismatched": dataclasses.replace(
        source, files=("test_mismatched.tsv",), id="index"
      ),
    },
    labels=_NLI,
    submissions={"test": "MNLI-m.tsv", "test_mismatched": "MNLI-mm.tsv"},
    tfds_splits=_tfds(
      "mnli",
      "premise",
      "hypothesis",
      splits=(
        ("train", "train"),
        ("dev", "validation_matched"),
        ("dev_mismatched", "validation_mismatched"),
        ("test", "test_matched"),
        ("test_mismatched", "test_mismatched"),
      ),
    ),
  )


def _ax():
  return TextDataSet(
    "AX",
    {
      "dev": TextSource(
        ("diagnostic-full.tsv",),
        label="Label",
        text="Premise",
        text_pair="Hypothesis",
      ),
      "test": TextSource(
        ("diagnostic.tsv",),
        id="index",
        text="sentence1",
        text_pair="sentence2",
      ),
    },
    note="AX has no training data: start from --init_checkpoint of MNLI.",
    labels=_NLI,
    metrics=("matthews", "accuracy"),
    submissions={"test": "AX.tsv"},
    tfds_splits=_tfds(
      "ax", "premise", "hypothesis", splits=(("test", "test"),)
    ),
  )


def xnli(language):
  """Returns XNLI in a language ("zh", "de", ...), translated for training."""
  published = TextSource(
    label="gold_label",
    where=("language", language),
    text="sentence1",
    text_pair="sentence2",
  )
  return TextDataSet(
    "XNLI",
    {
      "train": TextSource(
        (f"multinli/multinli.train.{language}.tsv",),
        text="premise",
        text_pair="hypo",
        label_names=(("contradictory", "contradiction"),),
      ),
      "dev": dataclasses.replace(published, files=("xnli.dev.tsv",)),
      "test": dataclasses.replace(published, files=("xnli.test.tsv",)),
    },
    labels=_NLI,
  )


def _nsmc():
  source = TextSource(id="id", text="document")
  return TextDataSet(
    "NSMC",
    {
      "train": dataclasses.replace(source, files=("ratings_train.txt",)),
      "test": dataclasses.replace(source, files=("ratings_test.txt",)),
    },
    class_names=_SENTIMENT,
  )


def _klue(name, source, **options):
  file = f"{name.lower()}-v1.1"
  return TextDataSet(
    name,
    {
      split: dataclasses.replace(source, files=(f"{file}_{split}.json",))
      for split in ("train", "dev")
    },
    **options,
  )


def _kor_nli():
  source = TextSource(
    label="gold_label", text="sentence1", text_pair="sentence2"
  )
  return TextDataSet(
    "KorNLI",
    {
      split: dataclasses.replace(source, files=files)
      for split, files in (
        ("train", ("snli_1.0_train.ko.tsv", "multinli.train.ko.tsv")),
        ("dev", ("xnli.dev.ko.tsv",)),
        ("test", ("xnli.test.ko.tsv",)),
      )
    },
    labels=_NLI,
  )


def _kor_sts():
  source = TextSource(label="score", text="sentence1", text_pair="sentence2")
  return TextDataSet(
    "KorSTS",
    {
      split: dataclasses.replace(source, files=(f"sts-{split}.tsv",))
      for split in ("train", "dev", "test")
    },
    labels=None,
    metrics=("spearman", "pearson"),
  )


def _adv_glue(name, text, text_pair, labels, label_names=(), **keys):
  """Returns a part of AdvGLUE, for models of the part of GLUE it attacks."""
  return TextDataSet(
    f"AdvGLUE-{name}",
    {
      split: TextSource(
        ("dev_ann.json",),
        id="idx",
        key=key,
        text=text,
        text_pair=text_pair,
        label_names=label_names,
      )
      for split, key in keys.items()
    },
    note=f"AdvGLUE is for evaluation: start from --init_checkpoint of {name}.",
    labels=labels,
  )


DATA_SETS = (
  _cola(),
  _glue(
    "SST-2",
    "sentence",
    class_names=_SENTIMENT,
    tfds_splits=_tfds("sst2", "sentence", None, _binary(*_SENTIMENT)),
  ),
  _glue(
    "MRPC",
    "#1 String",
    "#2 String",
    label="Quality",
    class_names=_EQUIVALENCE,
    metrics=("f1", "accuracy", "accuracy_and_f1"),
    tfds_splits=_tfds("mrpc", "sentence1", "sentence2", _binary(*_EQUIVALENCE)),
  ),
  _glue(
    "QQP",
    "question1",
    "question2",
    label="is_duplicate",
    test_id="id",
    class_names=_DUPLICATION,
    # Some questions of the published training data hold tabs or line feeds.
    has_malformed_rows=True,
    metrics=("f1", "accuracy", "accuracy_and_f1"),
    tfds_splits=_tfds("qqp", "question1", "question2", _binary(*_DUPLICATION)),
  ),
  _glue(
    "STS-B",
    "sentence1",
    "sentence2",
    label="score",
    labels=None,
    metrics=("spearman", "pearson", "pearson_and_spearman"),
    tfds_splits=_tfds("stsb", "sentence1", "sentence2"),
  ),
  _mnli(),
  _glue(
    "QNLI",
    "question",
    "sentence",
    labels=_TWO_WAY_NLI,
    tfds_splits=_tfds("qnli", "question", "sentence"),
  ),
  _glue(
    "RTE",
    "sentence1",
    "sentence2",
    labels=_TWO_WAY_NLI,
    tfds_splits=_tfds("rte", "sentence1", "sentence2"),
  ),
  _glue(
    "WNLI",
    "sentence1",
    "sentence2",
    note=(
      "The paper leaves WNLI out and hands in the majority class, which no"
      " system had beaten (65.1 % of the test set): a score below the baseline"
      " is what to expect. --do_predict --predict_majority writes its file."
    ),
    class_names=_TWO_WAY_NLI[::-1],
    tfds_splits=_tfds(
      "wnli", "sentence1", "sentence2", _binary(*_TWO_WAY_NLI[::-1])
    ),
  ),
  _ax(),
  xnli("zh"),
  _nsmc(),
  _klue(
    "KLUE-NLI",
    TextSource(
      id="guid",
      label="gold_label",
      text="premise",
      text_pair="hypothesis",
    ),
    labels=_NLI,
  ),
  _klue(
    "KLUE-STS",
    TextSource(
      id="guid",
      label="labels.label",
      text="sentence1",
      text_pair="sentence2",
    ),
    labels=None,
    metrics=("pearson", "f1_from_3"),
  ),
  _kor_nli(),
  _kor_sts(),
  _adv_glue("SST-2", "sentence", None, _BINARY, dev="sst2"),
  _adv_glue("QQP", "question1", "question2", _BINARY, dev="qqp"),
  _adv_glue(
    "MNLI",
    "premise",
    "hypothesis",
    _NLI,
    _NUMBERED_NLI,
    dev="mnli",
    dev_mismatched="mnli-mm",
  ),
  _adv_glue(
    "QNLI",
    "question",
    "sentence",
    _TWO_WAY_NLI,
    _NUMBERED_TWO_WAY,
    dev="qnli",
  ),
  _adv_glue(
    "RTE",
    "sentence1",
    "sentence2",
    _TWO_WAY_NLI,
    _NUMBERED_TWO_WAY,
    dev="rte",
  ),
)
