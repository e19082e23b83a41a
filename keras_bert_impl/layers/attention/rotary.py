"""Rotary position embeddings: queries and keys turned by their positions."""

import dataclasses

import numpy as np
from keras import ops

from keras_bert_impl.layers.attention import buckets, scores
from keras_bert_impl.layers.basics import layer, parts

# Names of angles in `positions`: of queries, if these are others; of all.
POSITIONS = ("query_rotary", "rotary")


@dataclasses.dataclass(frozen=True)
class RotaryConfig(parts.Part):
  """Fields of rotary positions.

  Attributes:
    rotary_base: base (theta) of the wave lengths of rotary positions, >= 1.
    local_rotary_base: the same, for layers with a window.
  """

  rotary_base: float = parts.field(10000.0, "[1, inf)")
  local_rotary_base: float = parts.field(10000.0, "[1, inf)")

  KIND = "rotary"
  EXCLUDES = (buckets.BucketsConfig,)

  @classmethod
  def check(cls, config):
    """Raises ValueError if heads cannot be turned."""
    if config.head_size % 2:
      raise ValueError(
        f"The size of attention heads ({config.head_size}: attention_head_size,"
        " or hidden_size / num_attention_heads) must be even with"
        f" {cls.needs()}."
      )

  @classmethod
  def positions(cls, config, dtype, hidden, position_ids):
    """Returns the cosines and sines of each layer; see `parts.Part`."""
    bases = [
      config.local_rotary_base if window else config.rotary_base
      for window in config.windows
    ]
    angles = {
      base: RotaryEmbedding(config.head_size, base, name=f"rotary_{index}")(
        hidden, position_ids
      )
      for index, base in enumerate(sorted(set(bases)))
    }
    return [{"rotary": angles[base]} for base in bases]


@dataclasses.dataclass(eq=False, repr=False)
class _RotaryEmbeddingArguments(layer.Arguments):
  head_size: int
  base: float = 10000.0


class RotaryEmbedding(_RotaryEmbeddingArguments, layer.Layer):
  """Rotary position embedding (RoPE): cosines and sines of each position.

  `SelfAttention` rotates each query and key by the angles of its position, so
  that a score depends on the distance of two positions.

  Args:
    head_size: int, D, even.
    base: float, theta: about the ratio of the longest wave length to the
      shortest.
    **kwargs: of `keras.layers.Layer`.

  Raises:
    ValueError: an odd `head_size`.

  Source: Su et al. 2021 (RoFormer), section 3.2.
  """

  # Positions stay float32: bfloat16 does not hold all integers above 256.
  of_keras = {"autocast": False}

  def __post_init__(self):
    if self.head_size % 2:
      raise ValueError(
        f"head_size ({self.head_size}) of {self.name} must be even."
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
    size = self.head_size
    frequency = self.base ** (-np.arange(0, size, 2) / size)
    position = ops.cast(position_ids, "float32")[:, :, None, None]
    angle = position * frequency.astype("float32")  # [B or 1, L, 1, D / 2]
    table = ops.concatenate([ops.cos(angle), ops.sin(angle)], axis=-1)
    coarse = ops.round(table * 256.0) / 256.0
    return ops.concatenate([coarse, table - coarse], axis=-1)


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
