"""Scaled dot-product attention: what each position sees, and what it gets.

All positions attend at once, or in chunks, with memory that is linear in L.

`rows` is a dict of what belongs to the R positions that see others, on axis 2:
`query` [B, N, R, D] and perhaps `seen` bool [B, 1, 1 or R, L], or `text` int
[B, 1, R, 1] and `texts` int [B, 1, 1, L] (each sees its own text), `last` or
`first` int [1, 1, R, 1] (the last or first place that each sees: its own),
`position_bias` float [B or 1, N, R, L].

Source: Vaswani et al. 2017, section 3.2.1.
"""

import functools

from keras import ops

from keras_bert_impl.layers.basics import chunks, dropout

# Scores of a batch, 256 MiB: up to so many are kept for rows of any length.
FEW_SCORES = 2**26
CHUNK_SIZE = 512
LONG = 2 * CHUNK_SIZE  # positions, of which all scores are kept at once
# Added to the scores of positions that are not seen; finite in every dtype, so
# that a row whose positions are all masked (padding in a packed batch) gives no
# NaN.
_UNSEEN = -3e4
# The limit in `rows` of each causal direction; see above.
LIMITS = {"left_to_right": "last", "right_to_left": "first"}


def structure(input_mask, sequence_ids=None):
  """Returns mask and positions of rows that may hold several texts.

  In a packed row a token sees the tokens of its own text only, and positions
  are counted from 0 in every text. Padding is a text of its own, which no token
  of another sees.

  Args:
    input_mask: int [B, L], 1 for a token and 0 for padding.
    sequence_ids: int [B, L], the same for the tokens of a text, which are next
      to each other: 1, 2, ..., and 0 for padding. None: a row is one text.

  Returns:
    attention_mask: `input_mask`; or int [B, L, 1], `sequence_ids`, 0 where the
      mask is.
    position_ids: None, which means the places in the row; or int32 [B, L].
  """
  if sequence_ids is None:
    return input_mask, None
  place = ops.cumsum(ops.ones_like(sequence_ids), axis=1)  # [B, L]
  before = ops.pad(sequence_ids[:, :-1], [[0, 0], [1, 0]], constant_values=-1)
  is_first = ops.not_equal(sequence_ids, before)
  number = ops.cumsum(ops.cast(is_first, "int32"), axis=1)  # of the text
  # The first places of all texts, and then others, which are larger.
  first = ops.sort(ops.where(is_first, place, 2**30), axis=1)
  first = ops.take_along_axis(first, number - 1, axis=1)
  # Keras before 3.13 builds no model of an input that nothing reads.
  seen = ops.where(input_mask > 0, sequence_ids, 0)
  return seen[:, :, None], ops.cast(place - first, "int32")


# [B, L, N, D] -> [B, N, L, D].
split_heads = functools.partial(ops.transpose, axes=(0, 2, 1, 3))


def rows(query, attention_mask, direction=None, position_bias=None):
  """Returns the `rows` of the positions of `query` [B, N, L, D]; see above.

  The mask is that of `SelfAttention.call`, the direction that of
  `AttentionKind`, the bias float [B or 1, N, L, L]; or each is None.
  """
  found = {"query": query}
  if position_bias is not None:
    found["position_bias"] = position_bias
  if direction:
    places = ops.arange(ops.shape(query)[2])[None, None, :, None]
    found[LIMITS[direction]] = places
  if attention_mask is None:
    return found
  if len(attention_mask.shape) == 2:
    # LiteRT has no slices that add axes.
    found["seen"] = ops.cast(ops.expand_dims(attention_mask, (1, 2)), "bool")
  elif is_of_texts(attention_mask):
    texts = ops.squeeze(attention_mask, -1)
    found["text"] = texts[:, None, :, None]
    found["texts"] = texts[:, None, None]
  else:
    found["seen"] = ops.cast(attention_mask, "bool")[:, None]
  return found


def attend(
  rows,
  others,
  drop,
  size=None,
  training=False,
  bias=None,
  number=None,
  use_scale=True,
):
  """Returns the context [B, R, H] and the probabilities [B, N, R, L].

  Args:
    rows: dict, see above.
    others: key and value, float [B, N, L, D], and tables that `bias` reads.
    drop: callable, dropout of the probabilities; see `Dropout.drawn`.
    size: int, positions of a chunk: memory is linear in L, and there are no
      probabilities but None. None: all positions attend at once.
    training: bool, whether there will be a gradient.
    bias: callable (number, rows, key, *tables) of what is added to the scores,
      float32 [B or 1, N or 1, R, L] or None, the mask among it. None: `seen`.
    number: int tensor, of the chunk that `rows` are; None: they are all.
    use_scale: bool, whether scores are divided by the root of D.
  """
  if size is not None:

    def context(number, rows, *others):
      return attend(
        rows, others, drop, bias=bias, number=number, use_scale=use_scale
      )[0]

    return in_chunks(context, rows, others, drop, size, training), None
  key, value, *tables = others
  # TensorFlow computes product, scale and mask as one, if the scale comes right
  # before and the mask right behind, in the same dtype.
  query = rows["query"]
  if use_scale:
    query = query * key.shape[-1] ** -0.5
  scores = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2)))
  seen = what_is_seen(rows, ops.shape(key)[2]) if bias is None else None
  if seen is not None:
    scores = scores + ops.cast(ops.where(seen, 0.0, _UNSEEN), scores.dtype)
  scores = ops.cast(scores, "float32")  # [B, N, R, L]
  added = rows.get("position_bias")
  if bias is not None:
    added = bias(number, rows, key, *tables)
  if added is not None:  # Keras casts it with the other inputs.
    scores = scores + ops.cast(added, "float32")
  # Of one position alone it is 1, of which Keras would warn.
  is_one = scores.shape[-1] == 1
  probs = ops.ones_like(scores) if is_one else ops.softmax(scores)
  probs = ops.cast(probs, value.dtype)
  context = split_heads(ops.matmul(drop(probs, number), value))
  batch, num_rows, heads, size = ops.shape(context)
  return ops.reshape(context, (batch, num_rows, heads * size)), probs


def in_chunks(function, rows, others, drop, size, training):
  """Returns the results of `chunks.apply`; keeps few scores for a gradient.

  Args:
    function: as of `chunks.apply`, like the others.
    rows: dict, see above.
    others: list of float tensors.
    drop: as of `attend`.
    size: int, the most positions of a chunk.
    training: bool, whether there will be a gradient.
  """
  batch, num_heads, length, _ = rows["query"].shape
  is_known = None not in (batch, length)
  are_few = is_known and batch * num_heads * length**2 <= FEW_SCORES
  # To attend at once is faster still, but each chunk draws its own dropout: its
  # masks would depend on how a batch is divided.
  if are_few and drop is dropout.keep:
    return function(None, rows, *others)
  return chunks.apply(function, rows, others, size, training and not are_few)


def is_of_texts(attention_mask):
  """Whether a mask is of [B, L, 1]; a single position may be either."""
  return len(attention_mask.shape) == 3 and attention_mask.shape[-1] == 1


def what_is_seen(rows, length):
  """Returns which of L positions `rows` see, bool [B or 1, 1, 1 or R, L]."""
  seen = rows.get("seen")
  if "text" in rows:
    seen = ops.equal(rows["text"], rows["texts"])
  place, causal = ops.arange(length), None
  if "last" in rows:
    causal = place <= rows["last"]  # [1, 1, R, L]
  elif "first" in rows:
    causal = place >= rows["first"]
  if causal is None or seen is None:
    return seen if causal is None else causal
  return seen & causal


def whole_mask(attention_mask):
  """Returns an attention mask, as of `rows`, as bool [B, 1 or L, L]."""
  length = ops.shape(attention_mask)[1]
  return what_is_seen(rows(None, attention_mask), length)[:, 0]
