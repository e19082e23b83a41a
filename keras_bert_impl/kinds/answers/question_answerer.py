"""Answers questions with spans of a text, from Python."""

import typing
from collections.abc import Iterable, Mapping, Sequence

import keras

from keras_bert_impl import heads
from keras_bert_impl.estimators import estimator, records, typed
from keras_bert_impl.kinds.answers import (
  answer_kind,
  squad_files,
)
from keras_bert_impl.tasks.basics import example_types

if typing.TYPE_CHECKING:
  from typing_extensions import Unpack


_OF_ANSWERS = {"text", "answer_start"}


class Span(typing.TypedDict):
  """Answer to a question."""

  answer: str
  start: int
  end: int
  score: float
  null_score: float


class AnswerSettings(typed.FitSettings, total=False):
  """Settings of `fit`."""

  answer_head: str | None
  answer_rules: str
  bilstm_width: int | None
  doc_stride: int
  max_answer_length: int
  max_query_length: int
  n_best_size: int
  null_score_diff_threshold: float | None
  version_2_with_negative: bool


class QuestionAnswerer(estimator.Estimator[Mapping[str, typing.Any], Span]):
  """Answers questions with spans of a text, of any length.

      answerer = kb.QuestionAnswerer.from_checkpoint("klue/bert-base")
      answerer.fit("train-v1.1.json", epochs=2)
      answerer.predict([{"question": "Who sat?", "context": "The cat sat."}])
      # [{"answer": "The cat", "start": 0, "end": 7, "score": 9.1, ...}]

  An example is a dict with the keys question, context and answers: a dict of
  lists, {"text": [...], "answer_start": [...]}, in characters, empty where
  there is no answer, or as in SQuAD a list of dicts; or a file in its format.

  Answers have the keys answer, start, end, score and null_score; see
  `kinds.answers.answer_servable`. With `can_be_unanswerable` "" is one.

  Args:
    checkpoint: str, as of `from_checkpoint`.
    can_be_unanswerable: bool, whether questions may have no answer, as in SQuAD
      2.0; default: as trained, or not.
    max_seq_length: int, tokens of a window; default: as trained, or 384.
    **files: fields of `model_files.ModelFilesConfig`.

  Attributes:
    can_be_unanswerable: bool.
  """

  head = heads.QUESTION_ANSWERING
  _default_length = 384
  _keys = ("id", "question", "context", "answers")
  kind = answer_kind.KIND

  def __init__(
    self,
    checkpoint: typed.Path,
    can_be_unanswerable: bool | None = None,
    max_seq_length: int | None = None,
    **files: "Unpack[typed.FileNames]",
  ) -> None:
    super().__init__(checkpoint, max_seq_length, **files)
    if can_be_unanswerable is None:
      can_be_unanswerable = self._task.get("version_2_with_negative", False)
    self.can_be_unanswerable = can_be_unanswerable

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
      **settings: "Unpack[AnswerSettings]",
    ) -> keras.callbacks.History: ...

  def _is_single(self, inputs):
    return isinstance(inputs, Mapping)

  def _questions(self, inputs):
    return [
      {
        "text": records.text_of(record, "question", place),
        "text_pair": records.text_of(record, "context", place),
      }
      for place, record in records.read(inputs, None, self._keys, "inputs")
    ]

  def _answer(self, row):
    return {
      "answer": row["answer"].decode(),
      "start": int(row["start"]),
      "end": int(row["end"]),
      "score": float(row["score"]),
      "null_score": float(row["null_score"]),
    }

  def _example(self, record, place, number):
    answers = _lists(record.get("answers"))
    if not isinstance(answers, Mapping) or not _OF_ANSWERS <= answers.keys():
      raise ValueError(
        f"{place}.answers ({answers!r}) must be a dict with the lists text and"
        " answer_start."
      )
    context = records.text_of(record, "context", place)
    texts, starts = list(answers["text"]), list(answers["answer_start"])
    if len(texts) != len(starts):
      raise ValueError(
        f"{place}.answers has {len(texts)} texts and {len(starts)}"
        " answer_starts: give one for each."
      )
    if not texts and not self.can_be_unanswerable:
      raise ValueError(
        f"{place} has no answer: give one, or can_be_unanswerable=True."
      )
    return example_types.QuestionExample(
      id=str(record.get("id", number)),
      question=records.text_of(record, "question", place),
      context=context,
      answers=tuple(
        (
          records.checked_text(text, f"{place}.answers.text[{k}]"),
          records.index_of(
            start, len(context), f"{place}.answers.answer_start[{k}]"
          ),
        )
        for k, (text, start) in enumerate(zip(texts, starts, strict=True))
      ),
      origin=place,
    )

  def _examples(self, data, targets=None, name="data", columns=None):
    examples = super()._examples(data, targets, name, columns)
    squad_files.check_ids(examples)
    squad_files.check_located(examples, name)
    return examples

  def _read_file(self, path):
    return squad_files.read(path, "data")

  def _known_options(self):
    can_be_unanswerable = self.can_be_unanswerable
    return super()._known_options() | {
      "version_2_with_negative": can_be_unanswerable
    }

  def _parts(self, run, splits, task_options):
    del splits
    return answer_kind.make_parts(run, task_options)


def _lists(answers):
  """Returns answers as SQuAD's files have them, a list of dicts, as a dict."""
  are_dicts = isinstance(answers, list | tuple) and all(
    isinstance(answer, Mapping) and _OF_ANSWERS <= answer.keys()
    for answer in answers
  )
  if not are_dicts:
    return answers
  return {key: [answer[key] for answer in answers] for key in _OF_ANSWERS}
