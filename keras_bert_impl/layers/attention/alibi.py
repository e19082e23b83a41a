"""ALiBi: attention with linear biases instead of embeddings of positions."""

import dataclasses
import math

from keras import ops

from keras_bert_impl.layers.attention import buckets, disentangled, window
from keras_bert_impl.layers.basics import layer, parts


@dataclasses.dataclass(frozen=True)
class AlibiConfig(parts.Part):
  """Linear biases of attention, which have no fields and no weights."""

  KIND = "alibi"
  EXCLUDES = (
    buckets.BucketsConfig,
    disentangled.DisentangledConfig,
    window.WindowConfig,
  )

  @classmethod
  def tellers(cls, config, dtype):
    """Returns what tells the same biases to each layer; see `parts.Part`."""
    bias = LinearPositionBias(config.num_attention_heads, name="alibi")
    return config.num_hidden_layers * [{"bias": bias}]


@dataclasses.dataclass(eq=False, repr=False)
class _LinearPositionBiasArguments(layer.Arguments):
  num_heads: int


class LinearPositionBias(_LinearPositionBiasArguments, layer.Layer):
  """Biases of attention that fall with the distance, on both sides alike.

  The bias of head n is -slope_n * distance. The slopes are a geometric series
  from 2^(-8 / N) on, for a number of heads N that is a power of two; for
  another, those of the power below and every other one of twice as many.

  Args:
    num_heads: int, N.
    **kwargs: of `keras.layers.Layer`.

  Source: Press et al. 2022, section 3 and its code for the slopes; Portes et
  al. 2023 (MosaicBERT), section 3.1, for encoders.
  """

  # Positions stay integers: bfloat16 does not hold all above 256.
  of_keras = {"autocast": False}

  def call(self, hidden, position_ids=None):
    """Returns the biases, float32 [B or 1, N, L, L].

    Args:
      hidden: float [B, L, H], of which only L is read.
      position_ids: int [B, L]; None means the places in the row.
    """
    if position_ids is None:
      position_ids = ops.arange(ops.shape(hidden)[1])[None]
    return self._biases(position_ids, position_ids)

  def extend(self, own, places):
    """Returns the biases of the last tokens of texts, float32 [R, N, Q, S].

    Args: as of `RotaryEmbedding.extend`.
    """
    return self._biases(own, places)

  def _biases(self, rows, columns):
    """Returns the biases [B, N, Q, S] of places [B, Q] and [B, S]."""
    rows, columns = (ops.cast(x, "int32") for x in (rows, columns))
    distances = ops.abs(columns[:, None, :] - rows[:, :, None])
    slopes = ops.convert_to_tensor(_slopes(self.num_heads), "float32")
    return -slopes[:, None, None] * ops.cast(distances, "float32")[:, None]


def _slopes(num_heads):
  """Returns the slope of each head, list of float."""
  power = 2 ** int(math.log2(num_heads))
  slopes = [2 ** (-8 * (n + 1) / power) for n in range(power)]
  if power < num_heads:
    slopes += _slopes(2 * power)[::2][: num_heads - power]
  return slopes
