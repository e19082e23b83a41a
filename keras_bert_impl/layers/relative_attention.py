"""Attention with the relative positions of Transformer-XL, on two streams.

Axes, besides those of `layers`: M tokens of memory, K = M + L tokens that may
be seen, R = K + L distances from K down to 1 - L.
"""

import keras
import numpy as np
from keras import ops

from keras_bert_impl.layers import attention, base, initializers

# As in the code that made the released weights: it leaves nothing of a score,
# so that a token that sees none sees all alike.
_UNSEEN = -1e30


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class RelativeAttention(base.Layer):
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

  def __init__(
    self, num_heads, dropout_rate=0.1, initializer_range=0.02, **kwargs
  ):
    super().__init__(**kwargs)
    self.num_heads = num_heads
    self.dropout_rate = dropout_rate
    self.initializer_range = initializer_range

  def build(self, hidden_shape, **other_shapes):
    """Creates the weights."""
    batch, length, hidden_size = hidden_shape
    attention.check_heads(self, hidden_size)
    of_head = (self.num_heads, hidden_size // self.num_heads)
    self.query = self._add("query", hidden_size, *of_head)
    self.key = self._add("key", hidden_size, *of_head)
    self.value = self._add("value", hidden_size, *of_head)
    self.distance = self._add("distance", hidden_size, *of_head)
    self.output_weights = self._add("output", hidden_size, *of_head)
    self.content_bias = self._add("content_bias", *of_head)
    self.distance_bias = self._add("distance_bias", *of_head)
    self.segment_bias = self._add("segment_bias", *of_head)
    self.segments = self._add("segments", 2, *of_head)
    probs_shape = (batch, self.num_heads, length, None)
    self.dropout = self._dropout(probs_shape, self.dropout_rate)

  def _add(self, name, *shape):
    initializer = initializers.truncated_normal(self.initializer_range)
    return self.add_weight(name=name, shape=shape, initializer=initializer)

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
    key, distance_key, value = keys

    def score(offset, key):
      biased = query + ops.cast(offset, query.dtype)
      return ops.matmul(ops.transpose(biased, (0, 2, 1, 3)), key)

    scores = score(self.content_bias, key)
    scores += shift(
      score(self.distance_bias, distance_key), ops.shape(scores)[-1]
    )
    segments = ops.transpose(ops.cast(self.segments, query.dtype), (1, 2, 0))
    of_segment = score(self.segment_bias, segments[None])  # [B, N, L, 2]
    scores += ops.where(
      is_other_segment, of_segment[..., 1:], of_segment[..., :1]
    )
    scores = ops.cast(scores, "float32") * query.shape[-1] ** -0.5
    scores += ops.where(seen, 0.0, _UNSEEN)
    probs = ops.cast(ops.softmax(scores), self.compute_dtype)
    context = ops.matmul(self.dropout(probs, training=training), value)
    return self._join(ops.transpose(context, (0, 2, 1, 3)))

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


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class RelativeStructure(base.Layer):
  """What each token of a row sees, how far off, and in which segment.

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

  def __init__(
    self,
    hidden_size,
    use_causal_mask=False,
    same_length=False,
    clamp_len=-1,
    **kwargs,
  ):
    super().__init__(autocast=False, **kwargs)
    self.hidden_size = hidden_size
    self.use_causal_mask = use_causal_mask
    self.same_length = same_length
    self.clamp_len = clamp_len

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
      attention_mask: bool or int, true where a position may be seen: [B, L] or
        [B, L, L], from each position to each.
      segment_ids: int [B, L].
      perm_mask: float [B, L, L], above 0 where a position does not see another
        in the order of a permutation. None: it sees all.
      memory: float [B, ..., M, H], of segment 0, all of which is seen.
      is_reversed: int [B], 1 for a row whose text runs backwards.

    Returns:
      seen, query_seen: bool [B, 1, L, K], what contents see, themselves among
        it, and what queries see, who see their place where the masks say so.
      is_other_segment: bool [B, 1, L, K].
      distances: float32 [1, R, H], or, with `is_reversed`, [2, R, H] of both
        directions; and `is_reversed`.
    """
    length = ops.shape(segment_ids)[1]
    seen = ops.cast(attention_mask, "bool")
    seen = ops.expand_dims(seen, 1) if len(seen.shape) == 2 else seen
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
    is_other = ops.not_equal(segment_ids[:, :, None], segments[:, None])
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

  def compute_output_spec(
    self,
    attention_mask,
    segment_ids,
    perm_mask=None,
    memory=None,
    is_reversed=None,
  ):
    """Returns the shapes and dtypes of `call`."""
    batch, length = segment_ids.shape
    scores = (batch, 1, length, None if memory is not None else length)
    num_directions = 1 if is_reversed is None else 2
    result = {
      "seen": keras.KerasTensor(scores, "bool"),
      "query_seen": keras.KerasTensor(scores, "bool"),
      "is_other_segment": keras.KerasTensor(scores, "bool"),
      "distances": keras.KerasTensor(
        (num_directions, None, self.hidden_size), "float32"
      ),
    }
    if is_reversed is not None:
      result["is_reversed"] = keras.KerasTensor((batch,), "int32")
    return result
