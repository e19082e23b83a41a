"""What each position of a row sees, also where rows hold several texts."""

from keras import ops

# Added to the scores of positions that are not seen; finite in every dtype, so
# that a row whose positions are all masked (padding in a packed batch) gives no
# NaN.
_UNSEEN = -3e4


def structure(input_mask, sequence_ids=None):
  """Returns what the positions of a row see, and where in a text they are.

  In a packed row a token sees the tokens of its own text only, and positions
  are counted from 0 in every text. Padding is a text of its own, which no token
  of another sees.

  Args:
    input_mask: int [B, L], 1 for a token and 0 for padding.
    sequence_ids: int [B, L], the same for the tokens of a text: 1, 2, ..., and
      0 for padding. None: a row is one text.

  Returns:
    attention_mask: `input_mask`; or bool [B, L, L], from each position to each.
    position_ids: None, which means the places in the row; or int32 [B, L].
  """
  if sequence_ids is None:
    return input_mask, None
  is_same = ops.equal(sequence_ids[:, :, None], sequence_ids[:, None, :])
  place = ops.cumsum(ops.ones_like(sequence_ids), axis=1)  # [B, L]
  is_earlier = ops.less(place[:, None, :], place[:, :, None])
  earlier = ops.cast(ops.logical_and(is_same, is_earlier), "int32")
  return is_same, ops.sum(earlier, axis=-1)


def bias(attention_mask, length, use_causal_mask=False):
  """Returns what is added to the scores of attention, None for nothing.

  Args:
    attention_mask: bool or int, true where a position may be seen: [B, L] or
      [B, L, L], from each position to each; or None.
    length: int or scalar tensor, L.
    use_causal_mask: bool, whether a position sees only itself and those before
      it.

  Returns:
    float32 [B or 1, 1, 1 or L, L]: 0 where a position is seen.
  """
  seen = None
  if attention_mask is not None:
    seen = ops.cast(attention_mask, "bool")
    seen = ops.expand_dims(seen, (1, 2) if len(seen.shape) == 2 else 1)
  if use_causal_mask:
    position = ops.arange(length)
    causal = position[None, :] <= position[:, None]  # [L, L]
    seen = causal[None, None] if seen is None else seen & causal
  return None if seen is None else ops.where(seen, 0.0, _UNSEEN)
