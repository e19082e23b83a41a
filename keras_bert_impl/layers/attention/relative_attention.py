"""Attention with the relative positions of Transformer-XL, on two streams.

Axes, besides those of `layers`: M tokens of memory, K = M + L tokens that may
be seen, R = K + L distances from K down to 1 - L.
"""

import dataclasses

import numpy as np
from keras import ops

from keras_bert_impl.layers.attention import scores as scores_lib
from keras_bert_impl.layers.basics import layer

# Value of the code that made the released weights: it leaves nothing of a
# score, so that a token that sees none sees all alike.
_UNSEEN = -1e30


@dataclasses.dataclass(eq=False, repr=False)
class _RelativeAttentionArguments(layer.Arguments):
  num_heads: int
  dropout_rate: float = 0.1
  initializer_range: float = 0.02


class RelativeAttention(_RelativeAttentionArguments, layer.Layer):
  """Multi-head attention whose scores depend on content, distance and segment.

  Of one stream, or of two with the same weights: that of the contents, in which
  a token sees itself, and that of queries, which know the place of a token but
  not the token.

  Args:
    num_heads: int, N; must divide H.
    dropout_rate: float in [0, 1), of the attention probabilities.
    initializer_range: float, standard deviation.
    **kwargs: of `keras.layers.Layer`.

  Source: Dai et al. 2019 (Transformer-XL), section 3.3; Yang et al. 2019
  (XLNet), sections 2.3 and 2.5.
  """

  def build(self, hidden_shape, **other_shapes):
    """Creates the weights."""
    batch, length, hidden_size = hidden_shape
    if hidden_size % self.num_heads:
      raise ValueError(
        f"The hidden size ({hidden_size}) of {self.name} must be a multiple of"
        f" num_heads ({self.num_heads})."
      )
    of_head = (self.num_heads, hidden_size // self.num_heads)
    self.query = self._weight("query", hidden_size, *of_head)
    self.key = self._weight("key", hidden_size, *of_head)
    self.value = self._weight("value", hidden_size, *of_head)
    self.distance = self._weight("distance", hidden_size, *of_head)
    self.output_weights = self._weight("output", hidden_size, *of_head)
    self.content_bias = self._weight("content_bias", *of_head)
    self.distance_bias = self._weight("distance_bias", *of_head)
    self.segment_bias = self._weight("segment_bias", *of_head)
    self.segments = self._weight("segments", 2, *of_head)
    probs_shape = (batch, self.num_heads, length, None)
    self.dropout = self._dropout(probs_shape, self.dropout_rate)

  def call(
    self,
    hidden,
    structure,
    query_hidden=None,
    target_mapping=None,
    memory=None,
    *,
    training=False,
  ):
    """Computes the attention of each position to all that it sees.

    Args:
      hidden: float [B, L, H], the stream of the contents.
      structure: dict of tensors, as `RelativeStructure` returns it.
      query_hidden: float [B, P, H], the stream of the queries, or None.
      target_mapping: float [B, P, L], 1 at the place of each query, as it goes
        with `query_hidden`.
      memory: float [B, M, H], states of the tokens before, or None.
      training: bool.

    Returns:
      List of the context [B, L, H] and, with `query_hidden`, that of the
      queries [B, P, H].
    """
    tokens = hidden
    if memory is not None:
      memory = ops.cast(memory, hidden.dtype)
      tokens = ops.concatenate([memory, hidden], axis=1)
    keys = (
      ops.transpose(self._split(tokens, self.key), (0, 2, 3, 1)),
      self._distance_keys(structure),  # [B or 1, N, D, R]
      ops.transpose(self._split(tokens, self.value), (0, 2, 1, 3)),
    )  # [B, N, D, K] and [B, N, K, D]
    is_other = structure["is_other_segment"]
    query = self._split(hidden, self.query)  # [B, L, N, D]
    context = self._attend(query, keys, structure["seen"], is_other, training)
    if query_hidden is None:
      return [context]
    mapping = ops.cast(target_mapping, hidden.dtype)
    query = self._split(query_hidden, self.query)  # [B, P, N, D]
    query = ops.einsum("bpnd,bpl->blnd", query, mapping)
    found = self._attend(
      query, keys, structure["query_seen"], is_other, training
    )
    return [context, ops.matmul(mapping, found)]

  def _attend(self, query, keys, seen, is_other_segment, training):
    """Returns the context [B, L, H]."""

    def biased(offset):
      found = query + ops.cast(offset, query.dtype)
      return ops.transpose(found, (0, 2, 1, 3))  # [B, N, L, D]

    segments = ops.transpose(ops.cast(self.segments, query.dtype), (1, 2, 0))
    rows = {
      "query": biased(self.content_bias),
      "distance_query": biased(self.distance_bias),
      "of_segment": ops.matmul(biased(self.segment_bias), segments[None]),
      "seen": seen,
      "is_other_segment": is_other_segment,
    }
    drop = self.dropout.drawn(training)

    def context(number, rows, key, distance_key, value):
      probs = _probs(number, rows, key, distance_key)
      probs = drop(ops.cast(probs, value.dtype), number)
      return scores_lib.split_heads(ops.matmul(probs, value))

    # With scores of several kinds, chunks of half the size take as much.
    size = scores_lib.CHUNK_SIZE // 2
    found = scores_lib.in_chunks(context, rows, keys, drop, size, training)
    return self._join(found)

  def _distance_keys(self, structure):
    """Returns the keys of the distances, [B or 1, N, D, R]."""
    distances = ops.cast(structure["distances"], self.compute_dtype)
    keys = self._split(distances, self.distance)  # [1 or 2, R, N, D]
    keys = ops.transpose(keys, (0, 2, 3, 1))
    if "is_reversed" in structure:
      keys = ops.take(keys, structure["is_reversed"], axis=0)
    return keys

  def _split(self, x, weights):
    """[B, L, H] times [H, N, D] -> [B, L, N, D]."""
    batch, length, size = ops.shape(x)
    matrix = ops.reshape(ops.cast(weights, x.dtype), (size, -1))
    x = ops.matmul(ops.reshape(x, (-1, size)), matrix)
    return ops.reshape(x, (batch, length, *weights.shape[1:]))

  def _join(self, x):
    """[B, L, N, D] times [H, N, D] -> [B, L, H]."""
    batch, length, num_heads, size = ops.shape(x)
    size *= num_heads
    matrix = ops.reshape(ops.cast(self.output_weights, x.dtype), (size, size))
    x = ops.matmul(ops.reshape(x, (-1, size)), ops.transpose(matrix))
    return ops.reshape(x, (batch, length, size))


def _probs(number, rows, key, distance_key):
  """Returns the probabilities of a block, float32 [B, N, L, K].

  Args:
    number: of the block, as of `blocks.apply`; L is here that of a block.
    rows: dict: query, distance_query, float [B, N, L, D]; of_segment, float
      [B, N, L, 2]; seen, is_other_segment, bool [B, 1, L, K].
    key: float [B, N, D, K].
    distance_key: float [B or 1, N, D, R].
  """
  scores = ops.matmul(rows["query"], key)
  num_rows, num_tokens = ops.shape(scores)[2:]
  distance_key = _of_block(distance_key, number, num_rows, num_tokens)
  found = ops.matmul(rows["distance_query"], distance_key)
  scores += shift(found, num_tokens)
  of_segment = rows["of_segment"]
  scores += ops.where(
    rows["is_other_segment"], of_segment[..., 1:], of_segment[..., :1]
  )
  size = rows["query"].shape[-1]
  scores = ops.cast(scores, "float32") * size**-0.5
  return ops.softmax(scores + ops.where(rows["seen"], 0.0, _UNSEEN))


def _of_block(distance_key, number, num_rows, num_tokens):
  """Returns the keys of the K + L distances that a block of L rows has."""
  if number is None:
    return distance_key
  batch, num_heads, size, num_distances = ops.shape(distance_key)
  # The last block may be longer than what is left of the row.
  padding = [[0, 0], [0, 0], [0, 0], [num_rows, 0]]
  first = num_distances - num_tokens - number * num_rows
  return ops.slice(
    ops.pad(distance_key, padding),
    (0, 0, 0, first),
    (batch, num_heads, size, num_tokens + num_rows),
  )


def shift(scores, num_tokens):
  """Moves scores of distances [B, N, L, R] to the tokens, [B, N, L, K].

  Row i begins with the distance K to the first token, which is that of a row
  after the last: each row begins at its own, one further than that above it.

  Args:
    scores: float [B, N, L, R].
    num_tokens: int, K.
  """
  batch, num_heads, length, size = ops.shape(scores)
  scores = ops.reshape(scores, (batch, num_heads, size, length))
  # The gradient of `ops.slice` is many times as fast as that of an index.
  rest = (batch, num_heads, size - 1, length)
  scores = ops.slice(scores, (0, 0, 1, 0), rest)
  scores = ops.reshape(scores, (batch, num_heads, length, size - 1))
  found = (batch, num_heads, length, num_tokens)
  return ops.slice(scores, (0, 0, 0, 0), found)


@dataclasses.dataclass(eq=False, repr=False)
class _RelativeStructureArguments(layer.Arguments):
  hidden_size: int
  use_causal_mask: bool = False
  same_length: bool = False
  clamp_len: int = -1


class RelativeStructure(_RelativeStructureArguments, layer.Layer):
  """Structure of rows: what each token sees, how far off, in which segment.

  Args:
    hidden_size: int, H, of the encodings of distances.
    use_causal_mask: bool, whether a position sees only itself and what precedes
      it.
    same_length: bool, whether it sees only as much of that as the memory is
      long.
    clamp_len: int, largest distance that is told apart; not positive: no limit.
    **kwargs: of `keras.layers.Layer`.

  Source: zihangdai/xlnet, modeling.py, transformer_xl.
  """

  of_keras = {"autocast": False}

  def call(
    self,
    attention_mask,
    segment_ids,
    perm_mask=None,
    memory=None,
    is_reversed=None,
  ):
    """Describes a batch to `RelativeAttention`.

    Args:
      attention_mask: bool or int, as of `SelfAttention.call`.
      segment_ids: int [B, L].
      perm_mask: float [B, L, L], above 0 where a position does not see another
        in the order of a permutation. None: it sees all.
      memory: float [B, ..., M, H], of segment 0, all of which is seen.
      is_reversed: int [B], 1 for a row whose text runs backwards.

    Returns:
      dict of tensors:

      - seen, query_seen: bool [B, 1, L, K], what contents see, themselves among
        it, and what queries see, who see their place where the masks say so;
      - is_other_segment: bool [B, 1, L, K];
      - distances: float32 [1, R, H], or, with `is_reversed`, [2, R, H] of both
        directions; and `is_reversed`.
    """
    length = ops.shape(segment_ids)[1]
    seen = scores_lib.whole_mask(attention_mask)
    if perm_mask is not None:
      seen = ops.logical_and(seen, perm_mask <= 0)
    seen = ops.broadcast_to(seen, (ops.shape(seen)[0], length, length))
    segments, num_before = segment_ids, 0
    if memory is not None:
      remembered = ops.zeros_like(memory[:, 0, :, 0], dtype=segment_ids.dtype)
      num_before = ops.shape(remembered)[1]
      segments = ops.concatenate([remembered, segment_ids], axis=1)
      is_seen = ops.logical_or(seen[:, :, :1], remembered[:, None] == 0)
      seen = ops.concatenate([is_seen, seen], axis=2)  # [B, L, K]
    row = ops.arange(length)[:, None]
    column = ops.arange(num_before + length)[None] - num_before
    if self.use_causal_mask:
      seen = ops.logical_and(seen, column <= row)
      if self.same_length:
        seen = ops.logical_and(seen, column >= row - num_before)
    own = ops.expand_dims(segment_ids, -1)
    is_other = ops.not_equal(own, segments[:, None])
    result = {
      "seen": ops.logical_or(seen, row == column)[:, None],
      "query_seen": seen[:, None],
      "is_other_segment": is_other[:, None],
      "distances": self._distances(
        num_before, length, both_directions=is_reversed is not None
      ),
    }
    if is_reversed is not None:
      result["is_reversed"] = ops.cast(is_reversed, "int32")
    return result

  def _distances(self, num_before, length, both_directions):
    """Returns the encodings of distances, float32 [1 or 2, R, H]."""
    size = num_before + 2 * length
    distance = num_before + length - ops.arange(size)
    if self.clamp_len > 0:
      distance = ops.clip(distance, -self.clamp_len, self.clamp_len)
    column = np.arange(0, self.hidden_size, 2, dtype="float32")
    frequency = 1.0 / np.power(np.float32(10000), column / self.hidden_size)
    angle = ops.cast(distance, "float32")[:, None] * frequency[None]
    sine, cosine = ops.sin(angle), ops.cos(angle)
    directions = [ops.concatenate([sine, cosine], axis=-1)]
    if both_directions:
      directions.append(ops.concatenate([-sine, cosine], axis=-1))
    return ops.stack(directions)
