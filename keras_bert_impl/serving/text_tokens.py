"""The tokens of raw texts that a model labels, and the pieces it reads.

Axes: B texts, T tokens of all of them, N pieces of all of them.
"""

from typing import NamedTuple

import tensorflow as tf

from keras_bert_impl.tokenizers.graph import alignment, text_words, token_pieces


class TextTokens(NamedTuple):
  """The tokens of B texts, and the pieces that a model reads for them.

  Attributes:
    starts: int32 RaggedTensor [B, (tokens)], the first character of each.
    ends: the same, the character after its last.
    ids: int32 RaggedTensor [B, (pieces)].
    first: int64 [T], the piece whose label is the token's, counted over all
      texts; N for a token without pieces.
  """

  starts: tf.RaggedTensor
  ends: tf.RaggedTensor
  ids: tf.RaggedTensor
  first: tf.Tensor


def read(tokenizer, texts, trained_on):
  """Returns the `TextTokens` of texts, read as in training.

  Args:
    tokenizer: of `tokenizers.load`.
    texts: string [B], UTF-8.
    trained_on: one of `token_pieces.TRAINED_ON`.
  """
  unit = token_pieces.TRAINED_ON[trained_on]
  split = (
    text_words.split_with_offsets
    if unit == token_pieces.WORD
    else text_words.split_characters
  )
  tokens, starts, ends = split(texts)
  if trained_on == token_pieces.TEXT:
    return _group(texts, tokenizer.tokenize_with_offsets(texts), starts, ends)
  pieces = tokenizer.tokenize_tokens(tokens, unit)
  first = _or_none(
    pieces.values.row_starts(), pieces.values.row_lengths() > 0, pieces
  )
  return TextTokens(starts, ends, alignment.merge_rows(pieces), first)


def _group(texts, pieces, starts, ends):
  """Groups the pieces of raw texts into tokens, by their offsets.

  A token is never a part of a piece: one that begins inside the last piece of
  the token before it belongs to that token. The first piece of a token is the
  first with a character of it.

  Args:
    texts: string [B], UTF-8.
    pieces: (ids, starts, ends), of `tokenize_with_offsets`.
    starts: int32 RaggedTensor [B, (tokens)].
    ends: the same.

  Returns:
    `TextTokens`.
  """
  sizes = tf.strings.length(texts, "UTF8_CHAR")
  before = tf.cumsum(sizes, exclusive=True)

  def places(characters):
    """Returns characters [N], counted over all texts."""
    return characters.flat_values + alignment.spread(before, characters)

  ids, begins, stops = pieces
  start, end = places(starts), places(ends)  # [T]
  # Pieces that end before the token are passed over, and so are mere blanks.
  ended = alignment.counts_up_to(places(stops), tf.reduce_sum(sizes) + 1)
  first = tf.gather(ended, start)
  begin = tf.gather(tf.pad(places(begins), [[0, 1]]), first)
  has_pieces = (first < tf.size(ids.flat_values)) & (begin < end)
  is_within = has_pieces[1:] & (begin[1:] < end[:-1])
  is_first = tf.concat([[True], ~is_within], axis=0)[: tf.size(start)]
  is_last = tf.concat([~is_within, [True]], axis=0)[: tf.size(start)]
  return TextTokens(
    _choose(starts, is_first),
    _choose(ends, is_last),
    ids,
    tf.boolean_mask(_or_none(first, has_pieces, ids), is_first),
  )


def _choose(values, is_chosen):
  """Returns the values [B, (tokens)] that are chosen, bool [T]."""
  return tf.ragged.boolean_mask(values, values.with_flat_values(is_chosen))


def _or_none(first, has_pieces, pieces):
  """Returns int64 [T], `first` [T] or, without pieces, their number N."""
  number = tf.size(pieces.flat_values, tf.int64)
  return tf.where(has_pieces, tf.cast(first, tf.int64), number)
