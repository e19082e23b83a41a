"""Disentangled attention: scores of contents with relative positions.

Axes, besides those of `layers`: S distances that are told apart on either side,
or of those a row of L can have, the fewer.
"""

import dataclasses
import functools

import keras
import numpy as np
from keras import ops

from keras_bert_impl.layers.attention import (
  buckets,
  relative_attention,
  scores,
  self_attention,
)
from keras_bert_impl.layers.basics import layer, parts

_BLOCK_SIZE = 128  # tokens whose distances are looked up together
_FURTHEST = 2**16  # distance that is told apart by buckets
# Leaves nothing of a score in float32, so that what sees none sees all alike.
_UNSEEN = -1e30


@dataclasses.dataclass(frozen=True)
class DisentangledConfig(parts.Part):
  """Fields of disentangled attention (DeBERTa).

  Attributes:
    clears_padding: whether the states of padding are 0 after the embeddings, it
      sees all alike, and E is mapped to H before LayerNorm, without bias.
    use_key_bias: whether projections to keys have a bias.
    relative_attention: whether attention depends on embeddings of relative
      positions; see `layers.DisentangledBias`. The fields after it need it.
    pos_att_type: "c2p|p2c", "c2p", "p2c" or "", its scores besides those of
      contents: of content with position, of position with content.
    position_buckets: buckets of distances on either side; not positive: each
      distance has an embedding.
    max_relative_positions: largest distance that is told apart; not positive:
      `max_position_embeddings`.
    share_att_key: whether positions are projected as contents are.
    norm_rel_ebd: "layer_norm" or "none", how those embeddings are normalized.
  """

  clears_padding: bool = parts.field(False)
  use_key_bias: bool = parts.field(True, shows=True)
  relative_attention: bool = parts.field(False, shows=True)
  pos_att_type: str = parts.field("", choices=("c2p|p2c", "c2p", "p2c", ""))
  position_buckets: int = parts.field(-1, "[-1, inf)")
  max_relative_positions: int = parts.field(-1, "[-1, inf)")
  share_att_key: bool = parts.field(False, shows=True)
  norm_rel_ebd: str = parts.field(
    "none", choices=("none", "layer_norm"), shows=True
  )

  SWITCH = "clears_padding"
  EXCLUDES = (buckets.BucketsConfig, self_attention.DirectionConfig)

  @classmethod
  def check(cls, config):
    """Raises ValueError if there are more buckets than distances, and such."""
    config.check_layers_may_differ()
    if not config.relative_attention:
      parts.check_defaults(
        config, parts.fields(cls)[3:], "needs relative_attention"
      )
    if not config.share_att_key and config.attention_head_size is not None:
      raise ValueError(
        f"attention_head_size ({config.attention_head_size}) must be None with"
        " share_att_key False."
      )
    count, furthest = config.position_buckets, config.max_relative_distance
    if count == 1 or count // 2 >= max(furthest - 1, 1):
      raise ValueError(
        f"position_buckets ({count}) must be from 2 to below twice the largest"
        f" distance that is told apart, less 1 ({furthest - 1}), or -1: see"
        " max_relative_positions and max_position_embeddings."
      )

  @property
  def max_relative_distance(self):
    """Largest distance that is told apart where attention is disentangled."""
    return max(self.max_relative_positions, 0) or self.max_position_embeddings

  @property
  def num_relative_positions(self):
    """Embeddings of relative positions on either side, int."""
    return max(self.position_buckets, 0) or self.max_relative_distance

  @property
  def use_mask_decoder(self):
    """Whether positions come in only where masked tokens are predicted."""
    return self.clears_padding and not self.has_positions_in_input

  @classmethod
  def positions(cls, config, dtype, hidden, position_ids):
    """Returns the same embeddings for each layer; see `parts.Part`."""
    if not config.relative_attention:
      return None
    table = RelativeEmbeddings(
      config.num_relative_positions,
      config.norm_rel_ebd == "layer_norm",
      config.layer_norm_eps,
      config.initializer_range,
      dtype=dtype,
      name="relative",
    )(hidden)
    return config.num_hidden_layers * [{"distances": table}]

  @classmethod
  def attention(cls, config, dtype, index):
    """Returns a new `DisentangledBias`."""
    return self_attention.of_config(
      config,
      dtype,
      DisentangledBias,
      pos_att_type=config.pos_att_type,
      share_att_key=config.share_att_key,
      use_key_bias=config.use_key_bias,
      position_buckets=config.position_buckets,
      max_relative_positions=config.max_relative_distance,
      dropout_rate=config.dropout_rate,
      initializer_range=config.initializer_range,
      name="disentangled",
    )


@dataclasses.dataclass(eq=False, repr=False)
class _RelativeEmbeddingsArguments(layer.Arguments):
  num_distances: int
  use_layer_norm: bool = False
  layer_norm_eps: float = 1e-7
  initializer_range: float = 0.02


class RelativeEmbeddings(_RelativeEmbeddingsArguments, layer.Layer):
  """Embeddings of relative positions, which all layers share.

  Args:
    num_distances: int, told apart on either side; half of the table's rows.
    use_layer_norm: bool, whether they are normalized.
    layer_norm_eps: float.
    initializer_range: float, standard deviation.
    **kwargs: of `keras.layers.Layer`.

  Source: He et al. 2021 (DeBERTa), section 3.1.
  """

  def build(self, hidden_shape):
    """Creates the weights."""
    shape = (2 * self.num_distances, hidden_shape[-1])
    self.rel_embeddings = self._weight("rel_embeddings", *shape, autocast=False)
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
    """Returns the shape and dtype of `call`, for lengths that JAX traces."""
    length = hidden.shape[1]
    rows = None if length is None else 2 * _least(length, self.num_distances)
    return keras.KerasTensor((rows, hidden.shape[-1]), self.compute_dtype)


@dataclasses.dataclass(eq=False, repr=False)
class _DisentangledArguments(layer.Arguments):
  pos_att_type: str = "c2p|p2c"
  share_att_key: bool = False
  use_key_bias: bool = True
  position_buckets: int = -1
  max_relative_positions: int = 512
  dropout_rate: float = 0.1
  initializer_range: float = 0.02
  causal_direction: str | None = None
  chunk_size: int | None = None


class DisentangledBias(_DisentangledArguments, self_attention.AttentionKind):
  """Disentangled attention: scores by relative positions, besides contents.

  A pair of tokens has up to three scores: of contents with each other, of the
  content that looks with the position looked at (c2p) and of the position that
  looks with the content looked at (p2c). Positions come as "distances", float
  [2 S, H], of `RelativeEmbeddings`.

  Args:
    pos_att_type: str, "c2p|p2c", "c2p", "p2c" or "" for none.
    share_att_key: bool, whether positions are projected as contents are.
    use_key_bias: bool, whether the projection to keys has a bias.
    position_buckets: int, buckets of distances on either side: of one distance
      each up to half of them, then of ranges that widen logarithmically. Not
      positive: each distance has its own row.
    max_relative_positions: int, with buckets the distance of the last one.
    dropout_rate: float in [0, 1), of the embeddings of positions.
    initializer_range: float, standard deviation.
    causal_direction: str or None; see `AttentionKind`.
    chunk_size: int or None; see `AttentionKind`.
    **kwargs: of `keras.layers.Layer`.

  Source: He et al. 2021 (DeBERTa), section 3.1; He et al. 2023 (DeBERTaV3) and
  microsoft/DeBERTa for buckets.
  """

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
    """Factor of the scores, as there are several to add, float."""
    kinds = [kind for kind in self.pos_att_type.split("|") if kind]
    return (1 + len(kinds)) ** -0.5

  def project(self, positions, hidden, query, key, training):
    """Returns "key" (c2p) and "query" (p2c), the projected table [2 S, H]."""
    if not positions:
      return positions
    to_query, to_key = query, key
    if not self.share_att_key:
      to_query, to_key = self.pos_query, self.pos_key
    table = self.dropout(positions["distances"], training=training)
    found = {}
    if "c2p" in self.pos_att_type:
      found["key"] = to_key(table)
    if "p2c" in self.pos_att_type:
      found["query"] = to_query(table)
    return found

  def attend(
    self, query, key, value, seen, positions, drop, *, whole, training
  ):
    """Computes the context of each position; as `AttentionKind.attend`.

    Padding in a mask [B, L] is not seen and sees all alike.
    """
    query, key, value = map(scores.split_heads, (query, key, value))
    rows = scores.rows(query * self.scale, seen, self.causal_direction)
    if seen is not None and len(seen.shape) == 2:
      rows["is_token"] = ops.cast(ops.expand_dims(seen, (1, 3)), "bool")
    others = (key, value, *positions.values())
    # With scores of several kinds, chunks of half the size take as much.
    size = self.chunk_size and max(self.chunk_size // 2, 1)
    size = None if whole else size
    return scores.attend(rows, others, drop, size, training, self._bias)

  def _bias(self, number, rows, key, *tables):
    """Returns the bias of the scores of contents; see `scores.attend`.

    Returns:
      float32 [B or 1, N or 1, R, L], or None.
    """
    added = self._scores(number, rows["query"], key, tables)
    seen = scores.what_is_seen(rows, ops.shape(key)[2])
    if seen is None:
      return added
    seen = seen & rows["is_token"] if "is_token" in rows else seen
    unseen = ops.where(seen, 0.0, _UNSEEN)
    return unseen if added is None else added + unseen

  def _scores(self, number, query, key, tables):
    """Returns the sum of both kinds, float32 [B, N, R, L], or None."""
    num_rows, length = ops.shape(query)[2], ops.shape(key)[2]
    first = 0 if number is None else number * num_rows
    scale = query.shape[-1] ** -0.5
    tables, kinds = list(tables), []
    if tables and "c2p" in self.pos_att_type:
      table = tables.pop(0)
      kinds.append(self._score(query * scale, table, 1, first, length))
    if tables:
      # Seen from the other end: of each key to all that look at it.
      table = tables[0] * (scale * self.scale)
      found = self._score(key, table, -1, -first, num_rows)
      kinds.append(ops.transpose(found, (0, 1, 3, 2)))
    kinds = [ops.cast(found, "float32") for found in kinds]
    return functools.reduce(ops.add, kinds) if kinds else None

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
    num_blocks = (length + width - 1) // width
    padding = [[0, 0], [0, 0], [0, num_blocks * width - length], [0, 0]]
    states = ops.reshape(
      ops.pad(states, padding), (batch, num_heads, num_blocks, width, size)
    )
    last = first + (ops.arange(num_blocks)[:, None] + 1) * width
    distances = sign * (last - ops.arange(num_others + width))
    found = ops.matmul(states, self._embed(table, distances, size))
    found = ops.reshape(
      found, (batch, num_heads * num_blocks, width, num_others + width)
    )
    found = relative_attention.shift(found, num_others)
    found = ops.reshape(
      found, (batch, num_heads, num_blocks * width, num_others)
    )
    shape = (batch, num_heads, length, num_others)
    return ops.slice(found, (0, 0, 0, 0), shape)

  def _embed(self, table, distances, head_size):
    """Returns the embeddings of distances, float [N, K, D, R].

    Gathers whole rows of the table, which is fast, as is its gradient.

    Args:
      table: float [2 S, H].
      distances: int [K, R].
      head_size: int, D.
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
    shape = (*ops.shape(rows), size // head_size, head_size)
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
