"""Answers to questions as spans of a text: SQuAD 1.1, 2.0 and their like.

A row is [CLS] question [SEP] window [SEP], the windows of a context sliding
over it. The labels are the first and the last piece of the answer; both are
[CLS] where the window has no or not all of it.

Source: Devlin et al. 2019, sections 4.2 and 4.3; google-research/bert,
run_squad.py. Differs from it in that answers are found by characters and not by
words: "1871)," is no obstacle to "1871".
"""

import collections
import dataclasses
import json
import os
import re
from typing import NamedTuple

import numpy as np
from absl import logging
from keras import ops

from keras_bert_impl import features, files, models, pictures
from keras_bert_impl.checkpoints import names
from keras_bert_impl.metrics import question_answering as metrics
from keras_bert_impl.tasks import answers, cross_entropy, fine_tuning, windows

START_POSITIONS = "start_positions"
END_POSITIONS = "end_positions"
ANSWER_WEIGHTS = "answer_weights"
EXAMPLE_INDEX = "example_index"
PIECE_STARTS = "piece_starts"
PIECE_ENDS = "piece_ends"
IS_MAX_CONTEXT = "is_max_context"

PREDICTIONS_NAME = "predictions.json"
NBEST_NAME = "nbest_predictions.json"
NULL_ODDS_NAME = "null_odds.json"

BEST_THRESHOLD = "best_f1_thresh"
# What evaluate-v2.0.py gives in per cent.
_THRESHOLDS = ("best_exact_thresh", BEST_THRESHOLD)
_NOT_OF_CONTEXT = -1
_TEXTS = 1024
_MOST_NAMED = 5
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclasses.dataclass(frozen=True)
class QuestionExample:
  """A question to a text.

  Attributes:
    id: str.
    question: str.
    context: str.
    answers: tuple of (text, first character), None for a character that is not
      known; None where there are no labels; empty if it has no answer.
    title: str, of the article the context is from.
    origin: str, file and place, for messages.
  """

  id: str
  question: str
  context: str
  answers: tuple | None = None
  title: str = ""
  origin: str = ""


def locate(context, text, start):
  """Returns where an answer stands in its context.

  White space does not count; of several places, the one next to `start` does.

  Args:
    context: str.
    text: str, the answer.
    start: int, the character at which it is said to begin; None for the first
      place it is found at.

  Returns:
    (first character, last + 1), or None if it is not there.
  """
  if start is not None and text and context.startswith(text, start):
    return start, start + len(text)
  characters = "".join(text.split())
  if not characters:
    return None
  pattern = re.compile(r"\s*".join(map(re.escape, characters)))
  places = [match.span() for match in pattern.finditer(context)]
  return min(
    places, key=lambda place: abs(place[0] - (start or 0)), default=None
  )


class QuestionAnsweringTask(fine_tuning.FineTuningTask):
  """Answers questions with spans of their contexts.

  Args:
    config: `EncoderConfig`.
    max_seq_length: int, most ids of a row.
    doc_stride: int, pieces from one window to the next.
    max_query_length: int, pieces of a question that are kept.
    version_2_with_negative: bool, whether there are questions without answer.
    null_score_diff_threshold: float, null odds above which there is no answer;
      None for those best for F1 on the questions scored last, 0 without any.
    n_best_size: int, answers to keep in nbest_predictions.json.
    max_answer_length: int, most pieces of an answer.
    rules: which answers are equal, one of `metrics.question_answering.RULES`.
    bilstm_width: as `models.QuestionAnswering`.

  Raises:
    ValueError: a row has no room for a question and a window.
  """

  head = names.QUESTION_ANSWERING
  main_metric = "f1"
  has_token_outputs = True
  loss_weights = {"answer_start": 0.5, "answer_end": 0.5}
  columns = {
    features.INPUT_IDS: fine_tuning.Column(),
    features.SEGMENT_IDS: fine_tuning.Column(),
    START_POSITIONS: fine_tuning.Column(shape=()),
    END_POSITIONS: fine_tuning.Column(shape=()),
    ANSWER_WEIGHTS: fine_tuning.Column("float32", ()),
    EXAMPLE_INDEX: fine_tuning.Column(shape=(), in_batch=False),
    PIECE_STARTS: fine_tuning.Column(in_batch=False),
    PIECE_ENDS: fine_tuning.Column(in_batch=False),
    IS_MAX_CONTEXT: fine_tuning.Column(in_batch=False),
  }

  def __init__(
    self,
    config,
    max_seq_length,
    doc_stride=128,
    max_query_length=64,
    version_2_with_negative=False,
    null_score_diff_threshold=None,
    n_best_size=20,
    max_answer_length=30,
    rules="squad",
    bilstm_width=None,
  ):
    super().__init__(config, max_seq_length)
    for name, value in (
      ("doc_stride", doc_stride),
      ("max_query_length", max_query_length),
      ("n_best_size", n_best_size),
      ("max_answer_length", max_answer_length),
    ):
      if value < 1:
        raise ValueError(f"{name} ({value}) must be positive.")
    if max_seq_length <= max_query_length + 3:
      raise ValueError(
        f"max_seq_length ({max_seq_length}) must be above max_query_length "
        f"({max_query_length}) + 3, or a question leaves no room for a text."
      )
    self.doc_stride = doc_stride
    self.max_query_length = max_query_length
    self.has_null = version_2_with_negative
    self.threshold = null_score_diff_threshold
    self.rules = rules
    self.bilstm_width = bilstm_width
    if bilstm_width is not None:
      self.head = None  # None that other programs know.
    self._spans = answers.SpanConfig(
      n_best_size, max_answer_length, version_2_with_negative
    )
    self._tuned_threshold = 0.0
    self._answered = None

  # Rows.

  def texts(self, example):
    """Returns the question and the context."""
    return [example.question, example.context]

  def make_rows(self, examples, tokenizer, counts):
    """Yields the windows of each question; see `FineTuningTask`."""
    different = list(dict.fromkeys(example.context for example in examples))
    contexts = dict(
      zip(different, _locate_all(tokenizer, different), strict=True)
    )
    unlocated = []
    frame = _Frame(tokenizer, self.max_seq_length)
    for index, (example, query) in enumerate(
      zip(
        examples,
        _tokenize_all(tokenizer, [e.question for e in examples]),
        strict=True,
      )
    ):
      if len(query) > self.max_query_length:
        counts["questions cut to max_query_length"] += 1
        query = query[: self.max_query_length]
      pieces = contexts[example.context]
      span = self._answer_span(example, pieces, counts)
      if span is None and example.answers:
        unlocated.append(example)
      weight = float(span is not None)
      for row in self._rows_of(example, query, pieces, span, frame, counts):
        yield row | {EXAMPLE_INDEX: index, ANSWER_WEIGHTS: weight}
    _report_unlocated(unlocated, counts)

  def _rows_of(self, example, query, pieces, span, frame, counts):
    """Yields the rows of a question, but for which question it is.

    Args:
      example: `QuestionExample`.
      query: int32 [pieces], of the question.
      pieces: `_TextPieces` of the context.
      span: (first, last) piece of the answer; (-1, -1) if it has none; None if
        it is not known.
      frame: `_Frame`.
      counts: as `make_rows`.
    """
    room = frame.room(len(query))
    if room < 1:
      raise ValueError(
        f"{example.origin}: the {len(query)} pieces of question "
        f"{example.id!r} leave no room for a text in max_seq_length "
        f"({self.max_seq_length}); lower max_query_length."
      )
    length = len(pieces.ids)
    spans = windows.slide(length, room, self.doc_stride)
    best = windows.best_windows(spans, length)
    if len(spans) > 1:
      counts["questions with several windows"] += 1
    num_with_answer = 0
    for number, (start, end) in enumerate(spans):
      row = frame.row(query, pieces, start, end)
      is_max_context = np.zeros_like(row[PIECE_STARTS])
      place = frame.place(len(query))
      is_max_context[place : place + end - start] = best[start:end] == number
      first, last = span or (-1, -1)
      has_answer = start <= first and last < end
      num_with_answer += has_answer
      shift = place - start
      yield row | {
        IS_MAX_CONTEXT: is_max_context,
        START_POSITIONS: first + shift if has_answer else 0,
        END_POSITIONS: last + shift if has_answer else 0,
      }
    if span and span[0] >= 0 and not num_with_answer:
      counts["answers that no window holds"] += 1

  def _answer_span(self, example, pieces, counts):
    """Returns (first, last) piece, (-1, -1) for none, None if not known."""
    if not example.answers:
      if example.answers is not None and not self.has_null:
        raise ValueError(
          f"{example.origin}: question {example.id!r} has no answer; give "
          "--version_2_with_negative if that is meant."
        )
      return None if example.answers is None else (-1, -1)
    text, start = example.answers[0]
    place = locate(example.context, text, start)
    if place is None:
      return None
    if start is not None and place[0] != start:
      counts["answers relocated"] += 1
    return _pieces_of(pieces, *place)

  # Model.

  def build_model(self):
    """Returns a `QuestionAnswering` model with fresh weights."""
    return models.QuestionAnswering(self.config, self.bilstm_width)

  def weights(self, batch):
    """Returns 1 for rows whose answer is known."""
    weights = cross_entropy.row_weights(batch) * batch[ANSWER_WEIGHTS]
    return {"answer_start": weights, "answer_end": weights}

  def predictions(self, batch, outputs):
    """Returns start and end, each a choice among the positions of a row."""
    # Padding is no choice.
    padding = 1.0 - ops.cast(batch[features.INPUT_MASK], "float32")
    return {
      f"answer_{side}": cross_entropy.Prediction(
        outputs[f"{side}_logits"] - 1e9 * padding, batch[f"{side}_positions"]
      )
      for side in ("start", "end")
    }

  # Scores and files.

  def has_labels(self, examples):
    """Returns whether it is known what the answers are."""
    return all(example.answers is not None for example in examples)

  def answers(self, examples, rows, outputs):
    """Returns what the model says, list of `answers.Answer`."""
    # Score, picture and files are about the same outputs.
    if self._answered is None or self._answered[0] is not outputs:
      self._answered = outputs, self._find(examples, rows, outputs)
    return self._answered[1]

  def _find(self, examples, rows, outputs):
    return answers.find(
      [example.context for example in examples],
      answers.Windows(
        rows[EXAMPLE_INDEX],
        rows[PIECE_STARTS],
        rows[PIECE_ENDS],
        rows[IS_MAX_CONTEXT],
        outputs["start_logits"],
        outputs["end_logits"],
      ),
      self._spans,
    )

  def score(self, examples, rows, outputs):
    """Returns the official scores, as fractions, and thresholds.

    With unanswerable questions, the best thresholds are searched over all
    answers, given or not; where none was asked for, the best for F1 is used.
    """
    found = self.answers(examples, rows, outputs)
    golds = _golds(examples)
    if not self.has_null:
      scores = metrics.evaluate(golds, _texts(examples, found), self.rules)
    else:
      null_odds = _null_odds(examples, found)
      best = metrics.evaluate_with_unanswerable(
        golds, _texts(examples, found), null_odds, self.rules
      )
      self._tuned_threshold = best[BEST_THRESHOLD]
      scores = metrics.evaluate_with_unanswerable(
        golds, self._decided(examples, found), rules=self.rules
      )
      scores |= {k: v for k, v in best.items() if k.startswith("best_")}
    return {
      name: value if name in _THRESHOLDS else value / 100
      for name, value in scores.items()
      if not name.endswith("total")
    }

  def baseline(self, examples):
    """Returns the share of questions that have no answer."""
    return float(np.mean([not example.answers for example in examples]))

  def write_predictions(self, examples, rows, outputs, folder):
    """Writes predictions.json, nbest_predictions.json and null_odds.json.

    All as run_squad.py of google-research/bert does; the last for questions
    that may have no answer.
    """
    found = self.answers(examples, rows, outputs)
    contents = {
      "predictions": (PREDICTIONS_NAME, self._decided(examples, found)),
      "nbest": (
        NBEST_NAME,
        {
          example.id: _nbest(answer)
          for example, answer in zip(examples, found, strict=True)
        },
      ),
    }
    if self.has_null:
      contents["null odds"] = (NULL_ODDS_NAME, _null_odds(examples, found))
    paths = {}
    for what, (name, content) in contents.items():
      paths[what] = os.path.join(folder, name)
      text = json.dumps(content, indent=4) + "\n"
      files.write_atomically(paths[what], text)
    return paths

  def plot(self, examples, rows, outputs, path):
    """Draws the scores by threshold (2.0) or by length of the answer (1.1)."""
    found = self.answers(examples, rows, outputs)
    golds = _golds(examples)
    scores = metrics.score_each(
      golds, _texts(examples, found), self.rules, self.has_null
    )
    canvas = pictures.new_figure(6, 4)
    axes = canvas.add_subplot()
    if self.has_null:
      _plot_by_threshold(axes, examples, found, scores)
      axes.axvline(self._used_threshold, color="gray", linestyle="--")
    else:
      _plot_by_length(axes, golds, scores)
    axes.set_ylabel("%")
    axes.grid(alpha=0.3)
    axes.legend()
    pictures.save(canvas, path)
    return True

  def describe(self):
    """Returns what a server or a later run must know."""
    return {
      **super().describe(),
      "doc_stride": self.doc_stride,
      "max_query_length": self.max_query_length,
      "version_2_with_negative": self.has_null,
      "bilstm_width": self.bilstm_width,
    }

  @property
  def _used_threshold(self):
    if self.threshold is not None:
      return self.threshold
    return self._tuned_threshold

  def _decided(self, examples, found):
    """Returns {id: answer}, "" where the null odds are above the threshold."""
    return {
      example.id: ""
      if self.has_null and answer.null_odds > self._used_threshold
      else answer.text
      for example, answer in zip(examples, found, strict=True)
    }


class _TextPieces(NamedTuple):
  """The pieces of a text: ids, first and last + 1 character, int32 [n]."""

  ids: np.ndarray
  starts: np.ndarray
  ends: np.ndarray


class _Frame:
  """How a question and a window of text become a row.

  Args:
    tokenizer: of `tokenizers.load`.
    max_seq_length: int.
  """

  def __init__(self, tokenizer, max_seq_length):
    self._cls = [tokenizer.vocabulary.cls_id]
    self._sep = [tokenizer.vocabulary.sep_id]
    self._between = self._sep * tokenizer.framing.separators
    self._segment = int(tokenizer.framing.segments)
    self._max_seq_length = max_seq_length

  def room(self, query_length):
    """Returns how many pieces of text a row takes."""
    return self._max_seq_length - self.place(query_length) - len(self._sep)

  def place(self, query_length):
    """Returns where in the row the text begins."""
    return len(self._cls) + query_length + len(self._between)

  def row(self, query, pieces, start, end):
    """Returns ids, segments and offsets of pieces `start` to `end`."""
    place = self.place(len(query))
    ids = [*self._cls, *query, *self._between, *pieces.ids[start:end]]
    ids = np.array(ids + self._sep, np.int32)
    segments = np.full_like(ids, self._segment)
    segments[:place] = 0
    starts, ends = np.full((2, len(ids)), _NOT_OF_CONTEXT, np.int32)
    starts[place:-1] = pieces.starts[start:end]
    ends[place:-1] = pieces.ends[start:end]
    return {
      features.INPUT_IDS: ids,
      features.SEGMENT_IDS: segments,
      PIECE_STARTS: starts,
      PIECE_ENDS: ends,
    }


def _tokenize_all(tokenizer, texts):
  """Yields the pieces of each text, int32 [n]."""
  for batch in _batches(texts):
    rows = tokenizer.tokenize(batch)
    yield from np.split(rows.flat_values.numpy(), rows.row_splits.numpy()[1:-1])


def _locate_all(tokenizer, texts):
  """Yields the `_TextPieces` of each text."""
  for batch in _batches(texts):
    rows = tokenizer.tokenize_with_offsets(batch)
    places = rows[0].row_splits.numpy()[1:-1]
    fields = (np.split(row.flat_values.numpy(), places) for row in rows)
    yield from map(_TextPieces, *fields)


def _batches(texts):
  """Yields texts some at a time, as UTF-8."""
  for start in range(0, len(texts), _TEXTS):
    # Halves of surrogate pairs, which JSON may hold, are in no encoding, but
    # characters: what comes after them keeps its place.
    yield [
      _SURROGATE.sub("\ufffd", text).encode("utf-8")
      for text in texts[start : start + _TEXTS]
    ]


def _pieces_of(pieces, start, end):
  """Returns (first, last) piece of the characters, None if there is none."""
  first = int(np.searchsorted(pieces.ends, start, side="right"))
  last = int(np.searchsorted(pieces.starts, end, side="left")) - 1
  return (first, last) if first <= last else None


def _report_unlocated(examples, counts):
  """Counts and names the questions whose answers were not found."""
  if not examples:
    return
  counts["answers not in the text, left out of training"] += len(examples)
  for example in examples[:_MOST_NAMED]:
    logging.warning(
      "%s: the answer %r of question %r is not in its text.",
      example.origin,
      example.answers[0][0],
      example.id,
    )


def _golds(examples):
  """Returns {id: list of answers}."""
  return {
    example.id: [text for text, _ in example.answers] for example in examples
  }


def _texts(examples, found):
  """Returns {id: best answer that is one}."""
  return {
    example.id: answer.text
    for example, answer in zip(examples, found, strict=True)
  }


def _null_odds(examples, found):
  return {
    example.id: answer.null_odds
    for example, answer in zip(examples, found, strict=True)
  }


def _nbest(answer):
  """Returns what nbest_predictions.json says of an answer, list of dicts."""
  return [
    {
      "text": candidate.text,
      "probability": float(probability),
      "start_logit": candidate.start_logit,
      "end_logit": candidate.end_logit,
    }
    for candidate, probability in zip(
      answer.candidates, answer.probabilities, strict=True
    )
  ]


def _plot_by_threshold(axes, examples, found, scores):
  """Draws EM and F1 over the null odds above which there is no answer."""
  odds = np.array([answer.null_odds for answer in found])
  is_null = np.array([not example.answers for example in examples])
  order = np.argsort(odds, kind="stable")
  for name, each in zip(("EM", "F1"), scores, strict=True):
    gains = np.where(is_null, -1.0, each)[order]
    totals = np.sum(is_null) + np.cumsum(gains)
    axes.plot(odds[order], 100 * totals / len(examples), label=name)
  axes.set_xlabel("null_score_diff_threshold")


def _plot_by_length(axes, golds, scores):
  """Draws EM and F1 over the number of words of the shortest answer."""
  groups = collections.defaultdict(list)
  longest = 10
  for index, texts in enumerate(golds.values()):
    length = min(len(text.split()) for text in texts)
    groups[min(length, longest)].append(index)
  lengths = sorted(groups)
  for name, each in zip(("EM", "F1"), scores, strict=True):
    means = [100 * np.mean(each[groups[length]]) for length in lengths]
    axes.plot(lengths, means, "o-", label=name)
  labels = [
    f"{length}{'+' if length == longest else ''}\n{len(groups[length])}"
    for length in lengths
  ]
  axes.set_xticks(lengths, labels)
  axes.set_xlabel("words of the answer, and number of questions")
