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

from typing import NamedTuple

import numpy as np
import tensorflow as tf

# Spans kept of each window per answer: several spans may have the same text.
_SPANS_PER_ANSWER = 4
# Windows per call of `best_spans`.
_WINDOWS = 32


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
  """

  example_index: np.ndarray
  starts: object
  ends: object
  is_max_context: object
  start_logits: object
  end_logits: object


def find(contexts, windows, config):
  """Returns the answers to N questions, list of `Answer`.

  Args:
    contexts: list of N str, the texts that contain the answers.
    windows: `Windows`.
    config: `SpanConfig`.
  """
  spans = [[] for _ in contexts]
  nulls = [None] * len(contexts)
  for row, found in enumerate(_window_spans(windows, config)):
    index = int(windows.example_index[row])
    spans[index].append(found)
    logits = (windows.start_logits[row][0], windows.end_logits[row][0])
    null = Candidate("", *map(float, logits))
    if nulls[index] is None or null.score < nulls[index].score:
      nulls[index] = null
  return [
    _answer(context, found, null if config.has_null else None, config)
    for context, found, null in zip(contexts, spans, nulls, strict=True)
  ]


def best_spans(starts, ends, start_logits, end_logits, size, count):
  """Returns the best spans of each window; also works in a graph, for serving.

  Args:
    starts: int32 [R, L], offset of the first character of each piece; -1 for a
      piece that cannot begin an answer.
    ends: int32 [R, L], offset after the last character of each piece; -1
      outside the context.
    start_logits: float [R, L].
    end_logits: float [R, L].
    size: int, D, maximum number of pieces of a span.
    count: int, K, spans to return per window.

  Returns:
    (score, first, last), each [R, min(K, L * D)], best first; ties go to the
    earlier, then the shorter span. score: float64, -inf where a window has
    fewer spans. first, last: int32, positions of the first and last piece.
  """
  # float64, so that ties of sums break the same way everywhere.
  start_logits = tf.cast(start_logits, tf.float64)
  end_logits = tf.cast(end_logits, tf.float64)
  span_ends = _reached(ends, size, -1)  # [R, L, D]
  scores = start_logits[:, :, tf.newaxis] + _reached(end_logits, size, 0.0)
  starts = starts[:, :, tf.newaxis]
  # False where the end is outside the context or the span has no characters.
  is_span = (starts != -1) & (starts < span_ends)
  scores = tf.where(is_span, scores, -np.inf)
  scores = tf.reshape(scores, [tf.shape(scores)[0], -1])  # [R, L * D]
  # top_k breaks ties by the lower index.
  score, place = tf.math.top_k(scores, tf.minimum(count, tf.shape(scores)[1]))
  first = place // size
  return score, first, first + place % size


def _reached(values, size, padding):
  """Returns each of values [R, L] and those that follow it, [R, L, size]."""
  padded = tf.pad(values, [[0, 0], [0, size - 1]], constant_values=padding)
  places = tf.range(tf.shape(values)[1])[:, tf.newaxis] + tf.range(size)
  return tf.gather(padded, places, axis=1)


def _window_spans(windows, config):
  """Yields the best spans of each window.

  Returns:
    float64 [spans, 4]: start logit, end logit, first character, last + 1.
  """
  count = _SPANS_PER_ANSWER * config.n_best_size
  lengths = np.array([len(starts) for starts in windows.starts])
  # Windows of similar length share a batch, which saves padding.
  order = np.argsort(lengths, kind="stable")
  found = [None] * len(order)
  for k in range(0, len(order), _WINDOWS):
    rows = order[k : k + _WINDOWS]
    starts, ends, is_max, start_logits, end_logits = (
      _pad([column[row] for row in rows], padding)
      for column, padding in zip(
        windows[1:], (-1, -1, 0, 0.0, 0.0), strict=True
      )
    )
    scores, firsts, lasts = (
      x.numpy()
      for x in best_spans(
        np.where(is_max == 1, starts, -1),
        ends,
        start_logits,
        end_logits,
        config.max_answer_length,
        count,
      )
    )
    for place, row in enumerate(rows):
      is_span = np.isfinite(scores[place])
      first, last = firsts[place][is_span], lasts[place][is_span]
      found[row] = np.stack(
        [
          start_logits[place][first].astype(np.float64),
          end_logits[place][last].astype(np.float64),
          starts[place][first],
          ends[place][last],
        ],
        axis=1,
      )
  return found


def _pad(rows, padding):
  """Returns R arrays [n] as one padded array [R, L]."""
  padded = np.full((len(rows), max(map(len, rows))), padding, rows[0].dtype)
  for row, values in zip(padded, rows, strict=True):
    row[: len(values)] = values
  return padded


def _answer(context, spans, null, config):
  """Returns the `Answer` to a question from the spans of all its windows."""
  start_logits, end_logits, starts, ends = np.concatenate(spans).T
  # Ties go to the first span.
  order = np.lexsort((ends, starts, -(start_logits + end_logits)))
  candidates, texts = [], {""}
  for place in order.tolist():
    text = context[int(starts[place]) : int(ends[place])].strip()
    if text not in texts:
      texts.add(text)
      candidates.append(
        Candidate(text, float(start_logits[place]), float(end_logits[place]))
      )
      if len(candidates) == config.n_best_size:
        break
  text = candidates[0].text if candidates else ""
  null_odds = 0.0
  if null is not None:
    null_odds = null.score - (candidates[0].score if candidates else 0.0)
    candidates = sorted([*candidates, null], key=lambda c: -c.score)
    candidates = candidates[: config.n_best_size]
    if null not in candidates:
      candidates.append(null)
  return Answer(candidates or [Candidate("", 0.0, 0.0)], text, null_odds)
