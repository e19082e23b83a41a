"""Rotary position embeddings: queries and keys turned by their positions."""

import keras
import numpy as np
from keras import ops

from keras_bert_impl.layers import attention, kernels
from keras_bert_impl.layers import base as base_lib


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class RotaryEmbedding(base_lib.Layer):
  """Rotary position embedding (RoPE): the angles of each position.

  `SelfAttention` turns the halves of a head into each other by them, so that a
  score depends on the distance of two positions.

  Args:
    head_size: int, D, even.
    base: float, about the ratio of the longest wave length to the shortest.
    **kwargs: of `keras.layers.Layer`.

  Raises:
    ValueError: an odd `head_size`.

  Source: Su et al. 2021 (RoFormer), section 3.2.
  """

  def __init__(self, head_size, base=10000.0, **kwargs):
    # In float32 under any policy: bfloat16 has no integers above 256.
    super().__init__(autocast=False, **kwargs)
    if head_size % 2:
      raise ValueError(f"head_size ({head_size}) of {self.name} must be even.")
    self.head_size = head_size
    self.base = base

  def call(self, hidden, position_ids=None):
    """Returns the cosines and sines of all angles, float32 [B or 1, L, 1, 2 D].

    They are the sum of both halves: a layer that gets them in bfloat16, because
    Keras casts all inputs, has the first 8 bits in one and more in the other.

    Args:
      hidden: float [B, L, H], only for L.
      position_ids: int [B, L]; None means the places in the row.
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

  def compute_output_spec(self, hidden, position_ids=None):
    """Returns the shape and dtype of `call`."""
    batch = 1 if position_ids is None else hidden.shape[0]
    shape = (batch, hidden.shape[1], 1, 2 * self.head_size)
    return keras.KerasTensor(shape, "float32")


def split_heads(projections, num_heads, rotary, training):
  """Returns query, key and value by head, [B, N, L, D], the first two turned.

  Args:
    projections: tuple of query, key and value, float [B, L, H].
    num_heads: int, N.
    rotary: float [B or 1, L, 1, 2 D], of `RotaryEmbedding`; or None.
    training: bool, whether there will be a gradient.
  """
  if rotary is None:
    return tuple(attention.split_heads(x, num_heads) for x in projections)
  return kernels.arrange(_turned_heads, projections, (rotary,), training)


def _turned_heads(query, key, value, rotary):
  num_heads = query.shape[-1] // (rotary.shape[-1] // 2)
  return tuple(
    attention.split_heads(x, num_heads)
    for x in (turn(query, rotary), turn(key, rotary), value)
  )


def turn(x, rotary):
  """Returns queries or keys [B, L, H], turned by `rotary`, as `split_heads`."""
  shape = ops.shape(x)
  heads = ops.reshape(x, (*shape[:-1], -1, rotary.shape[-1] // 2))
  first, second = ops.split(ops.cast(heads, "float32"), 2, axis=-1)
  table = sum(ops.split(ops.cast(rotary, "float32"), 2, axis=-1))
  cosine, sine = ops.split(table, 2, axis=-1)
  halves = [first * cosine - second * sine, second * cosine + first * sine]
  turned = ops.cast(ops.concatenate(halves, axis=-1), x.dtype)
  return ops.reshape(turned, shape)
