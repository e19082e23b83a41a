"""Relative positions: biases of attention by the distance of two positions."""

import dataclasses

import numpy as np
from keras import ops

from keras_bert_impl.layers.basics import layer, parts

_MAX_DISTANCE = 128


@dataclasses.dataclass(frozen=True)
class BucketsConfig(parts.Part):
  """Field of the biases of attention by distance.

  Attributes:
    relative_attention_num_buckets: number of buckets of distances between
      tokens, each with a bias of attention, which all layers share; even, 4 to
      256, or 0; see `layers.RelativePositionBias` (MPNet: 32; else 0).
  """

  relative_attention_num_buckets: int = parts.field(0, shows=True)

  SWITCH = "relative_attention_num_buckets"

  @classmethod
  def check(cls, config):
    """Raises ValueError for a number that has no two halves."""
    _check_number(cls.SWITCH, config.relative_attention_num_buckets)

  @classmethod
  def positions(cls, config, dtype, hidden, position_ids):
    """Returns the same biases for each layer; see `parts.Part`."""
    bias = RelativePositionBias(
      config.num_attention_heads,
      config.relative_attention_num_buckets,
      config.initializer_range,
      dtype=dtype,
      name="relative_attention_bias",
    )(hidden)
    return config.num_hidden_layers * [{"bias": bias}]


@dataclasses.dataclass(eq=False, repr=False)
class _RelativePositionBiasArguments(layer.Arguments):
  num_heads: int
  num_buckets: int = 32
  initializer_range: float = 0.02


class RelativePositionBias(_RelativePositionBiasArguments, layer.Layer):
  """Biases of attention scores by distance, one of each head in each bucket.

  Half of the buckets are of positions before, half of those after. Of either
  half, the first ones are of one distance each, the others of ranges that widen
  logarithmically; the last is of 128 and more.

  Args:
    num_heads: int, N.
    num_buckets: int, an even number from 4 to 256.
    initializer_range: float, standard deviation.
    **kwargs: of `keras.layers.Layer`.

  Raises:
    ValueError: another number of buckets.

  Source: Raffel et al. 2020, section 2.1; Song et al. 2020 (MPNet).
  """

  def __post_init__(self):
    _check_number(f"num_buckets of {self.name}", self.num_buckets)

  def build(self, hidden_shape):
    """Creates the weights."""
    self.embeddings = self._weight(
      "distance_embeddings", self.num_buckets, self.num_heads, autocast=False
    )

  def call(self, hidden):
    """Returns the biases, float32 [1, N, L, L], for `hidden` [B, L, H]."""
    length = ops.shape(hidden)[1]
    places = ops.arange(length)
    distances = places[None, :] - places[:, None]  # from row to column
    distances = ops.clip(distances, -_MAX_DISTANCE, _MAX_DISTANCE)
    by_distance = ops.convert_to_tensor(_buckets(self.num_buckets))
    buckets = ops.take(by_distance, distances + _MAX_DISTANCE, axis=0)
    # With so few rows a product is faster than a gather, both ways.
    one_hot = ops.one_hot(
      ops.reshape(buckets, (-1,)), self.num_buckets, axis=0, dtype="float32"
    )
    table = ops.transpose(ops.cast(self.embeddings, "float32"))
    biases = ops.matmul(table, one_hot)  # [N, L * L]
    return ops.reshape(biases, (1, self.num_heads, length, length))


def _check_number(name, num_buckets):
  allowed = range(4, 2 * _MAX_DISTANCE + 1, 2)
  if np.ndim(num_buckets) or num_buckets not in allowed:
    raise ValueError(
      f"{name} ({num_buckets!r}) must be an even number from 4 to"
      f" {2 * _MAX_DISTANCE}."
    )


def _buckets(num_buckets):
  """Returns the bucket of each distance from -128 to 128, int32 [257]."""
  half = num_buckets // 2
  single = half // 2  # buckets of one distance
  distance = np.arange(_MAX_DISTANCE + 1, dtype="float32")
  # In float32, as in the code that made the released weights.
  width = np.float32(np.log(_MAX_DISTANCE / single))
  logarithm = np.log(np.maximum(distance, 1) / np.float32(single)) / width
  wide = single + np.trunc(logarithm * np.float32(half - single))
  bucket = np.where(distance < single, distance, np.minimum(wide, half - 1))
  return np.concatenate([bucket[:0:-1], bucket[:1], half + bucket[1:]]).astype(
    "int32"
  )
