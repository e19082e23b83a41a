"""Rotary position embeddings: queries and keys turned by their positions."""

import dataclasses

import numpy as np
from keras import ops

from keras_bert_impl.layers.attention import buckets, scores
from keras_bert_impl.layers.basics import layer, parts

# Names of angles in `positions`: of queries, if these are others; of all.
POSITIONS = ("query_rotary", "rotary")
SCALINGS = ("linear", "dynamic")


@dataclasses.dataclass(frozen=True)
class RotaryConfig(parts.Part):
  """Fields of rotary positions.

  Attributes:
    rotary_base: base (theta) of the wave lengths of rotary positions, >= 1.
    local_rotary_base: the same, for layers with a window.
    rotary_factor: how many times longer rows may be than those of the training,
      see `rotary_scaling`; 1: no longer.
    rotary_scaling: "linear": positions are divided by the factor. "dynamic":
      the base grows with rows of more than `max_position_embeddings` tokens.
    rotary_table: whether sines and cosines are a table of so many rows, in
      files of weights too (RoFormer).
  """

  rotary_base: float = parts.field(10000.0, "[1, inf)")
  local_rotary_base: float = parts.field(10000.0, "[1, inf)")
  rotary_factor: float = parts.field(1.0, "[1, inf)")
  rotary_scaling: str = parts.field("linear", choices=SCALINGS)
  rotary_table: bool = parts.field(False, shows=True)

  KIND = "rotary"
  EXCLUDES = (buckets.BucketsConfig,)

  @classmethod
  def check(cls, config):
    """Raises ValueError if heads cannot be turned, or a table not stretched."""
    others = config.rotary_factor != 1 or len({*cls._bases(config)}) > 1
    if config.rotary_table and others:
      raise ValueError(
        "rotary_table (True) must be False with a rotary_factor, or with layers"
        " of another base: there is one table."
      )
    if config.head_size % 2:
      raise ValueError(
        f"The size of attention heads ({config.head_size}: attention_head_size,"
        " or hidden_size / num_attention_heads) must be even with"
        f" {cls.needs()}."
      )

  @classmethod
  def tellers(cls, config, dtype):
    """Returns what tells cosines and sines to each layer; see `parts.Part`."""
    bases = cls._bases(config)
    is_dynamic = config.rotary_scaling == "dynamic"
    angles = {
      base: RotaryEmbedding(
        config.head_size,
        base,
        config.rotary_factor,
        config.max_position_embeddings if is_dynamic else None,
        config.max_position_embeddings if config.rotary_table else None,
        name=f"rotary_{index}",
      )
      for index, base in enumerate(sorted(set(bases)))
    }
    return [{"rotary": angles[base]} for base in bases]

  @staticmethod
  def _bases(config):
    """Returns the base of each layer, list of float."""
    return [
      config.local_rotary_base if window else config.rotary_base
      for window in config.windows
    ]


@dataclasses.dataclass(eq=False, repr=False)
class _RotaryEmbeddingArguments(layer.Arguments):
  head_size: int
  base: float = 10000.0
  factor: float = 1.0
  max_positions: int | None = None
  table_size: int | None = None


class RotaryEmbedding(_RotaryEmbeddingArguments, layer.Layer):
  """Rotary position embedding (RoPE): cosines and sines of each position.

  `SelfAttention` rotates each query and key by the angles of its position, so
  that a score depends on the distance of two positions.

  Args:
    head_size: int, D, even.
    base: float, theta: about the ratio of the longest wave length to the
      shortest.
    factor: float, by which positions are divided.
    max_positions: int: rows of no more tokens are not stretched, and the base
      grows with longer ones, instead of a division. None: no such length.
    table_size: int, rows of a table of sines and cosines, which is a weight
      that is not trained; no row of tokens is longer. None: no table.
    **kwargs: of `keras.layers.Layer`.

  Raises:
    ValueError: an odd `head_size`; of `call`, L above `table_size`.

  Source: Su et al. 2021 (RoFormer), section 3.2; for `max_positions` the
  "dynamic NTK" of transformers, modeling_rope_utils.py.
  """

  # Positions stay float32: bfloat16 does not hold all integers above 256.
  of_keras = {"autocast": False}

  def __post_init__(self):
    if self.head_size % 2:
      raise ValueError(
        f"head_size ({self.head_size}) of {self.name} must be even."
      )

  def build(self, hidden_shape, **other_shapes):
    """Creates the table, if there is one: D / 2 sines, then the cosines."""
    if self.table_size:
      self.position_embeddings = self.add_weight(
        (self.table_size, self.head_size),
        lambda shape, dtype: ops.convert_to_tensor(self._table(), dtype),
        name="position_embeddings",
        trainable=False,
      )

  def call(self, hidden, position_ids=None):
    """Returns cosines and sines of all angles, in two parts to be added.

    Keras casts the inputs of layers to bfloat16 under a mixed policy: then the
    first part has 8 bits of each number and the second one the next 8.

    Args:
      hidden: float [B, L, H], of which only L is read.
      position_ids: int [B, L]; None means the places in the row.

    Returns:
      float32 [B or 1, L, 1, 2 D]: D / 2 cosines and D / 2 sines, rounded; then
      what rounding took from them.
    """
    if position_ids is None:
      position_ids = ops.arange(ops.shape(hidden)[1])[None]
    if self.table_size:
      length = hidden.shape[1]
      if isinstance(length, int) and length > self.table_size:
        raise ValueError(
          f"The sequence length ({length}) must be at most {self.table_size}:"
          " max_position_embeddings."
        )
      rows = ops.take(self.position_embeddings, position_ids, axis=0)
      sine, cosine = ops.split(ops.expand_dims(rows, 2), 2, axis=-1)
    else:
      position = ops.cast(position_ids, "float32")[:, :, None, None]
      angle = position * self._frequencies(position)  # [B or 1, L, 1, D / 2]
      cosine, sine = ops.cos(angle), ops.sin(angle)
    table = ops.concatenate([cosine, sine], axis=-1)
    coarse = ops.round(table * 256.0) / 256.0
    return ops.concatenate([coarse, table - coarse], axis=-1)

  def extend(self, own, places):
    """Returns as `call`, of the last tokens of texts.

    Args:
      own: int [R, Q], the places of the tokens in their texts; -1: padding.
      places: int [R, S], those of all S tokens so far.

    Returns:
      float32 [R, Q, 1, 2 D].
    """
    del places
    return self.call(own, ops.maximum(own, 0))

  def _table(self):
    """Returns the sines and cosines of all rows, float64 [table_size, D]."""
    exponent = np.arange(0, self.head_size, 2) / self.head_size
    angle = np.arange(self.table_size)[:, None] / self.base**exponent
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=1)

  def _frequencies(self, position):
    """Returns the angle from one of the positions to the next, [D / 2]."""
    size = self.head_size
    exponent = np.arange(0, size, 2) / size
    frequency = (self.base**-exponent).astype("float32")
    if self.max_positions is None:
      return frequency / np.float32(self.factor)
    # How much longer the row is, to the power of what the base would be.
    longest = ops.maximum(ops.max(position) + 1.0, self.max_positions)
    growth = self.factor * longest / self.max_positions - (self.factor - 1)
    power = (-exponent * size / (size - 2)).astype("float32")
    return frequency * ops.power(growth, power)


def turned_heads(query, key, value, *rotary):
  """Returns query, key and value by head, query and key turned.

  Args:
    query: float [B, L, N, D], as key and value.
    key: float.
    value: float.
    *rotary: float [B or 1, L, 1, 2 D], of `RotaryEmbedding`; with two, the
      first one is of the queries, with none nothing is turned.

  Returns:
    tuple of float [B, N, L, D].

  Raises:
    ValueError: as `turn`.
  """
  if rotary:
    query, key = turn(query, rotary[0]), turn(key, rotary[-1])
  return tuple(map(scores.split_heads, (query, key, value)))


def turn(x, rotary):
  """Returns queries or keys, rotated by the angles of their positions.

  Args:
    x: float [B, L, N, D].
    rotary: float [B or 1, L, 1, 2 D], of `RotaryEmbedding`.

  Returns:
    `x`'s shape and dtype.

  Raises:
    ValueError: the angles are those of heads of another size.
  """
  if rotary.shape[-1] != 2 * x.shape[-1]:
    raise ValueError(
      f"head_size ({rotary.shape[-1] // 2}) of RotaryEmbedding must be that of"
      f" the attention ({x.shape[-1]}): hidden size / num_heads."
    )
  first, second = ops.split(ops.cast(x, "float32"), 2, axis=-1)
  table = sum(ops.split(ops.cast(rotary, "float32"), 2, axis=-1))
  cosine, sine = ops.split(table, 2, axis=-1)
  halves = [first * cosine - second * sine, second * cosine + first * sine]
  return ops.cast(ops.concatenate(halves, axis=-1), x.dtype)
