"""Disentangled attention: scores of contents with relative positions.

Axes, besides those of `layers`: S distances that are told apart on either side,
or of those a row of L can have, the fewer.
"""

import functools

import keras
import numpy as np
from keras import ops

from keras_bert_impl.layers import (
  attention,
  base,
  initializers,
  relative_attention,
)

_BLOCK_SIZE = 128  # tokens whose distances are looked up together
_FURTHEST = 2**16  # distance that is told apart by buckets
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

  def attend(self, heads, attention_mask, table, layer, **options):
    """Returns what `attention.attend` does.

    Args:
      heads: tuple of query, key and value, float [B, N, L, D].
      attention_mask: bool or int, as of `SelfAttention.call`, or None. Padding
        is not seen and sees all alike.
      table: float [2 S, H], of `RelativeEmbeddings`; None: no positions.
      layer: `SelfAttention`, whose projections positions may share; it also
        has the causal direction.
      **options: of `attention.attend`: drop, size, training.
    """
    query, key, value = heads
    rows = attention.rows(
      query * self.scale, attention_mask, layer.causal_direction, None
    )
    if attention_mask is not None and len(attention_mask.shape) == 2:
      rows["is_token"] = ops.cast(attention_mask, "bool")[:, None, :, None]
    options |= {
      # With scores of several kinds, blocks of half the size take as much.
      "size": options["size"] and max(options["size"] // 2, 1),
      "bias": self._bias,
      "tables": self._tables(table, layer, options["training"]),
    }
    return attention.attend(rows, key, value, **options)

  def _tables(self, table, layer, training):
    """Returns the table [2 S, H] as key (c2p) and as query (p2c), a list."""
    if table is None or not self.pos_att_type:
      return []
    table = self.dropout(table, training=training)
    to_query, to_key = layer.query, layer.key
    if not self.share_att_key:
      to_query, to_key = self.pos_query, self.pos_key
    tables = []
    if "c2p" in self.pos_att_type:
      tables.append(to_key(table))
    if "p2c" in self.pos_att_type:
      tables.append(to_query(table))
    return tables

  def _bias(self, number, rows, key, *tables):
    """Returns what is added to the scores of contents; see `attention.attend`.

    Returns:
      float32 [B or 1, N or 1, R, L], or None.
    """
    scores = self._scores(number, rows["query"], key, tables)
    seen = attention.what_is_seen(rows, ops.shape(key)[2])
    if seen is None:
      return scores
    seen = seen & rows["is_token"] if "is_token" in rows else seen
    unseen = ops.where(seen, 0.0, _UNSEEN)
    return unseen if scores is None else scores + unseen

  def _scores(self, number, query, key, tables):
    """Returns the sum of both kinds, float32 [B, N, R, L], or None."""
    num_rows, length = ops.shape(query)[2], ops.shape(key)[2]
    first = 0 if number is None else number * num_rows
    scale = query.shape[-1] ** -0.5
    tables, scores = list(tables), []
    if tables and "c2p" in self.pos_att_type:
      table = tables.pop(0)
      scores.append(self._score(query * scale, table, 1, first, length))
    if tables:
      # Seen from the other end: of each key to all that look at it.
      table = tables[0] * (scale * self.scale)
      found = self._score(key, table, -1, -first, num_rows)
      scores.append(ops.transpose(found, (0, 1, 3, 2)))
    scores = [ops.cast(found, "float32") for found in scores]
    return functools.reduce(ops.add, scores) if scores else None

  def _score(self, states, table, sign, first, num_others):
    """Returns the scores of R tokens with their distances to K others.

    A block of C tokens has only K + C distances; scores of others are not made.

    Args:
      states: float [B, N, R, D], queries or keys.
      table: float [2 S, H], the projected embeddings of distances.
      sign: int, 1 for the distances from a token to the others, -1 for those
        from the others to it.
      first: int, how far behind the first of the others the first token is.
      num_others: int, K.

    Returns:
      float [B, N, R, K].
    """
    batch, num_heads, length, size = ops.shape(states)
    width = _least(length, _BLOCK_SIZE)
    num_blocks = -(-length // width)
    padding = [[0, 0], [0, 0], [0, num_blocks * width - length], [0, 0]]
    states = ops.reshape(
      ops.pad(states, padding), (batch, num_heads, num_blocks, width, size)
    )
    last = first + (ops.arange(num_blocks)[:, None] + 1) * width
    distances = sign * (last - ops.arange(num_others + width))
    found = ops.matmul(states, self._embed(table, distances))
    found = ops.reshape(
      found, (batch, num_heads * num_blocks, width, num_others + width)
    )
    found = relative_attention.shift(found, num_others)
    found = ops.reshape(
      found, (batch, num_heads, num_blocks * width, num_others)
    )
    shape = (batch, num_heads, length, num_others)
    return ops.slice(found, (0, 0, 0, 0), shape)

  def _embed(self, table, distances):
    """Returns the embeddings of distances, float [N, K, D, R].

    Gathers whole rows of the table, which is fast, as is its gradient.

    Args:
      table: float [2 S, H].
      distances: int [K, R].
    """
    num_rows, size = ops.shape(table)
    last = num_rows // 2
    if self.position_buckets > 0:
      sizes = self.position_buckets, self.max_relative_positions
      furthest = _furthest(*sizes)
      distances = ops.clip(distances, -furthest, furthest)
      by_distance = ops.convert_to_tensor(_buckets(*sizes, furthest))
      distances = ops.take(by_distance, distances + furthest)
    rows = ops.clip(distances, -last, last - 1) + last
    shape = (*ops.shape(rows), self.num_heads, size // self.num_heads)
    found = ops.reshape(ops.take(table, rows, axis=0), shape)
    return ops.transpose(found, (2, 0, 3, 1))


def _furthest(num_buckets, max_position):
  """Returns a distance as of which all are in the last bucket, int."""
  middle = num_buckets // 2
  power = (num_buckets - middle) / max(middle - 1, 1)
  distance = middle * ((max_position - 1) / middle) ** power
  return int(min(distance, _FURTHEST)) + 1


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
