"""Rules of a search: what may follow, and what is more or less likely.

Each is a pure function of scores float32 [R, V], the logits or logarithms of
probabilities of the next token; what may not follow gets minus infinity.
"""

import math

from keras import ops

NEVER = -math.inf


def apply(scores, history, place, settings, tokens):
  """Returns scores by the rules of a search, in the order of transformers.

  Args:
    scores: float32 [R, V].
    history: int32 [R, T], the prompt and what was generated, to the right; -1
      where there is nothing.
    place: int32 scalar, number of tokens generated.
    settings: `settings.SearchSettings`.
    tokens: `settings.TokenIds`.

  Returns:
    float32 [R, V].

  Source: transformers, generation/logits_process.py.
  """
  size = scores.shape[-1]
  if settings.repetition_penalty != 1.0:
    seen = _are_there(history, history >= 0, size)
    penalty = settings.repetition_penalty
    worse = ops.where(scores < 0, scores * penalty, scores / penalty)
    scores = ops.where(seen, worse, scores)
  if settings.no_repeat_ngram_size:
    repeated = _would_repeat(history, settings.no_repeat_ngram_size, size)
    scores = ops.where(repeated, NEVER, scores)
  if settings.min_new_tokens and tokens.end:
    is_early = _is_one_of(tokens.end, size) & (place < settings.min_new_tokens)
    scores = ops.where(is_early, NEVER, scores)
  if tokens.first is not None:
    scores = _forced(scores, (tokens.first,), place == 0)
  if tokens.last is not None:
    is_last = place == settings.max_new_tokens - 1
    scores = _forced(scores, (tokens.last,), is_last)
  if tokens.banned:
    scores = ops.where(_is_one_of(tokens.banned, size), NEVER, scores)
  return scores


def to_draw_from(scores, settings):
  """Returns logits of which the unlikely ones are minus infinity.

  Args:
    scores: float32 [R, V], logits.
    settings: `settings.SearchSettings`; its temperature, top_k and top_p count.

  Source: Fan et al. 2018 (top-k); Holtzman et al. 2020 (top-p).
  """
  scores = scores / settings.temperature
  size = scores.shape[-1]
  if 0 < settings.top_k < size:
    least = ops.top_k(scores, settings.top_k)[0][:, -1:]
    scores = ops.where(scores < least, NEVER, scores)
  if settings.top_p < 1.0:
    ordered = ops.sort(scores, axis=-1)  # The likeliest last.
    below = ops.cumsum(ops.softmax(ordered), axis=-1)
    # The likeliest one stays, whatever was rounded.
    is_kept = (below > 1.0 - settings.top_p) | (ops.arange(size) == size - 1)
    least = ops.where(is_kept, ordered, math.inf)
    least = ops.min(least, axis=-1, keepdims=True, initial=math.inf)
    scores = ops.where(scores < least, NEVER, scores)
  return scores


def _forced(scores, ids, is_forced):
  """Returns scores of which only some ids are left, if they are forced."""
  only = ops.where(_is_one_of(ids, scores.shape[-1]), 0.0, NEVER)
  return ops.where(is_forced, only, scores)


def _is_one_of(ids, size):
  """Returns whether each id of a vocabulary is one of some, bool [1, V]."""
  return ops.any(
    ops.expand_dims(ops.arange(size), 0)
    == ops.reshape(ops.convert_to_tensor(ids, dtype="int32"), (-1, 1)),
    axis=0,
    keepdims=True,
  )


def _are_there(ids, is_counted, size):
  """Returns which ids are among those of a row, bool [R, V].

  Args:
    ids: int32 [R, T].
    is_counted: bool [R, T].
    size: int, V.
  """
  num_rows, length = ops.shape(ids)
  row = ops.broadcast_to(ops.arange(num_rows)[:, None], (num_rows, length))
  # What does not count goes to a column of its own.
  column = ops.where(is_counted & (ids < size), ids, size)
  places = ops.stack([row, column], axis=-1)  # [R, T, 2]
  count = ops.scatter(
    ops.reshape(places, (-1, 2)),
    ops.ones((num_rows * length,), "int32"),
    (num_rows, size + 1),
  )
  return count[:, :size] > 0


def _would_repeat(history, n, size):
  """Returns which ids would end an n-gram that there is, bool [R, V]."""
  # So that there is one n-gram at least, of nothing.
  history = ops.pad(history, [[0, 0], [n, 0]], constant_values=-1)
  length = ops.shape(history)[1]
  starts = length - n + 1
  grams = ops.stack(
    [history[:, k : starts + k] for k in range(n)], axis=-1
  )  # [R, T + 1, n]
  last = history[:, length - n + 1 :][:, None]  # [R, 1, n - 1]
  is_same = ops.all(grams[..., :-1] == last, axis=-1)
  is_whole = ops.all(grams >= 0, axis=-1)
  return _are_there(grams[..., -1], is_same & is_whole, size)
