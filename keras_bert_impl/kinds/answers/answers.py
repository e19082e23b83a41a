"""Finds answers from start and end logits: spans of the original characters.

The span from piece i to piece j >= i scores S.T_i + E.T_j. Where windows
overlap, a piece can begin a span only in the window that gives it the most
context. "No answer" is the span of [CLS] alone, in the window where its score
is lowest.

Source: Devlin et al. 2019, sections 4.2 and 4.3; google-research/bert,
run_squad.py, write_predictions. Differs from it: all spans are scored, not only
those of the best starts and ends, and character offsets cut the answers out of
the context, which the original searches again.
"""

import bisect
from typing import NamedTuple

import numpy as np
import tensorflow as tf

# Spans kept of each window per answer: several spans may have the same text.
_SPANS_PER_ANSWER = 4
# Windows per call of `score_spans`.
_WINDOWS = 128


class SpanConfig(NamedTuple):
  """Limits of the answer search.

  Attributes:
    n_best_size: int, answers to keep per question.
    max_answer_length: int, maximum number of pieces of an answer.
    has_null: bool, whether a question may have no answer.
  """

  n_best_size: int = 20
  max_answer_length: int = 30
  has_null: bool = False


class Candidate(NamedTuple):
  """A candidate answer; text "" means no answer."""

  text: str
  start_logit: float
  end_logit: float

  @property
  def score(self):
    """Sum of the start and end logits, float."""
    return self.start_logit + self.end_logit


class Answer(NamedTuple):
  """The model's answer to a question.

  Attributes:
    candidates: list of `Candidate`, best first, with different texts; never
      empty, and with `has_null` one of them is "".
    text: str, text of the best span; "" if there is no span.
    null_odds: float, score of "no answer" minus score of `text`; 0 without
      `has_null`.
  """

  candidates: list
  text: str
  null_odds: float

  @property
  def probabilities(self):
    """Softmax over the scores of the candidates, float [candidates]."""
    scores = np.array([candidate.score for candidate in self.candidates])
    shares = np.exp(scores - scores.max())
    return shares / shares.sum()


class Windows(NamedTuple):
  """The windows of all questions, R rows.

  Attributes:
    example_index: int [R], index of the question of each window.
    starts: R int arrays [n], offset of the first character of each piece, -1
      outside the context.
    ends: R int arrays [n], offset after the last character of each piece.
    is_max_context: R int arrays [n], 1 in the window that gives a piece the
      most context, else 0.
    start_logits: R float arrays [n].
    end_logits: R float arrays [n].
    cls_positions: int [R], position of [CLS].
  """

  example_index: np.ndarray
  starts: object
  ends: object
  is_max_context: object
  start_logits: object
  end_logits: object
  cls_positions: np.ndarray


def find(contexts, windows, config):
  """Returns the answers to N questions, list of `Answer`.

  Args:
    contexts: list of N str, the texts that contain the answers.
    windows: `Windows`.
    config: `SpanConfig`.
  """
  nulls = [
    (starts[cls], ends[cls])
    for starts, ends, cls in zip(
      windows.start_logits,
      windows.end_logits,
      windows.cls_positions,
      strict=True,
    )
  ]
  spans = _window_spans(windows, config)
  return best_of_windows(contexts, windows.example_index, spans, nulls, config)


def best_of_windows(contexts, example_index, window_spans, nulls, config):
  """Returns the answers to N questions from the spans of R windows.

  Args:
    contexts: as `find`.
    example_index: int [R], index of the question of each window.
    window_spans: list of R float64 [spans, 4]: start and end logit, whose sum
      is the score, first character and last + 1.
    nulls: R pairs of float, start and end logit of "no answer".
    config: `SpanConfig`.

  Returns:
    list of `Answer`.
  """
  spans = [[] for _ in contexts]
  least = [None] * len(contexts)
  for index, found, logits in zip(
    example_index, window_spans, nulls, strict=True
  ):
    spans[index].append(found)
    null = Candidate("", *map(float, logits))
    if least[index] is None or null.score < least[index].score:
      least[index] = null
  return [
    _answer(context, found, null if config.has_null else None, config)
    for context, found, null in zip(contexts, spans, least, strict=True)
  ]


def score_spans(starts, ends, start_logits, end_logits, size):
  """Returns the scores of all spans; also works in a graph, for serving.

  Args:
    starts: int32 [R, L], offset of the first character of each piece; -1 for a
      piece that cannot begin an answer.
    ends: int32 [R, L], offset after the last character of each piece; -1
      outside the context.
    start_logits: float [R, L], of any dtype.
    end_logits: the same.
    size: int, D, maximum number of pieces of a span.

  Returns:
    [R, L * D], dtype of the logits, -inf where there is no span; `span_pieces`
    tells the pieces of a column. Earlier spans come first, and of those that
    begin with the same piece the shorter ones.
  """
  # [L, D, R] while it is filled: copying is fastest along the windows.
  starts = tf.transpose(tf.where(starts == -1, starts.dtype.max, starts))
  scores = tf.transpose(start_logits)[:, tf.newaxis]
  scores += _reached(end_logits, size, 0)
  # False where the end is outside the context or the span has no characters.
  is_span = starts[:, tf.newaxis] < _reached(ends, size, -1)
  scores = tf.where(is_span, scores, -np.inf)
  return tf.transpose(tf.reshape(scores, [-1, tf.shape(starts)[1]]))


# A function reuses the memory of intermediate results; eager ops do not.
_score_spans = tf.function(score_spans, autograph=False, reduce_retracing=True)


def span_pieces(place, size):
  """Returns the first and last piece of the spans of `score_spans`.

  Args:
    place: int [...], columns of the scores.
    size: int, as `score_spans` got it.
  """
  first = place // size
  return first, first + place % size


def _reached(values, size, padding):
  """Returns each of values [R, L] and those that follow it, [L, size, R]."""
  padded = tf.pad(
    tf.transpose(values), [[0, size - 1], [0, 0]], constant_values=padding
  )
  places = tf.range(tf.shape(values)[1])[:, tf.newaxis] + tf.range(size)
  return tf.gather(padded, places)


def _window_spans(windows, config):
  """Returns the best spans of each window.

  Returns:
    list of float64 [spans, 4]: start logit, end logit, first character, last
    + 1; by first, then last piece.
  """
  size = config.max_answer_length
  lengths = np.array([len(starts) for starts in windows.starts])
  # Windows of similar length share a batch, which saves padding.
  order = np.argsort(lengths, kind="stable")
  found = [None] * len(order)
  for k in range(0, len(order), _WINDOWS):
    rows = order[k : k + _WINDOWS]
    starts, ends, is_max, start_logits, end_logits = (
      pad([column[row] for row in rows], padding)
      for column, padding in zip(
        windows[1:6], (-1, -1, 0, 0.0, 0.0), strict=True
      )
    )
    begins = np.where(is_max == 1, starts, -1)
    scores = _score_spans(begins, ends, start_logits, end_logits, size)
    row, place = _best(scores.numpy(), _SPANS_PER_ANSWER * config.n_best_size)
    first, last = span_pieces(place, size)
    spans = np.stack(
      [
        start_logits[row, first].astype(np.float64),
        end_logits[row, last].astype(np.float64),
        starts[row, first],
        ends[row, last],
      ],
      axis=1,
    )
    splits = np.searchsorted(row, np.arange(1, len(rows)))
    for index, part in zip(rows, np.split(spans, splits), strict=True):
      found[index] = part
  return found


def _best(scores, count):
  """Returns rows and columns of the best of each row, in order.

  Rounding may make sums of logits equal, but never swaps them: with all equals
  of the worst one, the best before rounding are among them.

  Args:
    scores: float [R, N], -inf for none.
    count: int, how many of each row; its worst may have equals.
  """
  count = min(count, scores.shape[1])
  worst = np.partition(scores, -count)[:, -count, np.newaxis]
  is_best = scores >= np.maximum(worst, np.finfo(scores.dtype).min)
  return np.divmod(np.flatnonzero(is_best), scores.shape[1])


def pad(rows, padding):
  """Returns R arrays [n] as one padded array [R, L]."""
  padded = np.full((len(rows), max(map(len, rows))), padding, rows[0].dtype)
  for row, values in zip(padded, rows, strict=True):
    row[: len(values)] = values
  return padded


def _answer(context, spans, null, config):
  """Returns the `Answer` to a question from the spans of all its windows."""
  spans = np.concatenate(spans)
  # Stable: ties go to the first span.
  order = np.argsort(-(spans[:, 0] + spans[:, 1]), kind="stable")
  candidates, texts = [], {""}
  for start_logit, end_logit, start, end in zip(
    *spans[order].T.tolist(), strict=True
  ):
    text = context[int(start) : int(end)].strip()
    if text not in texts:
      texts.add(text)
      candidates.append(Candidate(text, start_logit, end_logit))
      if len(candidates) == config.n_best_size:
        break
  text = candidates[0].text if candidates else ""
  null_odds = 0.0
  if null is not None:
    null_odds = null.score - (candidates[0].score if candidates else 0.0)
    place = bisect.bisect(candidates, -null.score, key=lambda c: -c.score)
    candidates.insert(place, null)
    # However bad, it is among them.
    candidates = candidates[: max(config.n_best_size, place + 1)]
  return Answer(candidates or [Candidate("", 0.0, 0.0)], text, null_odds)
