"""Rotary position embeddings: queries and keys turned by their positions."""

import keras
import numpy as np
from keras import ops

from keras_bert_impl.layers import base as base_lib
from keras_bert_impl.layers import kernels


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
    """Returns the cosines and sines of all angles, float32 [B or 1, L, 1, D].

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
    return ops.concatenate([ops.cos(angle), ops.sin(angle)], axis=-1)

  def compute_output_spec(self, hidden, position_ids=None):
    """Returns the shape and dtype of `call`."""
    batch = 1 if position_ids is None else hidden.shape[0]
    shape = (batch, hidden.shape[1], 1, self.head_size)
    return keras.KerasTensor(shape, "float32")


def turn(projections, rotary, training):
  """Returns queries and keys, turned.

  Args:
    projections: tuple of float [B, L, H].
    rotary: float32 [B or 1, L, 1, D], of `RotaryEmbedding`.
    training: bool, whether there will be a gradient.
  """
  batch, length, size = ops.shape(projections[0])
  head_size = rotary.shape[-1]
  heads = (batch, length, size // head_size, head_size)
  return tuple(
    ops.reshape(kernels.turn(ops.reshape(x, heads), rotary, training), x_shape)
    for x, x_shape in ((x, ops.shape(x)) for x in projections)
  )
