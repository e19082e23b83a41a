"""Representations of all spans of a text, up to a width.

Axes: T words (or other units) of a text, W widths, from 1 to the largest one, I
units.
"""

import dataclasses

from keras import ops

from keras_bert_impl.layers.basics import layer


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
    """Returns the vectors of spans.

    Args:
      first: float [B, T, H], states of words as those that spans begin with,
        such as of their first pieces.
      last: float [B, T, H], as those that spans end with.

    Returns:
      float [B, T, W, I], of the spans that begin at a word and have 1, 2, ... W
      words; some number where the text ends before.
    """
    starts, words = ops.split(self.of_first(first), 2, axis=-1)
    ends = self.of_last(last)
    scores = ops.cast(self.attention(first), "float32")  # [B, T, 1]
    # The softmax of one width goes on from that of the width before it.
    highest, total = scores, ops.ones_like(scores)
    head, spans = words, []
    for width in range(self.max_span_width):
      if width:
        added = _from(scores, width)
        before, highest = highest, ops.maximum(highest, added)
        kept, share = ops.exp(before - highest), ops.exp(added - highest)
        total = total * kept + share
        part = ops.cast(share / total, words.dtype)
        head = head * (1 - part) + _from(words, width) * part
      spans.append(starts + _from(ends, width) + head + self.widths[width])
    return ops.stack(spans, axis=2)


def _from(x, place):
  """Returns [B, T, ...] with what stands `place` words later; 0 at the end."""
  size = ops.shape(x)[1]
  return ops.pad(x, [[0, 0], [0, place], [0, 0]])[:, place : place + size]
