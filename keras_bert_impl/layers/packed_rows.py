"""Rows that hold several texts: what each token sees, and its position."""

from keras import ops


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
