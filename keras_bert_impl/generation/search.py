"""Searches for the tokens that follow prompts: greedy, sampled, or by beams.

A row never depends on the others of its batch. Beams are those of transformers
5: candidates that end are kept in a pool of `num_beams` texts, by their
log-probability divided by a power of their length.

Axes, besides those of the package: K beams, C candidates of a step.

Source: transformers, generation/utils.py, `_beam_search`; Wu et al. 2016,
section 7, for the penalty of lengths.
"""

import abc
import dataclasses
import math
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_bert_impl.generation import draws, loops, rules

_LOWEST = -1e9


class Begun(NamedTuple):
  """What a decoder knows after prompts.

  Attributes:
    logits: float32 [B, V], of the first token that follows.
    caches: nested dict of tensors [B, ...], what it has computed of each row;
      they grow and are put in other orders.
    memory: nested dict of tensors [B, ...], which stay as they are.
    history: int32 [B, T], the tokens of the prompt, to the right; -1 before.
    keys: int32 [B], of `draws.prompt_keys`.
  """

  logits: Any
  caches: dict
  memory: dict
  history: Any
  keys: Any


class Decoder(abc.ABC):
  """What a search asks of a model. Abstract."""

  @abc.abstractmethod
  def step(self, ids, caches, memory):
    """Reads one more token of each row.

    Args:
      ids: int32 [R].
      caches: nested dict of tensors [R, ...], as `Begun` or this returned them.
      memory: that of `Begun`, [B, ...]; R may be a multiple of B.

    Returns:
      Tuple of the logits float32 [R, V] of the next token, and the caches.
    """


@dataclasses.dataclass(frozen=True)
class Search:
  """Search for what follows prompts.

  Args:
    decoder: `Decoder`.
    settings: `settings.SearchSettings`.
    tokens: `settings.TokenIds`.
  """

  decoder: Any
  settings: Any
  tokens: Any

  def __call__(self, begun):
    """Returns the texts that follow prompts.

    Args:
      begun: `Begun`.

    Returns:
      dict of `ids` int32 [B, S, T], S texts of each prompt, the best first,
      filled up with padding after their ends; `num_tokens` int32 [B, S], ends
      included; and `scores` float32 [B, S], the logarithm of the probability
      of a text divided by `num_tokens ** length_penalty`.
    """
    if self.settings.num_beams > 1:
      return self._beams(begun)
    return self._rows(begun)

  # One row of each text: greedy, or drawn.

  def _rows(self, begun):
    several = self.settings.num_return_sequences
    caches, history, keys, logits = _repeated(
      (begun.caches, begun.history, begun.keys, begun.logits), several
    )
    batch = ops.shape(begun.keys)[0]
    number = ops.reshape(
      ops.broadcast_to(ops.arange(several)[None], (batch, several)), (-1,)
    )
    state = {
      "place": ops.zeros((), "int32"),
      "ids": history[:, :0],
      "history": history,
      "scores": ops.zeros_like(logits[:, 0]),
      "is_over": ops.zeros_like(keys, dtype="bool"),
      "lengths": ops.zeros_like(keys),
      "caches": caches,
    }

    def choose(state, logits):
      scores = rules.apply(
        logits, state["history"], state["place"], self.settings, self.tokens
      )
      if self.settings.do_sample:
        seed = self.settings.random_seed
        bits = draws.row_bits(keys, number, state["place"], seed)
        ids = draws.draw(rules.to_draw_from(scores, self.settings), bits)
      else:
        ids = ops.cast(ops.argmax(scores, axis=-1), "int32")
      return self._longer(state, ids, logits)

    def step(state):
      logits, caches = self.decoder.step(
        state["ids"][:, -1], state["caches"], begun.memory
      )
      return choose({**state, "caches": caches}, logits)

    def goes_on(state):
      is_short = state["place"] < self.settings.max_new_tokens
      return is_short & ~ops.all(state["is_over"])

    state = loops.run(goes_on, step, choose(state, logits))
    lengths = ops.cast(state["lengths"], "float32")
    scores = state["scores"] / lengths**self.settings.length_penalty
    shape = (batch, several)
    return {
      "ids": ops.reshape(state["ids"], (*shape, ops.shape(state["ids"])[1])),
      "num_tokens": ops.reshape(state["lengths"], shape),
      "scores": ops.reshape(scores, shape),
    }

  def _longer(self, state, ids, logits):
    """Returns the state with one more token of each row that is not over."""
    is_over = state["is_over"]
    chosen = ops.take_along_axis(
      ops.log_softmax(logits), ops.expand_dims(ids, 1), axis=1
    )[:, 0]
    ids = ops.where(is_over, self.tokens.padding, ids)
    column = ops.expand_dims(ids, 1)
    return {
      "place": state["place"] + 1,
      "ids": ops.concatenate([state["ids"], column], axis=1),
      "history": ops.concatenate([state["history"], column], axis=1),
      "scores": state["scores"] + ops.where(is_over, 0.0, chosen),
      "is_over": is_over | self._ends(ids),
      "lengths": state["lengths"] + ops.cast(~is_over, "int32"),
      "caches": state["caches"],
    }

  def _ends(self, ids):
    """Returns which ids end a text, bool of their shape."""
    found = ops.zeros_like(ids, dtype="bool")
    for end in self.tokens.end:
      found = found | (ids == end)
    return found

  # Beams.

  def _beams(self, begun):
    beams = self.settings.num_beams
    caches, history = _repeated((begun.caches, begun.history), beams)
    batch = ops.shape(begun.keys)[0]
    # Of equal rows only the first is continued.
    running = ops.where(ops.arange(beams) == 0, 0.0, _LOWEST)
    running = ops.broadcast_to(running[None], (batch, beams))
    none = ops.zeros((batch, beams, 0), "int32")
    pool = {
      "ids": none,
      "scores": ops.full((batch, beams), _LOWEST),
      "is_over": ops.zeros((batch, beams), "bool"),
      "lengths": ops.zeros((batch, beams), "int32"),
    }
    state = {
      "place": ops.zeros((), "int32"),
      "ids": none,
      "history": history,
      "scores": running,
      "pool": pool,
      "may_improve": ops.ones((batch,), "bool"),
      "can_go_on": ops.ones((batch,), "bool"),
      "caches": caches,
    }

    def step(state):
      ids = ops.reshape(state["ids"][:, :, -1], (-1,))
      logits, caches = self.decoder.step(ids, state["caches"], begun.memory)
      return self._next_beams({**state, "caches": caches}, logits)

    def goes_on(state):
      is_short = state["place"] < self.settings.max_new_tokens
      return is_short & ops.any(self._is_open(state))

    [logits] = _repeated([begun.logits], beams)
    state = loops.run(goes_on, step, self._next_beams(state, logits))
    several = self.settings.num_return_sequences
    pool = state["pool"]
    return {
      "ids": pool["ids"][:, :several],
      "num_tokens": pool["lengths"][:, :several],
      "scores": pool["scores"][:, :several],
    }

  def _next_beams(self, state, logits):
    """Returns the state with one more token of each beam."""
    beams, size = self.settings.num_beams, logits.shape[-1]
    scores = rules.apply(
      ops.log_softmax(logits),
      state["history"],
      state["place"],
      self.settings,
      self.tokens,
    )
    scores = ops.reshape(scores, (-1, beams, size))
    scores = scores + ops.expand_dims(state["scores"], -1)
    # As many as that, because each beam may have ended in every way.
    num = min(max(2, 1 + len(self.tokens.end)) * beams, beams * size)
    scores, places = ops.top_k(ops.reshape(scores, (-1, beams * size)), num)
    places = ops.cast(places, "int32")
    beam, ids = places // size, places % size  # [B, C]
    longer = _joined(_of_beams(state["ids"], beam), ops.expand_dims(ids, -1))
    place = state["place"] + 1
    is_last = place >= self.settings.max_new_tokens
    ends = self._ends(ids) | is_last
    pool = self._pool(state, longer, scores, ends, place)
    # Those that go on.
    running, chosen = ops.top_k(scores + ops.where(ends, _LOWEST, 0.0), beams)
    beam = ops.take_along_axis(beam, chosen, axis=1)
    rows = beam + beams * ops.expand_dims(ops.arange(ops.shape(beam)[0]), -1)
    rows = ops.reshape(rows, (-1,))
    ids = _of_beams(longer, chosen)
    history = ops.take(state["history"], rows, axis=0)
    column = ops.reshape(ids[:, :, -1], (-1, 1))
    state = {
      "place": place,
      "ids": ids,
      "history": ops.concatenate([history, column], axis=1),
      "scores": running,
      "pool": pool,
      "can_go_on": ~ops.all(ends, axis=1),
      "caches": keras.tree.map_structure(
        lambda x: ops.take(x, rows, axis=0), state["caches"]
      ),
      "may_improve": state["may_improve"],
    }
    may_improve = self._may_improve(state, pool)
    return {**state, "may_improve": state["may_improve"] & may_improve}

  def _pool(self, state, longer, scores, ends, place):
    """Returns the pool of texts that are over, with those of this step."""
    pool, beams = state["pool"], self.settings.num_beams
    # Candidates after the first ones are there to be continued only.
    is_over = ends & (ops.arange(scores.shape[1]) < beams)
    scores = scores / ops.cast(place, "float32") ** self.settings.length_penalty
    scores = scores + ops.where(is_over, 0.0, _LOWEST)
    # Other prompts of the batch may be worked on still: this one is closed.
    is_open = self._is_open(state)[:, None]
    scores = ops.where(is_open, scores, -math.inf)
    padding = ops.full((*ops.shape(is_over[:, :beams]), 1), self.tokens.padding)
    merged = {
      "ids": ops.concatenate(
        [_joined(pool["ids"], ops.cast(padding, "int32")), longer], axis=1
      ),
      "scores": ops.concatenate([pool["scores"], scores], axis=1),
      "is_over": ops.concatenate([pool["is_over"], is_over], axis=1),
      "lengths": ops.concatenate(
        [pool["lengths"], ops.zeros_like(longer[:, :, 0]) + place], axis=1
      ),
    }
    best = ops.top_k(merged["scores"], beams)[1]
    return {name: _of_beams(values, best) for name, values in merged.items()}

  def _may_improve(self, state, pool):
    """Returns whether a beam may become better than a text that is over."""
    settings = self.settings
    length = state["place"]
    if settings.early_stopping == "never" and settings.length_penalty > 0:
      length = ops.convert_to_tensor(settings.max_new_tokens)
    length = ops.cast(length, "float32") ** settings.length_penalty
    best = state["scores"][:, :1] / length
    worst = pool["scores"][:, -1:]  # They are in order.
    worst = ops.where(pool["is_over"], worst, _LOWEST)
    return ops.any(best > worst, axis=1)

  def _is_open(self, state):
    """Returns which prompts are still worked on, bool [B]."""
    is_open = state["may_improve"] & state["can_go_on"]
    if self.settings.early_stopping == "true":
      is_open = is_open & ~ops.all(state["pool"]["is_over"], axis=1)
    return is_open


def _joined(ids, more):
  return ops.concatenate([ids, more], axis=-1)


def _of_beams(values, beams):
  """Returns values [B, K, ...] of beams int32 [B, C], [B, C, ...]."""
  beams = ops.reshape(
    beams, (*ops.shape(beams), *[1] * (len(values.shape) - 2))
  )
  return ops.take_along_axis(values, beams, axis=1)


def _repeated(tensors, times):
  """Returns nested tensors with each row several times, one after the other."""
  return keras.tree.map_structure(
    lambda x: ops.repeat(x, times, axis=0), tensors
  )
