"""Classifies texts by labels that come with them, from Python."""

import typing
from collections.abc import Mapping, Sequence

from keras_bert_impl import heads
from keras_bert_impl.estimators import answering, records, typed
from keras_bert_impl.kinds.texts import text_classifier
from keras_bert_impl.kinds.zero_shot import zero_shot_kind, zero_shot_options

if typing.TYPE_CHECKING:
  from typing_extensions import Unpack

ZeroShotInput = str | Mapping[str, typing.Any]
Labels = Sequence[str] | Sequence[Sequence[str]]


class ZeroShotClassifier(text_classifier.TextClassifier):
  """Classifies texts by labels that come with them, with a model of NLI.

      classifier = kb.ZeroShotClassifier.from_checkpoint("my/nli-model")
      classifier.predict(["좋은 경기였다"], labels=["스포츠", "경제"],
                         hypothesis_template="이 글은 {}에 관한 것이다.")
      # [{"label": "스포츠", "score": 0.98, "probabilities": {...}}]

  The model is a `TextClassifier` of pairs with the classes entailment and
  contradiction, of a checkpoint or of a run on MNLI, XNLI or KLUE-NLI: `fit`,
  `evaluate` and `save` are that one's, of pairs and their classes. Answers to
  texts are {"label": str, "score": float, "probabilities": {label: float}};
  with multi_label {"labels": list of those above 0.5, "probabilities": ...}.

  Args:
    checkpoint: str, as of `from_checkpoint`.
    labels: list of str, the model's classes in the order of the logits, where
      it has not named them, such as ("contradiction", "neutral", "entailment").
    max_seq_length: int, most tokens of a text with a hypothesis; default: as
      trained. Longer texts are cut, hypotheses are not.
    **files: fields of `model_files.ModelFilesConfig`.

  Raises:
    ValueError: as `TextClassifier`.
  """

  kind = zero_shot_kind.KIND

  def __init__(
    self,
    checkpoint: typed.Path,
    labels: Sequence[str] = (),
    max_seq_length: int | None = None,
    **files: "Unpack[typed.FileNames]",
  ) -> None:
    super().__init__(checkpoint, labels, max_seq_length, False, **files)

  def predict(
    self,
    inputs: ZeroShotInput | Sequence[ZeroShotInput],
    labels: Labels = (),
    hypothesis_template: str = zero_shot_options.TEMPLATE,
    multi_label: bool = False,
    batch_size: int = 32,
  ) -> typing.Any:
    """Classifies texts.

    Args:
      inputs: list of N str, other data of the forms that `fit` takes, or one
        str.
      labels: list of str, for all texts; or list of N such lists.
      hypothesis_template: str, a sentence with {} in the place of a label.
      multi_label: bool, whether a text may have several labels or none.
      batch_size: int, texts at once.

    Returns:
      list of N answers, in the order of the inputs; of one str, its answer.

    Raises:
      ValueError: there are no labels, or one twice; the template has not one
        {}; the model is not one of NLI; or an input is no str.
    """
    if isinstance(inputs, str):
      [answer] = self.predict(
        [inputs], labels, hypothesis_template, multi_label, batch_size
      )
      return answer
    texts = [
      records.text_of(record, "text", place)
      for place, record in records.read(inputs, None, ("text",), "inputs")
    ]
    questions = [
      {"text": text, "labels": own}
      for text, own in zip(texts, _labels(labels, len(texts)), strict=True)
    ]
    values = {
      "hypothesis_template": records.checked_text(
        hypothesis_template, "hypothesis_template"
      ),
      "multi_label": multi_label,
    }
    return self._predict(questions, batch_size, values)

  def _questions(self, inputs):
    return inputs  # `predict` has made them.

  def _servable_options(self, questions):
    del questions
    return {}

  def _answer(self, row):
    scores = zip(row["labels"].tolist(), row["scores"].tolist(), strict=True)
    probabilities = {label.decode(): x for label, x in scores if label}
    if self._servable.multi_label:
      found = [label for label, x in probabilities.items() if x > 0.5]
      return {"labels": found, "probabilities": probabilities}
    return {
      "label": row["label"].decode(),
      "score": float(row["score"]),
      "probabilities": probabilities,
    }

  def _make_servable(self, **values):
    answering.check_trained(self)
    head = self._task.get("head")
    if head != heads.CLASSIFICATION:
      raise ValueError(
        f"{self.checkpoint} has the head {head}, but zero-shot classes need a"
        " classifier of pairs with the class entailment: choose a model of NLI,"
        " or train one with fit."
      )
    return super()._make_servable(**values)


def _labels(labels, number):
  """Returns the labels of each of a number of texts, list of tuples of str."""
  given = records.items_of(labels, "labels")
  if given and all(isinstance(each, str) for each in given):
    return [_checked(given, "labels")] * number
  if len(given) not in (0, number):
    raise ValueError(
      f"labels ({len(given)}) must be a list of str, or {number} of them, one"
      " for each text."
    )
  own = [_checked(each, f"labels[{k}]") for k, each in enumerate(given)]
  return own or [_checked((), "labels")]


def _checked(labels, place):
  """Returns the labels of a text, a tuple of str, none twice and none empty."""
  labels = records.strings_of(labels, place)
  for label in labels:
    if not label or labels.count(label) > 1:
      raise ValueError(
        f"{place} has {label!r} {labels.count(label)} times, but must have"
        " labels that are not empty, each once."
      )
  return labels
