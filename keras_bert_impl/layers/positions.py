"""Sinusoidal position embeddings, positions, and the check of lengths."""

import numpy as np
from keras import ops


def sinusoidal(length, size):
  """Returns the sinusoidal position embeddings of the original Transformer.

  Args:
    length: int, number of positions.
    size: int, E.

  Returns:
    float32 array [length, E]: sine in the even, cosine in the odd columns.

  Source: Vaswani et al. 2017, section 3.5.
  """
  column = np.arange(size)
  frequency = 1.0 / 10000.0 ** (2 * (column // 2) / size)
  angle = np.arange(length)[:, None] * frequency[None, :]
  table = np.where(column % 2 == 0, np.sin(angle), np.cos(angle))
  return table.astype("float32")


def of_tokens(input_ids, input_mask=None):
  """Returns int32 [B, L]: tokens counted from 0 in each row; -1 for padding.

  Args:
    input_ids: int [B, L].
    input_mask: int [B, L], 1 for a token and 0 for padding. None: no padding.
  """
  if input_mask is None:
    input_mask = ops.ones_like(input_ids)
  is_token = ops.cast(input_mask, "int32")
  return ops.cumsum(is_token, axis=1) * is_token - 1


def check_type(position_embedding_type, name):
  """Raises ValueError if there are no position embeddings of that type."""
  if position_embedding_type not in ("learned", "sinusoidal", "none"):
    raise ValueError(
      f"position_embedding_type ({position_embedding_type!r}) of {name} must be"
      " 'learned', 'sinusoidal' or 'none'."
    )


def check_length(length, embeddings):
  """Raises ValueError if sequences are longer than a table of positions.

  Args:
    length: int, L, or None where it is not known.
    embeddings: `Embeddings`, or another layer with the attributes read here;
      of type "none" it has no table.
  """
  if length is None or embeddings.position_embedding_type == "none":
    return
  offset = embeddings.position_offset
  longest = embeddings.max_position_embeddings - offset
  if length > longest:
    raise ValueError(
      f"The sequence length ({length}) must be at most {longest}: "
      f"max_position_embeddings ({embeddings.max_position_embeddings}) less "
      f"position_offset ({offset})."
    )
