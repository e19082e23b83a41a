"""Finds answers from start and end logits: spans of the original characters.

A span from piece i to piece j >= i scores S.T_i + E.T_j. A piece that is in
several windows may begin a span only where it has the most context; no answer
is the span of [CLS] alone, in the window where it scores least.

Source: Devlin et al. 2019, sections 4.2 and 4.3; google-research/bert,
run_squad.py, write_predictions. Differs from it: all spans are considered, not
only those of the best starts and ends, and answers are cut out by the offsets
of pieces instead of being searched for again.
"""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

# Of a window, for each of the n best: several spans may have the same text.
_SPANS_PER_ANSWER = 4
# Windows whose spans are looked at together.
_WINDOWS = 32


class SpanConfig(NamedTuple):
  """Limits of answers.

  Attributes:
    n_best_size: int, answers to keep of each question.
    max_answer_length: int, most pieces of an answer.
    has_null: bool, whether there may be no answer.
  """

  n_best_size: int = 20
  max_answer_length: int = 30
  has_null: bool = False


class Candidate(NamedTuple):
  """A possible answer; "" is none."""

  text: str
  start_logit: float
  end_logit: float

  @property
  def score(self):
    """The sum of its logits."""
    return self.start_logit + self.end_logit


class Answer(NamedTuple):
  """The model's answer to a question.

  Attributes:
    candidates: list of `Candidate`, the best first, no text twice; never empty,
      and with `has_null` "" among them.
    text: str, the best candidate that is not "", which is a span, if any.
    null_odds: float, score of no answer minus score of `text`; 0 where there
      may not be none.
  """

  candidates: list
  text: str
  null_odds: float

  @property
  def probabilities(self):
    """Softmax of the scores of the candidates, float [candidates]."""
    scores = np.array([candidate.score for candidate in self.candidates])
    shares = np.exp(scores - scores.max())
    return shares / shares.sum()


class Windows(NamedTuple):
  """The windows of all questions, R rows.

  Attributes:
    example_index: int [R], which question a window is of.
    starts: R int arrays [n], the character each piece begins with, -1 for what
      is not of the context.
    ends: R int arrays [n], the character after it.
    is_max_context: R int arrays [n], 1 in the window where a piece counts.
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
    contexts: list of N str, in which the answers stand.
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
  """Returns the best spans of windows, for training and, in graph, for serving.

  Args:
    starts: int32 [R, L], the character with which an answer begins that begins
      with this piece; -1 for a piece that may begin none.
    ends: int32 [R, L], the character after an answer that ends with this piece,
      -1 for what is not of the context.
    start_logits: float [R, L].
    end_logits: float [R, L].
    size: int, D, most pieces of a span.
    count: int, K, spans of each window.

  Returns:
    (score, first, last): [R, min(K, L * D)] each, the best first, of equal ones
    the first and shortest: float64, -inf where there is no other span; int32,
    the places of their first and last pieces.
  """
  # float64, so that ties of sums break the same way everywhere.
  start_logits = tf.cast(start_logits, tf.float64)
  end_logits = tf.cast(end_logits, tf.float64)
  span_ends = _reached(ends, size, -1)  # [R, L, D]
  scores = start_logits[:, :, tf.newaxis] + _reached(end_logits, size, 0.0)
  starts = starts[:, :, tf.newaxis]
  # An end is no place of the context, or the span is blank.
  is_span = (starts != -1) & (starts < span_ends)
  scores = tf.where(is_span, scores, -np.inf)
  scores = tf.reshape(scores, [tf.shape(scores)[0], -1])  # [R, L * D]
  # Of equal ones, top_k takes the one of lower index first.
  score, place = tf.math.top_k(scores, tf.minimum(count, tf.shape(scores)[1]))
  first = place // size
  return score, first, first + place % size


def _reached(values, size, padding):
  """Returns values [R, L] of each place and those after it, [R, L, size]."""
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
  # Those of like length together.
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
  """Returns [R, L] of R arrays [n]."""
  padded = np.full((len(rows), max(map(len, rows))), padding, rows[0].dtype)
  for row, values in zip(padded, rows, strict=True):
    row[: len(values)] = values
  return padded


def _answer(context, spans, null, config):
  """Returns the `Answer` of the spans of all windows of a question."""
  start_logits, end_logits, starts, ends = np.concatenate(spans).T
  # Of equal spans the first.
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
