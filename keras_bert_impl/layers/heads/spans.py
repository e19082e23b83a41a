"""Representations of all spans of a text, up to a width.

Axes: T words (or other units) of a text, W widths, from 1 to the largest one, I
units.
"""

import dataclasses
from typing import Any, NamedTuple

from keras import ops

from keras_bert_impl.layers.basics import kernels, layer
from keras_bert_impl.layers.heads import output_heads

_NEVER = -1e9  # Score of a word after the end.
_BLOCK = 128  # Words whose spans are held at once, at most.


@dataclasses.dataclass(eq=False, repr=False)
class _SpanRepresentationArguments(layer.Arguments):
  units: int
  max_span_width: int = 10
  initializer_range: float = 0.02


class SpanRepresentation(_SpanRepresentationArguments, layer.Layer):
  """A vector of each span: of its start, its end, its words and its width.

  It is the dense layer of [start, end, attended head, embedding of the width],
  but computed of words instead of spans, so that the 3 H numbers of each span
  are never held. The head is the mean of the words, weighted by a softmax over
  the span.

  Args:
    units: int, I.
    max_span_width: int, W, words of the longest span.
    initializer_range: float, standard deviation.
    **kwargs: of `keras.layers.Layer`.

  Source: Lee et al. 2017, section 4.
  """

  def build(self, first_shape, last_shape):
    """Creates the weights."""
    # Of starts and heads, whose words are the same.
    self.of_first = self._dense(2 * self.units, first_shape, name="first")
    self.of_last = self._dense(
      self.units, last_shape, name="last", use_bias=False
    )
    self.attention = self._dense(
      1, first_shape, name="attention", use_bias=False
    )
    self.widths = self._weight("widths", self.max_span_width, self.units)

  def call(self, first, last):
    """Returns the vectors of all spans.

    Args:
      first: float [B, T, H], states of words as those that spans begin with,
        such as of their first pieces.
      last: float [B, T, H], as those that spans end with.

    Returns:
      float [B, T, W, I], of the spans that begin at a word and have 1, 2, ... W
      words; some number where the text ends before.
    """
    projected = self.project(first, last)
    return self.map_spans(projected, lambda x: x, self.units)

  def project(self, first, last):
    """Returns the `Projected` words; arguments are as `call`."""
    starts, words = ops.split(self.of_first(first), 2, axis=-1)
    scores = ops.cast(self.attention(first), "float32")
    return Projected(starts, self.of_last(last), words, scores)

  def map_spans(self, projected, function, units):
    """Returns what a function says of the vectors of all spans.

    Of some words after the others, so that the vectors of all spans are never
    held.

    Args:
      projected: `Projected`.
      function: callable of float [B, T', W, I]; returns [B, T', W, units].
      units: int.

    Returns:
      [B, T, W, units].
    """
    length = ops.shape(projected.starts)[1]
    is_known = isinstance(length, int)
    least, most = (max, min) if is_known else (ops.maximum, ops.minimum)
    block = most(least(length, 1), _BLOCK)
    number = -(-length // block)
    room = self.max_span_width - 1 - length + number * block
    padded = [ops.pad(x, [[0, 0], [0, room], [0, 0]]) for x in projected]

    def find(begin):
      size = block + self.max_span_width - 1
      words = Projected(*(_cut(x, begin, size) for x in padded))
      return function(self._vectors(words, block))

    begins = block * ops.arange(number, dtype="int32")
    dtype = projected.starts.dtype
    found = kernels.map_in_turn(find, begins, dtype)  # [N, B, block, W, units]
    found = ops.swapaxes(found, 0, 1)
    shape = (-1, number * block, self.max_span_width, units)
    return ops.reshape(found, shape)[:, :length]

  def _vectors(self, projected, block):
    """Returns the vectors of the spans from words, float [B, block, W, I].

    Args:
      projected: `Projected`, also of the W - 1 words after the last that spans
        begin with.
      block: int or int32 [], how many spans begin with.
    """
    starts, ends, words, scores = projected
    head = _Head(words[:, :block], scores[:, :block])
    others = [ends[:, :block] + head.mean]
    for width in range(1, self.max_span_width):
      there = slice(width, width + block)
      head = head.with_word(words[:, there], scores[:, there])
      others.append(ends[:, there] + head.mean)
    starts = ops.expand_dims(starts[:, :block], 2)
    # Sums of two: TensorFlow makes one op of several of the same shape, whose
    # order depends on what other ops have read already, and so would bits.
    return ops.stack(others, axis=2) + starts + self.widths

  def at(self, projected, starts, ends):
    """Returns the vectors of some spans, float [B, K, I].

    Args:
      projected: `Projected`.
      starts: int32 [B, K], their first words.
      ends: int32 [B, K], their last words, fewer than W after the first.
    """
    head = _Head(at(projected.words, starts), at(projected.scores, starts))
    for width in range(1, self.max_span_width):
      place = ops.minimum(starts + width, ends)
      is_new = ops.expand_dims(starts + width <= ends, 2)
      score = ops.where(is_new, at(projected.scores, place), _NEVER)
      head = head.with_word(at(projected.words, place), score)
    widths = ops.take(self.widths, ends - starts, axis=0)
    edges = at(projected.ends, ends), head.mean, at(projected.starts, starts)
    # In this order, whatever TensorFlow makes of sums; see `_vectors`.
    return ops.sum(ops.stack(edges), axis=0) + widths


class Projected(NamedTuple):
  """What vectors of spans are made of, of each word.

  Attributes:
    starts: float [B, T, I], of a word that begins a span.
    ends: float [B, T, I], of one that ends it.
    words: float [B, T, I], of one in it.
    scores: float32 [B, T, 1], logits of its weight in it.
  """

  starts: Any
  ends: Any
  words: Any
  scores: Any


class _Head:
  """The mean of the words of spans, weighted by a softmax.

  Args:
    mean: float [B, ..., I], of the first words.
    highest: float32 [B, ..., 1], the logits of their weights.
    total: float32 [B, ..., 1], sum of the weights, times exp(-highest).
  """

  def __init__(self, mean, highest, total=None):
    self.mean, self._highest = mean, highest
    self._total = ops.ones_like(highest) if total is None else total

  def with_word(self, word, score):
    """Returns the `_Head` of spans that are a word longer."""
    highest = ops.maximum(self._highest, score)
    share = ops.exp(score - highest)
    total = self._total * ops.exp(self._highest - highest) + share
    part = ops.cast(share / total, word.dtype)
    return _Head(self.mean * (1 - part) + word * part, highest, total)


def without_crossing(starts, ends, scores):
  """Returns which spans stay, bool [K]: of two that cross, the likelier.

  One that lies in another does not cross it. A span that does not stay keeps
  none away.

  Args:
    starts: int [K], first words.
    ends: int [K], last words.
    scores: float [K].
  """
  size = ops.shape(starts)[0]
  order = ops.argsort(-scores)
  starts, ends = ops.take(starts, order), ops.take(ends, order)
  places = ops.arange(size, dtype="int32")

  def step(number, kept):
    start, end = ops.take(starts, number), ops.take(ends, number)
    is_before = (starts < start) & (start <= ends) & (ends < end)
    is_behind = (start < starts) & (starts <= end) & (end < ends)
    stays = ~ops.any(kept & (is_before | is_behind))
    return number + 1, kept | (stays & (places == number))

  _, kept = ops.while_loop(
    lambda number, _: number < size,
    step,
    (ops.convert_to_tensor(0, "int32"), places < 0),
  )
  return ops.take(kept, ops.argsort(order))


def _cut(x, begin, size):
  """Returns [B, size, I] of x [B, N, I] from a place on, int or int32 []."""
  batch, _, units = ops.shape(x)
  return ops.slice(x, (0, begin, 0), (batch, size, units))


def at(x, places):
  """Returns float [B, ..., I] of x [B, N, I] at int32 [B, ...], at least 0."""
  batch, *rest = ops.shape(places)
  rows = ops.reshape(ops.maximum(places, 0), (batch, -1))
  found = output_heads.gather_positions(x, rows)
  return ops.reshape(found, (batch, *rest, x.shape[-1]))
