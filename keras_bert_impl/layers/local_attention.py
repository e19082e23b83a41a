"""Local (sliding window) attention: each position sees only those near it.

A row is cut into blocks as long as the window. The queries of a block meet the
keys of two blocks: of their own, and of half a block on either side. So scores
and time grow with the length of a row, not with its square.

Axes, besides those of `layers`: W positions of a block, S blocks of a row.

Source: Beltagy et al. 2020 (Longformer), section 3.1; Warner et al. 2024
(ModernBERT), section 2.1.2.
"""

import functools

from keras import ops

from keras_bert_impl.layers import attention, kernels
from keras_bert_impl.layers import rotary as rotary_lib


def check(layer, position_bias=None):
  """Checks that a layer of attention can have its window.

  Args:
    layer: `SelfAttention`.
    position_bias: as of its `call`.

  Raises:
    ValueError: the window is no integer of at least 2, or there are scores
      besides those of queries and keys, which a window has no place for.
  """
  window = layer.window
  if window is None:
    return
  if not isinstance(window, int) or window < 2:
    raise ValueError(
      f"window ({window!r}) of {layer.name} must be an integer of at least 2,"
      " or None, with which all positions are seen."
    )
  if layer.disentangled is not None or position_bias is not None:
    raise ValueError(
      f"window ({window}) of {layer.name} must be None with disentangled"
      " attention or a position_bias."
    )


def attend(
  layer, projections, attention_mask, rotary, drop, return_scores, training
):
  """Returns the result of `SelfAttention.call` for a layer with a window.

  A position of a mask [B, L] that sees nothing, such as padding far from all
  tokens, gets the mean of the row's values.

  Args:
    layer: `SelfAttention`, for its sizes.
    projections: tuple of query, key and value, float [B, L, H].
    attention_mask: as of `SelfAttention.call`; None: all may be seen.
    rotary: as of `SelfAttention.call`.
    drop: callable, dropout of the probabilities; see `Dropout.drawn`.
    return_scores: bool, whether to return all probabilities, [B, N, L, L].
    training: bool, whether there will be a gradient.

  Returns:
    The context, float [B, L, H]; with `return_scores` a tuple of it and the
    probabilities, before dropout.
  """
  shape, half = ops.shape(projections[0]), layer.window // 2
  length, direction = shape[1], layer.causal_direction
  # Two blocks have as many scores as the whole row.
  is_short = isinstance(length, int) and length <= 4 * half
  whole = is_short or return_scores
  if whole:
    seen = _band(attention_mask, length, half, direction)
    query, key, value = rotary_lib.split_heads(
      projections, layer.num_heads, rotary, training
    )
  else:
    seen = _seen_in_blocks(attention_mask, shape, half, direction)
    others = () if rotary is None else (rotary,)
    query, key, value = kernels.arrange(
      _heads_in_blocks(half, layer.num_heads), projections, others, training
    )
  rows = attention.rows(query, seen, None, None)
  context, probs = attention.attend(rows, key, value, drop)

  def as_rows(x):  # [B S, W, ...] -> [B, L, ...]
    if whole:
      return x
    padded = length + _fill(length, 2 * half)
    return ops.reshape(x, (shape[0], padded, x.shape[-1]))[:, :length]

  context = as_rows(attention.merge_heads(context))
  if attention_mask is not None and len(attention_mask.shape) == 2:
    sees_any = as_rows(ops.any(seen, axis=-1, keepdims=True))
    mean = ops.mean(projections[2], axis=1, keepdims=True)
    context = ops.where(sees_any, context, mean)
  return (context, probs) if return_scores else context


# Cached, because `kernels.arrange` compiles a program for each function object.
@functools.cache
def _heads_in_blocks(half, num_heads):
  """Returns a function that splits query, key and value by block and head.

  It takes them as [B, L, H] and perhaps the angles of `RotaryEmbedding`, turns
  query and key by these, and returns [B S, N, W or 2 W, D].
  """

  def arrange(query, key, value, *rotary):
    if rotary:
      query, key = (
        rotary_lib.turn(x, *rotary, num_heads) for x in (query, key)
      )
    return tuple(
      attention.split_heads(x, num_heads)
      for x in (
        _blocks(query, 2 * half),
        _neighbourhoods(key, half),
        _neighbourhoods(value, half),
      )
    )

  return arrange


def _band(attention_mask, length, half, direction):
  """Returns which positions each one of a row sees, bool [B or 1, L, L]."""
  place = ops.arange(length)
  near = _is_near(place[None, :] - place[:, None], half, direction)[None]
  if attention_mask is None:
    return near
  return near & attention.whole_mask(attention_mask)


def _seen_in_blocks(attention_mask, shape, half, direction):
  """Returns which of its neighbourhood a position sees, bool [B S, W, 2 W]."""
  size = 2 * half
  distance = ops.arange(2 * size)[None, :] - half - ops.arange(size)[:, None]
  near = _is_near(distance, half, direction)
  if attention_mask is None:
    attention_mask = ops.ones(shape[:2], "bool")
  if attention.is_of_texts(attention_mask):
    # From 1 on, as what is before and after the row is 0.
    texts = ops.squeeze(attention_mask, -1) + 1
    own = _blocks(texts, size)[:, :, None]
    return near & ops.equal(own, _neighbourhoods(texts, half)[:, None])
  attention_mask = ops.cast(attention_mask, "bool")
  if len(attention_mask.shape) == 2:
    return near & _neighbourhoods(attention_mask, half)[:, None]
  return near & _diagonal(attention_mask, half)


def _is_near(distance, half, direction):
  """Returns whether a position sees another one at that distance, bool."""
  first = 0 if direction == "right_to_left" else -half
  last = 0 if direction == "left_to_right" else half
  return (distance >= first) & (distance <= last)


def _pad(x, axis, before, after):
  """Returns `x` with zeros before and after it on an axis."""
  padding = [[0, 0] for _ in x.shape]
  padding[axis] = [before, after]
  return ops.pad(x, padding)


def _fill(length, size):
  """Returns how many positions of padding make a row one of whole blocks."""
  return -(-length // size) * size - length


def _blocks(x, size):
  """[B, L, ...] -> [B S, W, ...], padded."""
  _, length, *rest = ops.shape(x)
  x = _pad(x, 1, 0, _fill(length, size))
  return ops.reshape(x, (-1, size, *rest))


def _neighbourhoods(x, half):
  """[B, L, ...] -> [B S, 2 W, ...]: each block, and half of one around it."""
  batch, length, *rest = ops.shape(x)
  size, fill = 2 * half, _fill(length, 2 * half)
  x = _pad(x, 1, half, fill + half)
  # Not -1, which TensorFlow cannot infer for a batch of no rows.
  num_blocks = (length + fill) // size + 1
  x = ops.reshape(x, (batch, num_blocks, size, *rest))  # [B, S + 1, W, ...]
  x = ops.concatenate([x[:, :-1], x[:, 1:]], axis=2)
  return ops.reshape(x, (-1, 2 * size, *rest))


def _diagonal(x, half):
  """[B, L, L] -> [B S, W, 2 W]: for each block, its neighbourhood's columns."""
  batch, length, _ = ops.shape(x)
  size, fill = 2 * half, _fill(length, 2 * half)
  x = _pad(_pad(x, 1, 0, fill), 2, half, fill + half)
  _, rows, columns = ops.shape(x)
  blocks = rows // size
  # The columns of each block begin W further right than those of the block
  # before. With W zeros after each block, and read row after row, they all
  # begin at 0.
  x = _pad(ops.reshape(x, (batch, rows * columns)), 1, 0, rows)
  x = ops.reshape(x, (batch, blocks, size * columns + size))
  x = ops.reshape(x[:, :, : size * columns], (-1, size, columns))
  return x[:, :, : 2 * size]
