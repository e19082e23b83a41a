"""From logits of start and end to answers: spans of the original characters.

A span from piece i to piece j >= i scores S.T_i + E.T_j. A piece that is in
several windows may begin a span only where it has the most context; no answer
is the span of [CLS] alone, in the window where it scores least.

Source: Devlin et al. 2019, sections 4.2 and 4.3; google-research/bert,
run_squad.py, write_predictions. Differs from it in that all spans are looked
at, not only those of the best starts and ends, and in that answers are cut out
by the offsets of pieces instead of being looked for again.
"""

from typing import NamedTuple

import numpy as np

# Of a window, for each of the n best: several spans may have the same text.
_SPANS_PER_ANSWER = 4


class SpanConfig(NamedTuple):
  """What an answer may be.

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
  """What the model says to a question.

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
  for row, index in enumerate(windows.example_index.tolist()):
    start_logits = np.asarray(windows.start_logits[row], np.float64)
    end_logits = np.asarray(windows.end_logits[row], np.float64)
    null = Candidate("", float(start_logits[0]), float(end_logits[0]))
    if nulls[index] is None or null.score < nulls[index].score:
      nulls[index] = null
    spans[index].append(
      _window_spans(
        start_logits,
        end_logits,
        windows.starts[row],
        windows.ends[row],
        windows.is_max_context[row],
        config,
      )
    )
  return [
    _answer(context, found, null if config.has_null else None, config)
    for context, found, null in zip(contexts, spans, nulls, strict=True)
  ]


def _window_spans(
  start_logits, end_logits, starts, ends, is_max_context, config
):
  """Returns the best spans of a window.

  Args:
    start_logits: float [n].
    end_logits: float [n].
    starts: int [n], characters, -1 for what is not of the context.
    ends: int [n].
    is_max_context: int [n].
    config: `SpanConfig`.

  Returns:
    float [spans, 4]: start logit, end logit, first character, last + 1.
  """
  in_context = np.flatnonzero(starts >= 0)
  if not len(in_context):
    return np.zeros((0, 4))
  width = min(config.max_answer_length, len(in_context))
  beyond = np.full(width - 1, -np.inf)
  padded = np.concatenate([end_logits[in_context], beyond])
  reached = np.lib.stride_tricks.sliding_window_view(padded, width)
  begins = np.flatnonzero(is_max_context[in_context])  # [m]
  scores = start_logits[in_context[begins], np.newaxis] + reached[begins]
  flat = scores.reshape(-1)  # [m * width]
  count = min(_SPANS_PER_ANSWER * config.n_best_size, len(flat))
  best = np.argpartition(flat, len(flat) - count)[len(flat) - count :]
  best = best[np.isfinite(flat[best])]
  first = in_context[begins[best // width]]
  last = first + best % width
  return np.stack(
    [start_logits[first], end_logits[last], starts[first], ends[last]], axis=1
  )


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
