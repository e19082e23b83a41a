"""Local attention: each position sees those near it, and pays for no others.

A row is cut into blocks as long as the window. A block's positions see two
blocks of keys: their own, and half of one on either side. So scores and time
grow with the length of a row, not with its square.

Axes, besides those of `layers`: W positions of a block, S blocks of a row.

Source: Beltagy et al. 2020 (Longformer), section 3.1; Warner et al. 2024
(ModernBERT), section 2.1.2.
"""

import functools

from keras import ops

from keras_bert_impl.layers import attention, kernels
from keras_bert_impl.layers import rotary as rotary_lib


def attend(
  layer, projections, attention_mask, rotary, drop, return_scores, training
):
  """Returns what `SelfAttention.call` does, of a layer with a window.

  A position that sees nothing, such as padding far from all tokens, gets the
  mean of the row.

  Args:
    layer: `SelfAttention`, for its sizes.
    projections: tuple of query, key and value, float [B, L, H].
    attention_mask: bool or int [B, L] or [B, L, L], true where a position may
      be seen; None: all may.
    rotary: as of `SelfAttention.call`.
    drop: callable, dropout of the probabilities; see `Dropout.drawn`.
    return_scores: bool, whether to return all probabilities, [B, N, L, L].
    training: bool, whether there will be a gradient.
  """
  shape, half = ops.shape(projections[0]), layer.window // 2
  length, is_causal = shape[1], layer.use_causal_mask
  # Blocks would have as many scores.
  is_short = isinstance(length, int) and length <= 4 * half
  whole = is_short or return_scores
  if attention_mask is not None:
    attention_mask = ops.cast(attention_mask, "bool")
  if whole:
    seen = _band(attention_mask, length, half, is_causal)
    query, key, value = rotary_lib.split_heads(
      projections, layer.num_heads, rotary, training
    )
  else:
    seen = _seen_in_blocks(attention_mask, shape, half, is_causal)
    others = () if rotary is None else (rotary,)
    query, key, value = kernels.arrange(
      _heads_in_blocks(half, layer.num_heads), projections, others, training
    )
  rows = attention.rows(query, seen, False, None)
  context, probs = attention.attend(rows, key, value, drop)
  context = attention.merge_heads(context)  # [B, L, H] or [B S, W, H]
  sees_any = ops.any(seen, axis=-1, keepdims=True)
  if not whole:
    context, sees_any = (
      ops.reshape(x, (shape[0], -1, x.shape[-1]))[:, :length]
      for x in (context, sees_any)
    )
  if attention_mask is not None and len(attention_mask.shape) == 2:
    mean = ops.mean(projections[2], axis=1, keepdims=True)
    context = ops.where(sees_any, context, mean)
  return (context, probs) if return_scores else context


@functools.cache
def _heads_in_blocks(half, num_heads):
  """Returns the function of query, key and value, [B, L, H], by block and head.

  It returns them as [B S, N, W or 2 W, D], the first two turned.
  """

  def arrange(query, key, value, *rotary):
    if rotary:
      query, key = (rotary_lib.turn(x, *rotary) for x in (query, key))
    return tuple(
      attention.split_heads(x, num_heads)
      for x in (
        _blocks(query, 2 * half),
        _neighbourhoods(key, half),
        _neighbourhoods(value, half),
      )
    )

  return arrange


def _band(attention_mask, length, half, is_causal):
  """Returns what each position of a row sees, bool [B or 1, L, L]."""
  place = ops.arange(length)
  near = _is_near(place[None, :] - place[:, None], half, is_causal)[None]
  if attention_mask is None:
    return near
  if len(attention_mask.shape) == 2:
    attention_mask = attention_mask[:, None]
  return near & attention_mask


def _seen_in_blocks(attention_mask, shape, half, is_causal):
  """Returns what positions see of their neighbourhood, bool [B S, W, 2 W]."""
  size = 2 * half
  distance = ops.arange(2 * size)[None, :] - half - ops.arange(size)[:, None]
  near = _is_near(distance, half, is_causal)
  if attention_mask is None:
    attention_mask = ops.ones(shape[:2], "bool")
  if len(attention_mask.shape) == 2:
    return near & _neighbourhoods(attention_mask, half)[:, None]
  return near & _diagonal(attention_mask, half)


def _is_near(distance, half, is_causal):
  """Returns whether what is that far behind a position is seen by it, bool."""
  return (distance >= -half) & (distance <= (0 if is_causal else half))


def _pad(x, axis, before, after):
  """Returns `x` with zeros before and after it on an axis."""
  padding = [[0, 0] for _ in x.shape]
  padding[axis] = [before, after]
  return ops.pad(x, padding)


def _fill(length, size):
  """Returns how many positions a row lacks for whole blocks."""
  return -(-length // size) * size - length


def _blocks(x, size):
  """[B, L, ...] -> [B S, W, ...], padded."""
  batch, length, *rest = ops.shape(x)
  x = _pad(x, 1, 0, _fill(length, size))
  return ops.reshape(x, (-1, size, *rest))


def _neighbourhoods(x, half):
  """[B, L, ...] -> [B S, 2 W, ...]: each block, and half of one around it."""
  batch, length, *rest = ops.shape(x)
  size = 2 * half
  x = _pad(x, 1, half, _fill(length, size) + half)
  x = ops.reshape(x, (batch, -1, size, *rest))  # [B, S + 1, W, ...]
  x = ops.concatenate([x[:, :-1], x[:, 1:]], axis=2)
  return ops.reshape(x, (-1, 2 * size, *rest))


def _diagonal(x, half):
  """[B, L, L] -> [B S, W, 2 W]: of each block, its neighbourhood's columns."""
  batch, length, _ = ops.shape(x)
  size, fill = 2 * half, _fill(length, 2 * half)
  x = _pad(_pad(x, 1, 0, fill), 2, half, fill + half)
  _, rows, columns = ops.shape(x)
  blocks = rows // size
  # Read row after row, the columns of each block begin W further on than those
  # of the block before: with W zeros behind each block they all begin at 0.
  x = _pad(ops.reshape(x, (batch, rows * columns)), 1, 0, rows)
  x = ops.reshape(x, (batch, blocks, size * columns + size))
  x = ops.reshape(x[:, :, : size * columns], (-1, size, columns))
  return x[:, :, : 2 * size]
