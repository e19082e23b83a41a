"""Relative positions: biases of attention by the distance of two positions."""

import dataclasses

import numpy as np
from keras import ops

from keras_bert_impl.layers.basics import layer, parts


@dataclasses.dataclass(frozen=True)
class BucketsConfig(parts.Part):
  """Fields of the biases of attention by distance.

  Attributes:
    relative_attention_num_buckets: number of buckets of distances between
      tokens, each with a bias of attention; even, 4 to twice the largest
      distance, or 0; see `layers.RelativePositionBias` (MPNet, T5: 32; else 0).
    relative_attention_max_distance: the largest distance that is told apart.
    relative_attention_one_sided: whether all buckets are of positions before.
    relative_attention_per_layer: whether each layer has biases of its own.
  """

  relative_attention_num_buckets: int = parts.field(0, shows=True)
  relative_attention_max_distance: int = parts.field(128, "[2, inf)")
  relative_attention_one_sided: bool = parts.field(False)
  relative_attention_per_layer: bool = parts.field(False, shows=True)

  SWITCH = "relative_attention_num_buckets"

  @classmethod
  def check(cls, config):
    """Raises ValueError for a number that has no two halves."""
    _check_number(
      cls.SWITCH,
      config.relative_attention_num_buckets,
      config.relative_attention_max_distance,
    )

  @classmethod
  def tellers(cls, config, dtype):
    """Returns what tells biases to each layer; see `parts.Part`."""

    def bias(name):
      return RelativePositionBias(
        config.num_attention_heads,
        config.relative_attention_num_buckets,
        config.initializer_range,
        config.relative_attention_max_distance,
        config.relative_attention_one_sided,
        dtype=dtype,
        name=name,
      )

    name, layers = "relative_attention_bias", config.num_hidden_layers
    if config.relative_attention_per_layer:
      return [{"bias": bias(f"{name}_{index}")} for index in range(layers)]
    return layers * [{"bias": bias(name)}]


@dataclasses.dataclass(eq=False, repr=False)
class _RelativePositionBiasArguments(layer.Arguments):
  num_heads: int
  num_buckets: int = 32
  initializer_range: float = 0.02
  max_distance: int = 128
  is_one_sided: bool = False


class RelativePositionBias(_RelativePositionBiasArguments, layer.Layer):
  """Biases of attention scores by distance, one of each head in each bucket.

  Half of the buckets are of positions before, half of those after. Of either
  half, the first ones are of one distance each, the others of ranges that widen
  logarithmically; the last is of `max_distance` and more.

  Args:
    num_heads: int, N.
    num_buckets: int, an even number from 4 to twice `max_distance`.
    initializer_range: float, standard deviation.
    max_distance: int.
    is_one_sided: bool, whether all buckets are of positions before; the first
      one is of those after, too.
    **kwargs: of `keras.layers.Layer`.

  Raises:
    ValueError: another number of buckets.

  Source: Raffel et al. 2020, section 2.1; Song et al. 2020 (MPNet).
  """

  def __post_init__(self):
    name = f"num_buckets of {self.name}"
    _check_number(name, self.num_buckets, self.max_distance)

  def build(self, hidden_shape):
    """Creates the weights."""
    self.embeddings = self._weight(
      "distance_embeddings", self.num_buckets, self.num_heads, autocast=False
    )

  def call(self, hidden, position_ids=None):
    """Returns the biases, float32 [1, N, L, L], for `hidden` [B, L, H]."""
    del position_ids  # Of packed rows, in which no text sees another.
    places = ops.arange(ops.shape(hidden)[1])
    return self._biases(places[None, :] - places[:, None])[None]

  def extend(self, own, places):
    """Returns the biases of the last tokens of texts, float32 [R, N, Q, S].

    Args: as of `RotaryEmbedding.extend`.
    """
    distances = ops.expand_dims(places, 1) - ops.expand_dims(own, 2)
    return ops.swapaxes(self._biases(distances), 0, 1)

  def _biases(self, distances):
    """Returns the biases float32 [N, ...] of distances int [...]."""
    furthest = self.max_distance
    distances = ops.clip(distances, -furthest, furthest)
    by_distance = ops.convert_to_tensor(
      _buckets(self.num_buckets, furthest, self.is_one_sided)
    )
    buckets = ops.take(by_distance, distances + furthest, axis=0)
    # With so few rows a product is faster than a gather, both ways.
    one_hot = ops.one_hot(
      ops.reshape(buckets, (-1,)), self.num_buckets, axis=0, dtype="float32"
    )
    table = ops.transpose(ops.cast(self.embeddings, "float32"))
    biases = ops.matmul(table, one_hot)  # [N, number of distances]
    return ops.reshape(biases, (self.num_heads, *ops.shape(distances)))


def _check_number(name, num_buckets, max_distance):
  allowed = range(4, 2 * max_distance + 1, 2)
  if np.ndim(num_buckets) or num_buckets not in allowed:
    raise ValueError(
      f"{name} ({num_buckets!r}) must be an even number from 4 to"
      f" {2 * max_distance}."
    )


def _buckets(num_buckets, furthest, is_one_sided):
  """Returns the bucket of each distance within `furthest`, both ways, int32."""
  half = num_buckets if is_one_sided else num_buckets // 2
  single = half // 2  # buckets of one distance
  distance = np.arange(furthest + 1, dtype="float32")
  # In float32, as in the code that made the released weights.
  width = np.float32(np.log(furthest / single))
  logarithm = np.log(np.maximum(distance, 1) / np.float32(single)) / width
  wide = single + np.trunc(logarithm * np.float32(half - single))
  bucket = np.where(distance < single, distance, np.minimum(wide, half - 1))
  after = 0 * bucket[1:] if is_one_sided else half + bucket[1:]
  return np.concatenate([bucket[::-1], after]).astype("int32")
