"""Rows of question answering: a question and a sliding window of its context.

Each window of the context makes one row: [CLS] question [SEP] window [SEP]. The
labels are the positions of the first and last piece of the answer; both are
the position of [CLS] if the window does not contain the whole answer.

Source: google-research/bert, run_squad.py. Differs from it: answers are located
by characters, not by words, so "1871" is found in "1871),".
"""

import dataclasses
import itertools
import re
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from absl import logging

from keras_bert_impl import features, options
from keras_bert_impl.metrics import question_answering as metrics
from keras_bert_impl.tasks.basics import fine_tuning, windows

START_POSITIONS = features.START_POSITIONS
END_POSITIONS = "end_positions"
CLS_POSITIONS = "cls_positions"
ANSWER_WEIGHTS = "answer_weights"
EXAMPLE_INDEX = "example_index"
PIECE_STARTS = "piece_starts"
PIECE_ENDS = "piece_ends"
IS_MAX_CONTEXT = "is_max_context"

_NOT_OF_CONTEXT = -1
# Contexts per call of the tokenizer.
_TEXTS = 1024
# Pieces of contexts per call of `frame`, about: some 100 MB.
_PIECES = 500_000
_MOST_NAMED = 5
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclasses.dataclass(frozen=True)
class QuestionPreprocessor(fine_tuning.Preprocessor):
  """Makes rows of `QuestionExample`s.

  Attributes:
    max_seq_length: int, maximum number of ids of a row.
    doc_stride: int, pieces from one window to the next.
    max_query_length: int, maximum number of pieces of a question; longer
      questions are cut.
    version_2_with_negative: bool, whether questions may have no answer.
    rules: how answers are compared, one of `metrics.question_answering.RULES`;
      it decides what is counted, not the rows.

  Raises:
    ValueError: max_seq_length is too small for a question and a window.
  """

  max_seq_length: int
  doc_stride: int = 128
  max_query_length: int = 64
  version_2_with_negative: bool = False
  rules: str = "squad"

  undescribed = ("rules",)
  columns = {
    features.INPUT_IDS: fine_tuning.Column(),
    features.SEGMENT_IDS: fine_tuning.Column(),
    START_POSITIONS: fine_tuning.Column(shape=()),
    END_POSITIONS: fine_tuning.Column(shape=()),
    CLS_POSITIONS: fine_tuning.Column(shape=()),
    ANSWER_WEIGHTS: fine_tuning.Column("float32", ()),
    EXAMPLE_INDEX: fine_tuning.Column(shape=(), in_batch=False),
    PIECE_STARTS: fine_tuning.Column(in_batch=False),
    PIECE_ENDS: fine_tuning.Column(in_batch=False),
    IS_MAX_CONTEXT: fine_tuning.Column(in_batch=False),
  }

  def __post_init__(self):
    options.check_numbers(
      options.POSITIVE,
      doc_stride=self.doc_stride,
      max_query_length=self.max_query_length,
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
    unlocated = []
    lengths = [len(contexts[example.context].ids) for example in examples]
    for first, end in _batches(lengths):
      part = examples[first:end]
      pieces = [contexts[example.context] for example in part]
      spans = [
        self._answer_span(example, of_context, counts)
        for example, of_context in zip(part, pieces, strict=True)
      ]
      unlocated += [
        example
        for example, span in zip(part, spans, strict=True)
        if span is None and example.answers
      ]
      queries = self._queries(part, tokenizer, counts)
      ids = tf.RaggedTensor.from_row_lengths(
        np.concatenate([of_context.ids for of_context in pieces]),
        np.array(lengths[first:end], np.int64),
      )
      framed = frame(
        tokenizer, queries, ids, self.max_seq_length, self.doc_stride
      )
      for index, row in _rows(framed, pieces, spans, counts, tokenizer.framing):
        yield row | {EXAMPLE_INDEX: first + index}
    _report_unlocated(unlocated, counts)

  def _queries(self, examples, tokenizer, counts):
    """Returns the pieces of the questions, int32 RaggedTensor [B, (pieces)]."""
    texts = _encode([example.question for example in examples])
    queries = tokenizer.tokenize(texts)
    is_long = queries.row_lengths().numpy() > self.max_query_length
    if is_long.any():
      counts["questions cut to max_query_length"] += int(is_long.sum())
      queries = queries[:, : self.max_query_length]
    lengths = queries.row_lengths().numpy()
    most = self.max_seq_length - tokenizer.num_special_tokens(2) - 1
    for example, length in zip(examples, lengths, strict=True):
      if length > most:
        raise ValueError(
          f"{example.origin}: the {length} pieces of question {example.id!r} "
          f"leave no room for a text in max_seq_length ({self.max_seq_length});"
          " lower max_query_length."
        )
    return queries

  def _answer_span(self, example, pieces, counts):
    """Returns (first, last) piece, (-1, -1) without answer, None if unknown."""
    if not example.answers:
      if example.answers is not None and not self.version_2_with_negative:
        raise ValueError(
          f"{example.origin}: question {example.id!r} has no answer; give "
          "--version_2_with_negative if questions may have none."
        )
      return None if example.answers is None else (-1, -1)
    text, start = example.answers[0]
    place = locate(example.context, text, start)
    if place is None:
      return None
    if start is not None and not 0 <= start < len(example.context):
      counts["answers with an answer_start outside of their text"] += 1
    elif start is not None and place[0] != start:
      counts["answers relocated"] += 1
    span = _pieces_of(pieces, *place)
    if span and not self._is_expressible(example, pieces):
      counts["questions that no span of whole pieces answers exactly"] += 1
    return span

  def _is_expressible(self, example, pieces):
    """Returns whether a span of pieces matches a correct answer exactly.

    In languages with particles, such as Korean, a piece often goes on after the
    answer; then no model with this vocabulary gets it.
    """
    normalize = metrics.RULES[self.rules].normalize
    golds = {normalize(text) for text, _ in example.answers}
    for text, start in dict.fromkeys(example.answers):
      first = locate(example.context, text, start)
      for place in itertools.chain(
        filter(None, [first]), _places(example.context, text)
      ):
        span = _pieces_of(pieces, *place)
        if not span:
          continue
        found = slice(pieces.starts[span[0]], pieces.ends[span[1]])
        golds.add(normalize(example.context[slice(*place)]))
        if normalize(example.context[found]) in golds:
          return True
    return False


def _batches(lengths):
  """Returns (start, end) of questions to frame together, list.

  Args:
    lengths: list of int, pieces of the context of each question.
  """
  numbers = np.cumsum(lengths) // _PIECES
  splits = np.flatnonzero(np.diff(numbers)) + 1
  return list(
    itertools.pairwise(np.unique([0, *splits, len(lengths)]).tolist())
  )


def locate(context, text, start):
  """Returns the character span of an answer in its context.

  White space is ignored. If the answer occurs several times, the occurrence
  closest to `start` is returned.

  Args:
    context: str.
    text: str, the answer.
    start: int, the offset that the data give, which may be wrong; None for the
      first occurrence.

  Returns:
    (first character, last + 1), or None if the context does not contain it.
  """
  start = max(start or 0, 0)
  if text and context.startswith(text, start):
    return start, start + len(text)
  places = _places(context, text)
  return min(places, key=lambda place: abs(place[0] - start), default=None)


def _places(context, text):
  """Yields the spans of `text` in its context, white space ignored."""
  characters = "".join(text.split())
  if characters:
    pattern = re.compile(r"\s*".join(map(re.escape, characters)))
    yield from (match.span() for match in pattern.finditer(context))


class Framed(NamedTuple):
  """Model inputs of questions, one row per window of their contexts.

  Attributes:
    windows: `windows.Windows`, W of them.
    is_max_context: bool RaggedTensor [W, (pieces)], whether this window gives
      the piece the most context.
    inputs: {model input: int32 [W, L]}.
  """

  windows: windows.Windows
  is_max_context: tf.RaggedTensor
  inputs: dict


def frame(
  tokenizer, queries, ids, max_seq_length, doc_stride, max_windows=None
):
  """Returns the `Framed` windows of questions, for training and serving.

  Args:
    tokenizer: `Tokenizer`, as `tokenizers.load` returns it.
    queries: int32 RaggedTensor [B, (pieces)], the questions, each short enough
      for a window of at least one piece.
    ids: int32 RaggedTensor [B, (pieces)], their contexts.
    max_seq_length: int, maximum number of ids of a row.
    doc_stride: int, pieces from one window to the next.
    max_windows: int, maximum number of windows per context; None for no limit.
  """
  lengths = ids.row_lengths()
  sizes = max_seq_length - tokenizer.num_special_tokens(2)
  spans = windows.slide(
    lengths, sizes - queries.row_lengths(), doc_stride, max_windows
  )
  _, is_max_context = windows.best_windows(spans, lengths)
  inputs = tokenizer.assemble(
    tf.gather(queries, spans.text_index), spans.gather(ids)
  )
  return Framed(spans, is_max_context, inputs)


class _TextPieces(NamedTuple):
  """Pieces of a text: ids, and start and end characters, each int32 [n]."""

  ids: np.ndarray
  starts: np.ndarray
  ends: np.ndarray


def _rows(framed, pieces, spans, counts, framing):
  """Yields (question index, row without EXAMPLE_INDEX) for each window.

  Args:
    framed: `Framed`, of B questions.
    pieces: list of B `_TextPieces`, their contexts.
    spans: list of B (first, last) pieces of the answers; (-1, -1) for a
      question without answer; None if the answer is unknown.
    counts: as `Preprocessor.make_rows`.
    framing: `families.family.Framing`.
  """
  texts, starts, ends, _ = (x.numpy() for x in framed.windows)
  inputs = {name: values.numpy() for name, values in framed.inputs.items()}
  is_max_context = framed.is_max_context.flat_values.numpy()
  splits = framed.is_max_context.row_splits.numpy()
  num_with_answer = np.zeros(len(pieces), int)
  lengths = inputs[features.INPUT_MASK].sum(axis=1)
  for row, (text, start, end, length) in enumerate(
    zip(*(x.tolist() for x in (texts, starts, ends, lengths)), strict=True)
  ):
    # The window ends before the last [SEP].
    after = length - framing.num_after
    place, cls = after - (end - start), framing.cls_place(length)
    columns = np.full((3, length), _NOT_OF_CONTEXT, np.int32)
    columns[2] = 0
    columns[0, place:after] = pieces[text].starts[start:end]
    columns[1, place:after] = pieces[text].ends[start:end]
    columns[2, place:after] = is_max_context[splits[row] : splits[row + 1]]
    first, last = spans[text] or (-1, -1)
    has_answer = start <= first and last < end
    num_with_answer[text] += has_answer
    shift = place - start
    yield (
      text,
      {
        features.INPUT_IDS: inputs[features.INPUT_IDS][row, :length],
        features.SEGMENT_IDS: inputs[features.SEGMENT_IDS][row, :length],
        PIECE_STARTS: columns[0],
        PIECE_ENDS: columns[1],
        IS_MAX_CONTEXT: columns[2],
        START_POSITIONS: first + shift if has_answer else cls,
        END_POSITIONS: last + shift if has_answer else cls,
        CLS_POSITIONS: cls,
        ANSWER_WEIGHTS: float(spans[text] is not None),
      },
    )
  has_answer = np.array([bool(span and span[0] >= 0) for span in spans], bool)
  numbers = {
    "questions with several windows": np.sum(np.bincount(texts) > 1),
    "answers that no window holds": np.sum(has_answer & (num_with_answer == 0)),
  }
  fine_tuning.add_counts(counts, numbers)


def _locate_all(tokenizer, texts):
  """Yields the `_TextPieces` of each text."""
  for start in range(0, len(texts), _TEXTS):
    rows = tokenizer.tokenize_with_offsets(
      _encode(texts[start : start + _TEXTS])
    )
    places = rows[0].row_splits.numpy()[1:-1]
    fields = (np.split(row.flat_values.numpy(), places) for row in rows)
    yield from map(_TextPieces, *fields)


def _encode(texts):
  """Returns texts as UTF-8, list of bytes."""
  # JSON may hold lone surrogates, which UTF-8 cannot encode. Each becomes one
  # character, so that later offsets stay right.
  return [_SURROGATE.sub("\ufffd", text).encode("utf-8") for text in texts]


def _pieces_of(pieces, start, end):
  """Returns the (first, last) piece of a range of characters, or None."""
  first = int(np.searchsorted(pieces.ends, start, side="right"))
  last = int(np.searchsorted(pieces.starts, end, side="left")) - 1
  return (first, last) if first <= last else None


def _report_unlocated(examples, counts):
  """Counts the questions whose answers were not found and logs the first."""
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
