"""Classifies or scores texts or pairs of texts, from Python."""

import numbers
import typing
from collections.abc import Iterable, Mapping, Sequence

import keras

from keras_bert_impl import heads
from keras_bert_impl.estimators import estimator, records, typed
from keras_bert_impl.kinds.texts import (
  classification_data,
  text_kind,
  text_splits,
)
from keras_bert_impl.tasks.basics import example_types

TextInput = str | tuple[str, str] | Mapping[str, typing.Any]

if typing.TYPE_CHECKING:
  from typing_extensions import Unpack


class TextAnswer(typing.TypedDict):
  """Answer to a text: of classes, scores or several labels, which have some."""

  label: str
  score: float
  probabilities: dict[str, float]
  labels: list[str]


class TextSettings(typed.FitSettings, total=False):
  """Settings of `fit`."""

  bilstm_width: int | None
  class_weight: Mapping[typing.Any, float] | None
  label_column: str | Sequence[str]
  label_separator: str
  metrics: Sequence[str] | None
  sample_weight: Iterable[float]
  text_column: str
  text_pair_column: str


class TextClassifier(estimator.Estimator[TextInput, TextAnswer]):
  """Classifies or scores texts or pairs of texts.

      classifier = kb.TextClassifier.from_checkpoint("klue/bert-base")
      classifier.fit(["좋아요", "별로예요"], ["positive", "negative"])
      classifier.predict(["정말 재미있어요"])
      # [{"label": "positive", "score": 0.98, "probabilities": {...}}]

  An example is a text or a pair (text, text_pair), and its label: the name of a
  class, its number where `labels` are given, or a score; with `multi_label` a
  list of the names of all that apply, which may be empty. As a dict it has the
  keys text, text_pair and label. A file is a published one by its name (GLUE,
  NSMC, KLUE, ...) that only one data set has, or a .tsv, .csv, .jsonl or .json
  file with such columns, or with those that text_column, text_pair_column and
  label_column of `fit` name; several labels are separated by "|" or another
  label_separator, are a list in JSON, or have a column of 0 and 1 each:
  label_column=["toxic", "insult"].

  Answers are {"label": str, "score": float, "probabilities": {label: float}};
  of scores {"score": float}; with `multi_label` {"labels": list of those with a
  probability above 0.5, "probabilities": {label: float}}.

  Args:
    checkpoint: str, as of `from_checkpoint`.
    labels: list of str, names of the classes in the order of the logits; None
      for scores. Default: as trained, or those of the training data.
    max_seq_length: int, maximum tokens of a text or pair; default: as trained,
      or 128.
    multi_label: bool, whether an example may have several labels or none, each
      of which is decided by itself; default: as trained, or not.
    **files: fields of `model_files.ModelFilesConfig`.

  Attributes:
    labels: tuple of str; None for scores; () where no data has named them yet.
    multi_label: bool.

  Raises:
    ValueError: as `Answering`, or scores are to have several labels.
  """

  _keys = ("text", "text_pair", records.WEIGHT, "label")
  _columns = (
    "text_column",
    "text_pair_column",
    "label_column",
    "label_separator",
  )
  kind = text_kind.KIND

  labels: tuple[str, ...] | None = ()

  def __init__(
    self,
    checkpoint: typed.Path,
    labels: Sequence[str] | None = (),
    max_seq_length: int | None = None,
    multi_label: bool | None = None,
    **files: "Unpack[typed.FileNames]",
  ) -> None:
    super().__init__(checkpoint, max_seq_length, **files)
    trained = self._task.get("head")
    if multi_label is None:
      multi_label = trained == heads.MULTI_LABEL and labels is not None
    if multi_label and labels is None:
      raise ValueError(
        "labels (None) are scores, of which multi_label=True has none: leave"
        " one of them out."
      )
    self.multi_label = multi_label
    if labels == ():
      is_scored = trained == heads.REGRESSION and not multi_label
      labels = None if is_scored else self._task.get("labels") or ()
    elif labels is not None:
      labels = records.strings_of(labels, "labels")
    self.labels = labels if labels is None else tuple(labels)

  if typing.TYPE_CHECKING:

    def fit(  # noqa: D102
      self,
      data: typed.Data,
      targets: Iterable[typing.Any] | None = None,
      validation_data: typed.HeldOut | None = None,
      epochs: float | None = None,
      batch_size: int | None = None,
      output_dir: typed.Path | None = None,
      restore_best: bool = False,
      callbacks: Sequence[keras.callbacks.Callback] = (),
      **settings: "Unpack[TextSettings]",
    ) -> keras.callbacks.History: ...

  @property
  def _class_names(self):
    """The classes in the order of the logits; None where these are as trained.

    Raises:
      ValueError: they are those of the checkpoint in another order, or some.
    """
    trained = tuple(self._task.get("labels") or ())
    if not self.labels or self.labels == trained:
      return None
    if {*self.labels} & {*trained}:
      raise ValueError(
        f"labels ({', '.join(self.labels)}) must be those of {self.checkpoint},"
        f" {', '.join(trained)}, in this order, or all other names: call fit to"
        " train for other ones."
      )
    return self.labels

  def _make_servable(self, **values):
    own = {"labels": self._class_names} if self._class_names else {}
    return super()._make_servable(**own | values)

  def _after_fit(self):
    if self.labels == ():
      self.labels = tuple(self._task["labels"])

  @property
  def head(self):
    """Name of the head, of `keras_bert_impl.heads`."""
    if self.labels is None:
      return heads.REGRESSION
    return heads.MULTI_LABEL if self.multi_label else heads.CLASSIFICATION

  def _is_single(self, inputs):
    return isinstance(inputs, str | tuple | dict)

  def _questions(self, inputs):
    questions = []
    for place, record in records.read(inputs, None, self._keys, "inputs"):
      text, text_pair = _texts(record, place)
      question = {"text": text}
      if text_pair is not None:
        question["text_pair"] = text_pair
      if questions and question.keys() != questions[0].keys():
        raise ValueError(f"{place} must have as many texts as inputs[0].")
      questions.append(question)
    return questions

  def _answer(self, row):
    if self.labels is None:
      return {"score": float(row["scores"])}
    labels = [label.decode() for label in row["labels"]]
    probabilities = dict(
      zip(labels, map(float, row["probabilities"]), strict=True)
    )
    if self.multi_label:
      found = [x for x, share in probabilities.items() if share > 0.5]
      return {"labels": found, "probabilities": probabilities}
    return {
      "label": row["label"].decode(),
      "score": float(row["score"]),
      "probabilities": probabilities,
    }

  def _servable_options(self, questions):
    text_pairs = "text_pair" in questions[0]
    if self._task.get("text_pairs", text_pairs) != text_pairs:
      number = "one text" if text_pairs else "pairs of texts"
      raise ValueError(f"inputs[0]: the model was trained on {number}.")
    return {"text_pairs": text_pairs}

  def _example(self, record, place, number):
    text, text_pair = _texts(record, place)
    label = self._label(record.get("label"), f"{place}.label")
    example = example_types.TextExample(
      str(number), text, text_pair, label, place
    )
    weight = record.get(records.WEIGHT)
    if weight is None:
      return example
    weight = records.number_of(weight, f"{place}.{records.WEIGHT}", low=0)
    return example_types.WeightedTextExample.of(example, weight)

  def _label(self, label, place):
    """Returns the name of a class, a score, or the names of all labels."""
    if self.labels is None:
      return records.number_of(label, place)
    if self.multi_label:
      names = records.strings_of(label, place, may_be_empty=True)
      return classification_data.label_tuple(names, place)
    if isinstance(label, float) and label.is_integer():
      label = int(label)  # Of a column of numbers in which one is missing.
    is_number = isinstance(label, numbers.Integral)
    if is_number and self.labels and str(label) not in self.labels:
      return self.labels[records.index_of(label, len(self.labels), place)]
    return records.checked_text(str(label) if is_number else label, place)

  def _read_file(self, path, **columns):
    if "label_separator" in columns:
      text_splits.check_separator(columns["label_separator"], self.multi_label)
    columns = {k.removesuffix("_column"): v for k, v in columns.items()}
    if self.multi_label and not isinstance(columns.get("label", ""), str):
      names = records.strings_of(columns["label"], "label_column")
      columns["label"] = ",".join(names)
    examples = text_splits.read_file(path, self.multi_label, **columns)
    if self.labels is None:
      return classification_data.with_scores(examples)
    return examples

  def _known_options(self):
    known = super()._known_options()
    is_same = self._task.get("head") == self.head
    metrics = known.get("metrics", ()) if is_same else ()
    return known | {"metrics": tuple(metrics)}

  def _parts(self, run, splits, task_options):
    labels = self.labels
    if labels == ():
      labels = classification_data.label_set(
        splits.get("train", ()),
        run.described_task(text_kind.KIND).get("labels"),
      )
    for examples in splits.values() if labels else ():
      classification_data.check_labels(examples, labels)
    return text_kind.make_parts(
      run,
      splits,
      labels,
      text_splits.metrics_of(self.head, task_options.metrics),
      bilstm_width=task_options.bilstm_width,
      multi_label=self.multi_label,
      class_weight=task_options.class_weight,
    )


def _texts(record, place):
  """Returns the text and, or None, the second text of a record."""
  text, text_pair = record.get("text"), record.get("text_pair")
  if isinstance(text, tuple | list) and len(text) == 2:
    text, text_pair = text
    if isinstance(text, str) and isinstance(text_pair, numbers.Real):
      raise ValueError(
        f"{place} must be a text, or two texts: give labels as a list of their"
        f" own, not {text_pair} beside the text."
      )
    text_pair = records.checked_text(text_pair, f"{place}.text_pair")
  text = records.checked_text(text, f"{place}.text")
  if text_pair is not None:
    text_pair = records.checked_text(text_pair, f"{place}.text_pair")
  return text, text_pair
