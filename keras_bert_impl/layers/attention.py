"""Scaled dot-product attention: what each position sees, and what it gets.

All positions attend at once, or in blocks, with memory that is linear in L.

`rows` is a dict of what belongs to the R positions that see others, on axis 2:
`query` [B, N, R, D] and perhaps `seen` bool [B, 1, 1 or R, L], `places` int
[1, 1, R, 1] (each sees itself and what is before it), `position_bias` float
[B or 1, N, R, L].

Source: Vaswani et al. 2017, section 3.2.1.
"""

from keras import ops

from keras_bert_impl.layers import blocks

FEW_SCORES = 2**26  # of a batch, 256 MiB, that are kept whatever the length
_BLOCK_SIZE = 512
_LONG = 2 * _BLOCK_SIZE  # positions, of which all scores are kept at once
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


def block_size(max_positions):
  """Returns the size of blocks for rows of so many positions, None for all."""
  return _BLOCK_SIZE if max_positions > _LONG else None


def check_heads(layer, hidden_size):
  """Raises ValueError unless the heads of an attention layer divide H."""
  if hidden_size % layer.num_heads:
    raise ValueError(
      f"The hidden size ({hidden_size}) of {layer.name} must be a multiple of "
      f"num_heads ({layer.num_heads})."
    )


def split_heads(x, num_heads):
  """Returns [B, N, L, D] of `x` [B, L, H]."""
  batch, length, size = ops.shape(x)
  x = ops.reshape(x, (batch, length, num_heads, size // num_heads))
  return ops.transpose(x, (0, 2, 1, 3))


def merge_heads(x):
  """Returns [B, L, H] of `x` [B, N, L, D]."""
  batch, heads, length, size = ops.shape(x)
  x = ops.transpose(x, (0, 2, 1, 3))
  return ops.reshape(x, (batch, length, heads * size))


def rows(query, attention_mask, use_causal_mask, position_bias):
  """Returns what belongs to each position, see above.

  Args:
    query: float [B, N, L, D].
    attention_mask: bool or int, true where a position may be seen: [B, L] or
      [B, L, L], from each position to each. None: all are seen.
    use_causal_mask: bool, whether a position sees only itself and those before
      it.
    position_bias: float [B or 1, N, L, L], added to the scores; or None.
  """
  places = None
  if use_causal_mask:
    places = ops.arange(ops.shape(query)[2])[None, None, :, None]
  found = {
    "query": query,
    "seen": _expand(attention_mask),
    "places": places,
    "position_bias": position_bias,
  }
  return {name: x for name, x in found.items() if x is not None}


def attend(rows, key, value, drop, size=None, training=False):
  """Returns the context [B, N, L, D] and the probabilities [B, N, L, L].

  Args:
    rows: dict, see above.
    key: float [B, N, L, D].
    value: float [B, N, L, D].
    drop: callable, dropout of the probabilities; see `Dropout.drawn`.
    size: int, for how many positions there are probabilities at a time, so that
      memory is linear in L; they are not returned then, but None. None: for
      all, as where there are few.
    training: bool, whether there will be a gradient.
  """
  batch, num_heads, length, _ = rows["query"].shape
  is_known = None not in (batch, length)
  are_few = is_known and batch * num_heads * length**2 <= FEW_SCORES
  if size is None or are_few:
    return _attend(None, rows, key, value, drop)

  def context(number, rows, key, value):
    return _attend(number, rows, key, value, drop)[0]

  return blocks.apply(context, rows, (key, value), size, training), None


def _attend(number, rows, key, value, drop):
  """Returns `attend` for the rows of a block."""
  # TensorFlow computes product, scale and mask as one, if the scale comes right
  # before and the mask right behind, in the same dtype.
  query = rows["query"] * key.shape[-1] ** -0.5
  scores = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2)))
  length = ops.shape(key)[2]
  bias = _bias(rows.get("seen"), rows.get("places"), length)
  scores = scores if bias is None else scores + ops.cast(bias, scores.dtype)
  scores = ops.cast(scores, "float32")  # [B, N, R, L]
  if "position_bias" in rows:
    scores = scores + rows["position_bias"]
  probs = ops.cast(ops.softmax(scores), value.dtype)
  return ops.matmul(drop(probs, number), value), probs


def _expand(attention_mask):
  """Returns what each position sees, bool [B, 1, 1 or L, L], or None.

  Args:
    attention_mask: as of `rows`.
  """
  if attention_mask is None:
    return None
  seen = ops.cast(attention_mask, "bool")
  return ops.expand_dims(seen, (1, 2) if len(seen.shape) == 2 else 1)


def _bias(seen, places, length):
  """Returns what is added to the scores of attention, None for nothing.

  Args:
    seen: bool [B, 1, 1 or R, L], or None for all.
    places: int [1, 1, R, 1], of positions that see only themselves and those
      before; or None.
    length: int or scalar tensor, L.

  Returns:
    float32 [B or 1, 1, 1 or R, L]: 0 where a position is seen.
  """
  if places is not None:
    causal = ops.arange(length) <= places  # [1, 1, R, L]
    seen = causal if seen is None else seen & causal
  return None if seen is None else ops.where(seen, 0.0, _UNSEEN)
