"""Questions and texts to rows, in sliding windows.

A row is [CLS] question [SEP] window [SEP], the windows of a context sliding
over it. The labels are the first and the last piece of the answer; both are
[CLS] where the window has no or not all of it.

Source: google-research/bert, run_squad.py. Differs from it in that answers are
found by characters and not by words: "1871)," is no obstacle to "1871".
"""

import dataclasses
import re
from typing import NamedTuple

import numpy as np
from absl import logging

from keras_bert_impl import features
from keras_bert_impl.tasks import fine_tuning, windows

START_POSITIONS = "start_positions"
END_POSITIONS = "end_positions"
ANSWER_WEIGHTS = "answer_weights"
EXAMPLE_INDEX = "example_index"
PIECE_STARTS = "piece_starts"
PIECE_ENDS = "piece_ends"
IS_MAX_CONTEXT = "is_max_context"

_NOT_OF_CONTEXT = -1
_TEXTS = 1024
_MOST_NAMED = 5
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclasses.dataclass(frozen=True)
class QuestionPreprocessor(fine_tuning.Preprocessor):
  """Rows of `QuestionExample`s.

  Attributes:
    max_seq_length: int, most ids of a row.
    doc_stride: int, pieces from one window to the next.
    max_query_length: int, pieces of a question that are kept.
    version_2_with_negative: bool, whether there are questions without answer.

  Raises:
    ValueError: a row has no room for a question and a window.
  """

  max_seq_length: int
  doc_stride: int = 128
  max_query_length: int = 64
  version_2_with_negative: bool = False

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

  def __post_init__(self):
    fine_tuning.check_positive(
      doc_stride=self.doc_stride, max_query_length=self.max_query_length
    )
    if self.max_seq_length <= self.max_query_length + 3:
      raise ValueError(
        f"max_seq_length ({self.max_seq_length}) must be above "
        f"max_query_length ({self.max_query_length}) + 3, or a question leaves "
        "no room for a text."
      )

  def texts(self, example):
    """Returns the question and the context."""
    return [example.question, example.context]

  def make_rows(self, examples, tokenizer, counts):
    """Yields the windows of each question; see `Preprocessor`."""
    different = list(dict.fromkeys(example.context for example in examples))
    contexts = dict(
      zip(different, _locate_all(tokenizer, different), strict=True)
    )
    queries = _tokenize_all(tokenizer, [e.question for e in examples])
    unlocated = []
    frame = _Frame(tokenizer, self.max_seq_length)
    for index, (example, query) in enumerate(
      zip(examples, queries, strict=True)
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
      if example.answers is not None and not self.version_2_with_negative:
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
