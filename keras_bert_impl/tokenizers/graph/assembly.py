"""Assembles token ids into the inputs of an encoder, in graph ops.

Axes: B texts, L ids of the longest sequence of the batch, V vocabulary.
"""

import functools

import tensorflow as tf

from keras_bert_impl import calls, features
from keras_bert_impl.tokenizers.formats import vocabularies
from keras_bert_impl.tokenizers.graph import alignment

WORD_IDS = "word_ids"
_PADDING = 3  # its segment
PADDINGS = ("longest", "max_length")


@functools.partial(calls.checked, rules={})
def assemble(
  texts,
  vocabulary,
  framing,
  max_seq_length=None,
  padding="longest",
  truncation=True,
  with_word_ids=False,
  pads_left=False,
):
  """Adds special tokens and padding to ids: the inputs of an encoder.

  [CLS] A [SEP] or [CLS] A [SEP] B [SEP], or as `framing` says. A sequence that
  is too long loses tokens one by one from the end of the longer text, or of B
  where both are equally long. With a tokenizer.json, what remains of a pair is
  as in the `tokenizers` library: where both are cut to an odd number, B has one
  more, unless A was longer.

  Args:
    texts: list of one or two int32 RaggedTensor [B, (pieces)], A and B.
    vocabulary: `Vocabulary`, which names the special tokens.
    framing: `families.family.Framing`.
    max_seq_length: int, L at most, special tokens included; None: no limit.
    padding: "longest", to the longest of the batch; or "max_length", to
      max_seq_length, which is then L in the static shape.
    truncation: bool, whether to cut sequences that are too long; otherwise
      they are an error when the batch is made.
    with_word_ids: bool, whether to return word_ids, which no model takes.
    pads_left: bool, whether padding comes before the tokens, of segment 3 if
      `framing` has segments.

  Returns:
    {name: int32 [B, L]}: input_ids; input_mask, 1 for a token and 0 for
    padding; segment_ids, 1 for B and its [SEP] if `framing` has segments;
    on request word_ids, the number of each piece's word, from 0 in A and in
    B, -1 for special tokens and padding.

  Raises:
    ValueError: max_seq_length leaves no room for a piece of each text or is
      missing, or the numbers of texts and pairs differ.
  """
  num_special = num_special_tokens(framing, len(texts))
  _check_numbers(texts)
  length = _padded_length(padding, max_seq_length)
  if max_seq_length is not None:
    if max_seq_length < num_special + len(texts):
      raise ValueError(
        f"max_seq_length ({max_seq_length}) must be at least "
        f"{num_special + len(texts)}: {num_special} special tokens and one "
        "of each text."
      )
    if truncation:
      odd_token = vocabulary.odd_token
      texts = _truncate(texts, max_seq_length - num_special, odd_token)
    else:
      _check_lengths(texts, max_seq_length - num_special)
  ids = _framed(texts, vocabulary.frame_ids(framing), framing)
  shape = [ids.shape[0], length]
  input_mask = tf.ones_like(ids).to_tensor(0, shape=shape)
  # GPT-2's vocabulary, whose texts have no frame, has no padding either.
  padding = vocabulary.pad_id if framing.roles else 0
  inputs = {
    features.INPUT_IDS: ids.to_tensor(padding, shape=shape),
    features.INPUT_MASK: input_mask,
    features.SEGMENT_IDS: _segment_ids(texts, input_mask, framing),
  }
  if with_word_ids:
    words = [word_ids(text, vocabulary.is_continuation) for text in texts]
    words = _framed(words, dict.fromkeys(framing.roles, -1), framing)
    inputs[WORD_IDS] = words.to_tensor(-1, shape=shape)
  if pads_left:
    inputs[features.SEGMENT_IDS] += (
      _PADDING * framing.segments * (1 - input_mask)
    )
    inputs = to_left(inputs)
  return inputs


def to_left(inputs):
  """Moves the padding at the end of rows to their beginning.

  Args:
    inputs: {name: int32 [..., L]}, `input_mask` among them.

  Returns:
    The same; a row without padding at its end stays as it is.
  """
  mask = inputs[features.INPUT_MASK]
  length = tf.shape(mask)[-1]
  place = tf.range(length)
  num_tokens = tf.reduce_max(mask * (place + 1), axis=-1, keepdims=True)
  source = tf.math.floormod(place + num_tokens, tf.maximum(length, 1))
  return {
    name: tf.gather(values, source, batch_dims=mask.shape.rank - 1)
    for name, values in inputs.items()
  }


def num_special_tokens(framing, num_texts=1):
  """Returns the number of special tokens around a text or a pair, int."""
  return len(framing.template(num_texts)) - num_texts


def word_ids(ids, is_continuation):
  """Returns the number of each piece's word in its row, from 0.

  Args:
    ids: int32 RaggedTensor [B, (pieces)]; a special token is a word.
    is_continuation: boolean [V], whether a token continues a word.

  Returns:
    int32 RaggedTensor [B, (pieces)].
  """
  is_continuation = tf.constant(is_continuation)
  is_start = ~tf.gather(is_continuation, ids.flat_values)
  # The first piece of a row begins a word, even if it continues one.
  first = tf.boolean_mask(ids.row_starts(), ids.row_lengths() > 0)
  is_start = tf.tensor_scatter_nd_update(
    is_start, first[:, tf.newaxis], tf.ones_like(first, tf.bool)
  )
  # Exclusive sum over the batch; without the row's offset it counts the words
  # that started earlier in the row.
  started = tf.concat([[0], tf.cumsum(tf.cast(is_start, tf.int32))], 0)
  offsets = tf.gather(started, ids.row_starts())
  counts = started[1:] - alignment.spread(offsets, ids)
  return ids.with_flat_values(counts - 1)


def _framed(texts, values, framing):
  """Returns texts with special tokens, int32 RaggedTensor [B, (tokens)].

  Args:
    texts: list of one or two int32 RaggedTensor [B, (pieces)], ids or others.
    values: {role: int}, what stands for the special tokens.
    framing: `families.family.Framing`.
  """
  num_rows = texts[0].nrows(out_type=tf.int32)
  parts = {role: tf.fill([num_rows, 1], x) for role, x in values.items()}
  parts |= dict(zip("AB", texts, strict=False))
  template = framing.template(len(texts))
  return tf.concat([parts[name] for name, _ in template], axis=1)


def _segment_ids(texts, input_mask, framing):
  """Returns int32 [B, L], the segment ids of `framing`.

  Args:
    texts: as `_framed`.
    input_mask: int32 [B, L].
    framing: `families.family.Framing`.
  """
  template = framing.template(len(texts))
  if not any(segment for _, segment in template):
    return tf.zeros_like(input_mask)
  lengths = dict(zip("AB", (t.row_lengths() for t in texts), strict=False))
  end, size = 0, tf.shape(input_mask)[1]
  segment_ids, before = tf.zeros_like(input_mask), 0
  # Where the segment id rises, everything from there on to the padding rises.
  for name, segment in template:
    if segment > before:
      rise = input_mask - tf.sequence_mask(end, size, tf.int32)
      segment_ids += (segment - before) * rise
      before = segment
    end += lengths.get(name, tf.ones_like(lengths["A"]))
  return segment_ids


def _check_numbers(texts):
  """Raises ValueError if the numbers of texts and pairs differ."""
  numbers = [text.shape[0] for text in texts]
  if None not in numbers and len(set(numbers)) > 1:
    raise ValueError(
      f"{numbers[0]} texts have {numbers[1]} text_pairs: each text needs one."
    )


def _check_lengths(texts, max_tokens):
  """Fails, in the graph, if a sequence has more than `max_tokens`."""
  longest = tf.reduce_max(
    tf.concat([[0], sum(text.row_lengths() for text in texts)], axis=0)
  )
  tf.debugging.assert_less_equal(
    longest,
    tf.cast(max_tokens, tf.int64),
    "A sequence has more tokens than max_seq_length leaves room for; raise it,"
    " or cut with truncation=True.",
  )


def _padded_length(padding, max_seq_length):
  """Returns the static L, int, or None if the batch decides it."""
  if padding not in PADDINGS:
    raise ValueError(
      f"padding ({padding!r}) must be one of {', '.join(PADDINGS)}."
    )
  if padding == "longest":
    return None
  if max_seq_length is None:
    raise ValueError("padding to max_length needs max_seq_length.")
  return max_seq_length


def _truncate(texts, max_tokens, odd_token):
  """Truncates one or two ragged [B, (pieces)] to `max_tokens` per row.

  Args:
    texts: list of one or two int32 RaggedTensor [B, (pieces)].
    max_tokens: int.
    odd_token: as `Vocabulary.odd_token`.
  """
  if len(texts) == 1:
    return [texts[0][:, :max_tokens]]
  lengths = [text.row_lengths() for text in texts]
  # What both have at most where both are cut.
  share = tf.cast(max_tokens // 2, tf.int64)
  has_odd = (
    lengths[0] > lengths[1] if odd_token == vocabularies.LONGER else True
  )
  odd = tf.cast(has_odd, tf.int64) * (max_tokens % 2)
  shares = [share + odd, max_tokens - share - odd]
  kept = [
    tf.minimum(length, tf.maximum(share, max_tokens - other))
    for length, other, share in zip(
      lengths, reversed(lengths), shares, strict=True
    )
  ]
  return [_begin(text, count) for text, count in zip(texts, kept, strict=True)]


def _begin(text, counts):
  """Returns the first `counts` [B] tokens of the rows of `text`."""
  places = tf.ragged.range(text.row_lengths()).flat_values
  is_kept = places < alignment.spread(counts, text)
  return tf.RaggedTensor.from_row_lengths(
    tf.boolean_mask(text.flat_values, is_kept), counts, validate=False
  )
