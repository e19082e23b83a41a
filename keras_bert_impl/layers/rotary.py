"""Rotary position embeddings: queries and keys turned by their positions."""

import functools

import keras
import numpy as np
from keras import ops

from keras_bert_impl.layers import attention, kernels
from keras_bert_impl.layers import base as base_lib


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class RotaryEmbedding(base_lib.Layer):
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

  def __init__(self, head_size, base=10000.0, **kwargs):
    # Positions stay float32: bfloat16 does not hold all integers above 256.
    super().__init__(autocast=False, **kwargs)
    if head_size % 2:
      raise ValueError(f"head_size ({head_size}) of {self.name} must be even.")
    self.head_size = head_size
    self.base = base

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

  def compute_output_spec(self, hidden, position_ids=None):
    """Returns the shape and dtype of `call`."""
    batch = 1 if position_ids is None else hidden.shape[0]
    shape = (batch, hidden.shape[1], 1, 2 * self.head_size)
    return keras.KerasTensor(shape, "float32")


def split_heads(projections, num_heads, rotary, training):
  """Returns query, key and value by head, query and key rotated.

  Args:
    projections: tuple of query, key and value, float [B, L, H].
    num_heads: int, N.
    rotary: float [B or 1, L, 1, 2 D], of `RotaryEmbedding`; None rotates
      nothing.
    training: bool, whether there will be a gradient.

  Returns:
    tuple of float [B, N, L, D].

  Raises:
    ValueError: as `turn`.
  """
  if rotary is None:
    return tuple(attention.split_heads(x, num_heads) for x in projections)
  arrange = _turned_heads(num_heads)
  return kernels.arrange(arrange, projections, (rotary,), training)


# Cached, because `kernels.arrange` compiles a program for each function object.
@functools.cache
def _turned_heads(num_heads):
  def arrange(query, key, value, rotary):
    query, key = (turn(x, rotary, num_heads) for x in (query, key))
    return tuple(
      attention.split_heads(x, num_heads) for x in (query, key, value)
    )

  return arrange


def turn(x, rotary, num_heads):
  """Returns queries or keys, rotated by the angles of their positions.

  Args:
    x: float [B, L, H].
    rotary: float [B or 1, L, 1, 2 D], of `RotaryEmbedding`.
    num_heads: int, N.

  Returns:
    `x`'s shape and dtype.

  Raises:
    ValueError: the angles are those of heads of another size.
  """
  shape, head_size = ops.shape(x), x.shape[-1] // num_heads
  if rotary.shape[-1] != 2 * head_size:
    raise ValueError(
      f"head_size ({rotary.shape[-1] // 2}) of RotaryEmbedding must be that of"
      f" the attention ({head_size}): hidden size / num_heads."
    )
  heads = ops.reshape(x, (*shape[:-1], num_heads, head_size))
  first, second = ops.split(ops.cast(heads, "float32"), 2, axis=-1)
  table = sum(ops.split(ops.cast(rotary, "float32"), 2, axis=-1))
  cosine, sine = ops.split(table, 2, axis=-1)
  halves = [first * cosine - second * sine, second * cosine + first * sine]
  turned = ops.cast(ops.concatenate(halves, axis=-1), x.dtype)
  return ops.reshape(turned, shape)
