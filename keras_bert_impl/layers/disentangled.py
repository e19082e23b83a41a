"""Disentangled attention: scores of contents with relative positions.

Axes, besides those of `layers`: S distances that are told apart on either side,
or of those a row of L can have, the fewer.
"""

import functools

import keras
import numpy as np
from keras import ops

from keras_bert_impl.layers import base, initializers, relative_attention

_BLOCK_SIZE = 128  # tokens whose distances are looked up together
# Leaves nothing of a score in float32, so that what sees none sees all alike.
_UNSEEN = -1e30


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class RelativeEmbeddings(base.Layer):
  """Embeddings of relative positions, which all layers share.

  Args:
    num_distances: int, told apart on either side; half of the table's rows.
    use_layer_norm: bool, whether they are normalized.
    layer_norm_eps: float.
    initializer_range: float, standard deviation.
    **kwargs: of `keras.layers.Layer`.

  Source: He et al. 2021 (DeBERTa), section 3.1.
  """

  def __init__(
    self,
    num_distances,
    use_layer_norm=False,
    layer_norm_eps=1e-7,
    initializer_range=0.02,
    **kwargs,
  ):
    super().__init__(**kwargs)
    self.num_distances = num_distances
    self.use_layer_norm = use_layer_norm
    self.layer_norm_eps = layer_norm_eps
    self.initializer_range = initializer_range

  def build(self, hidden_shape):
    """Creates the weights."""
    shape = (2 * self.num_distances, hidden_shape[-1])
    self.rel_embeddings = self.add_weight(
      name="rel_embeddings",
      shape=shape,
      initializer=initializers.truncated_normal(self.initializer_range),
      autocast=False,
    )
    self.layer_norm = self._layer_norm(shape) if self.use_layer_norm else None

  def call(self, hidden, training=False):
    """Returns the rows [2 S, H] that `hidden` [B, L, H] needs, from -S on."""
    middle = self.num_distances
    size = _least(ops.shape(hidden)[1], middle)
    table = ops.convert_to_tensor(self.rel_embeddings)
    table = table[middle - size : middle + size]
    table = ops.cast(table, self.compute_dtype)
    if self.layer_norm is not None:
      table = self.layer_norm(table, training=training)
    return table

  def compute_output_spec(self, hidden, training=False):
    """Returns the shape and dtype of `call`."""
    length = hidden.shape[1]
    rows = None if length is None else 2 * _least(length, self.num_distances)
    return keras.KerasTensor((rows, hidden.shape[-1]), self.compute_dtype)


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class DisentangledBias(base.Layer):
  """Scores that attention gets from relative positions; a part of it.

  A pair of tokens has up to three scores: of contents with each other, of the
  content that looks with the position looked at (c2p) and of the position that
  looks with the content looked at (p2c).

  Args:
    num_heads: int, N.
    pos_att_type: str, "c2p|p2c", "c2p", "p2c" or "" for none.
    share_att_key: bool, whether positions are projected as contents are.
    use_key_bias: bool, whether the projection to keys has a bias.
    position_buckets: int, buckets of distances on either side: of one distance
      each up to half of them, then of ranges that widen logarithmically. Not
      positive: each distance has its own row.
    max_relative_positions: int, with buckets the distance of the last one.
    max_distance: int, all further ones are as this.
    dropout_rate: float in [0, 1), of the embeddings of positions.
    initializer_range: float, standard deviation.
    **kwargs: of `keras.layers.Layer`.

  Source: He et al. 2021 (DeBERTa), section 3.1; He et al. 2023 (DeBERTaV3) and
  microsoft/DeBERTa for buckets.
  """

  def __init__(
    self,
    num_heads,
    pos_att_type="c2p|p2c",
    share_att_key=False,
    use_key_bias=True,
    position_buckets=-1,
    max_relative_positions=512,
    max_distance=512,
    dropout_rate=0.1,
    initializer_range=0.02,
    **kwargs,
  ):
    super().__init__(**kwargs)
    self.num_heads = num_heads
    self.pos_att_type = pos_att_type
    self.share_att_key = share_att_key
    self.use_key_bias = use_key_bias
    self.position_buckets = position_buckets
    self.max_relative_positions = max_relative_positions
    self.max_distance = max_distance
    self.dropout_rate = dropout_rate
    self.initializer_range = initializer_range

  def build(self, hidden_shape):
    """Creates the weights."""
    size, shape = hidden_shape[-1], (None, hidden_shape[-1])
    self.pos_key = self.pos_query = None
    if not self.share_att_key and "c2p" in self.pos_att_type:
      self.pos_key = self._dense(
        size, shape, name="pos_key", use_bias=self.use_key_bias
      )
    if not self.share_att_key and "p2c" in self.pos_att_type:
      self.pos_query = self._dense(size, shape, name="pos_query")
    self.dropout = self._dropout(shape, self.dropout_rate, has_rows=False)

  @property
  def scale(self):
    """What the scores are multiplied by, as there are several to add, float."""
    kinds = [kind for kind in self.pos_att_type.split("|") if kind]
    return (1 + len(kinds)) ** -0.5

  def bias(self, query, key, attention_mask, table, projections, training):
    """Returns what is added to the scores of contents, or None.

    Args:
      query: float [B, N, L, D], scaled by `scale`.
      key: float [B, N, L, D].
      attention_mask: bool or int, as of `SelfAttention.call`, or None. Padding
        is not seen and sees all alike.
      table: float [2 S, H], of `RelativeEmbeddings`; None: no positions.
      projections: layers of the attention, (query, key).
      training: bool.

    Returns:
      float32 [B or 1, N or 1, L, L].
    """
    scores = None
    if table is not None and self.pos_att_type:
      table = self.dropout(table, training=training)
      scores = self._scores(query, key, table, projections)
    if attention_mask is None:
      return scores
    seen = ops.cast(attention_mask, "bool")
    if len(seen.shape) == 2:
      seen = seen[:, :, None] & seen[:, None, :]
    unseen = ops.where(seen[:, None], 0.0, _UNSEEN)
    return unseen if scores is None else scores + unseen

  def _scores(self, query, key, table, projections):
    """Returns the sum of both kinds, float32 [B, N, L, L]."""
    to_query, to_key = projections
    if not self.share_att_key:
      to_query, to_key = self.pos_query, self.pos_key
    scale = query.shape[-1] ** -0.5
    scores = []
    if "c2p" in self.pos_att_type:
      scores.append(self._score(query * scale, to_key(table), 1))
    if "p2c" in self.pos_att_type:
      # Seen from the other end: of each key to all that look at it.
      found = self._score(key, to_query(table) * (scale * self.scale), -1)
      scores.append(ops.transpose(found, (0, 1, 3, 2)))
    return functools.reduce(
      ops.add, [ops.cast(found, "float32") for found in scores]
    )

  def _score(self, states, table, sign):
    """Returns scores [B, N, L, L] of tokens with the distances to all.

    Each block of C tokens meets only the L + C distances that they have.

    Args:
      states: float [B, N, L, D].
      table: float [2 S, H].
      sign: 1; or -1 for the distances to them.
    """
    batch, num_heads, length, size = ops.shape(states)
    width = _least(length, _BLOCK_SIZE)
    num_blocks = -(-length // width)
    padding = [[0, 0], [0, 0], [0, num_blocks * width - length], [0, 0]]
    states = ops.reshape(
      ops.pad(states, padding), (batch, num_heads, num_blocks, width, size)
    )
    last = (ops.arange(num_blocks)[:, None] + 1) * width
    distances = sign * (last - ops.arange(length + width))
    found = ops.matmul(states, self._embed(table, distances))
    found = ops.reshape(
      found, (batch, num_heads * num_blocks, width, length + width)
    )
    found = relative_attention.shift(found, length)
    found = ops.reshape(found, (batch, num_heads, num_blocks * width, length))
    shape = (batch, num_heads, length, length)
    return ops.slice(found, (0, 0, 0, 0), shape)

  def _embed(self, table, distances):
    """Returns the rows of distances [K, R], [N, K, D, R], of a table [2 S, H].

    Gathers whole rows: that is quick, both ways.
    """
    num_rows, size = ops.shape(table)
    last = num_rows // 2
    if self.position_buckets > 0:
      distances = ops.clip(distances, -self.max_distance, self.max_distance)
      by_distance = _buckets(
        self.position_buckets, self.max_relative_positions, self.max_distance
      )
      distances = ops.take(
        ops.convert_to_tensor(by_distance), distances + self.max_distance
      )
    rows = ops.clip(distances, -last, last - 1) + last
    shape = (*ops.shape(rows), self.num_heads, size // self.num_heads)
    found = ops.reshape(ops.take(table, rows, axis=0), shape)
    return ops.transpose(found, (2, 0, 3, 1))


def _buckets(num_buckets, max_position, max_distance):
  """Returns the bucket of distances from -max to max, int32 [2 max + 1]."""
  middle = num_buckets // 2
  distance = np.arange(1, max_distance + 1)
  # In float32, as in the code that made the released weights.
  far = np.log(distance.astype("float32") / np.float32(middle))
  width = np.log(np.float32((max_position - 1) / middle))
  far = np.ceil(far / width * np.float32(middle - 1)) + middle
  bucket = np.where(distance <= middle, distance, far)
  return np.concatenate([-bucket[::-1], [0], bucket]).astype("int32")


def _least(length, size):
  return (
    min(length, size) if isinstance(length, int) else ops.minimum(length, size)
  )


def of_attention(layer, hidden_shape):
  """Returns the built `DisentangledBias` of an attention, None without one.

  Args:
    layer: `SelfAttention`.
    hidden_shape: tuple, [B, L, H].
  """
  if layer.disentangled is None:
    return None
  result = DisentangledBias(
    layer.num_heads,
    **layer.disentangled,
    initializer_range=layer.initializer_range,
    dtype=layer.dtype_policy,
    name="disentangled",
  )
  result.build(hidden_shape)
  return result
