"""Splits texts into the words of byte-level byte-pair encoding, in graph ops.

Axes: B texts, N bytes and C characters of all texts, M with their end markers,
W words.
"""

import functools
import unicodedata

import numpy as np
import tensorflow as tf

from keras_bert_impl.tokenizers.formats import characters
from keras_bert_impl.tokenizers.graph import alignment

# Classes of characters; _END follows each text.
_OTHER, _LETTER, _NUMBER, _SPACE, _BLANK, _END = range(6)
NUM_CODE_POINTS = 0x110000
_PAGE = 256
# These make a word with the apostrophe before them.
_SHORT_ENDINGS = ("s", "t", "m", "d")
_LONG_ENDINGS = ("re", "ve", "ll")


@functools.cache
def character_classes():
  """Returns the class of every code point, in two tables.

  Returns:
    as `paged`.
  """
  classes = np.full(NUM_CODE_POINTS + _PAGE, _OTHER, np.int32)
  kinds = {"L": _LETTER, "N": _NUMBER}
  for code in range(NUM_CODE_POINTS):
    classes[code] = kinds.get(unicodedata.category(chr(code))[0], _OTHER)
  classes[list(characters.SPACES)] = _SPACE
  classes[ord(" ")] = _BLANK
  classes[NUM_CODE_POINTS] = _END
  return paged(classes)


def paged(values):
  """Returns a value of every code point in two tables.

  Args:
    values: int32 array [code points], a whole number of pages.

  Returns:
    (pages, page_of): int32 [P * _PAGE], the values in each of P unique pages of
    _PAGE code points; int32 [code points / _PAGE], index of the page for each
    _PAGE code points. Both are arrays.
  """
  pages, page_of = np.unique(
    values.reshape(-1, _PAGE), axis=0, return_inverse=True
  )
  return pages.reshape(-1), page_of.reshape(-1).astype(np.int32)


def of_codes(codes, pages, page_of):
  """Returns the values of code points, int32 tensor, in tables of `paged`."""
  page = tf.gather(page_of, codes // _PAGE)
  return tf.gather(pages, page * _PAGE + codes % _PAGE)


def split(texts, pages, page_of):
  """Returns the words of texts, as the pattern of GPT-2 splits them.

  Args:
    texts: string [B].
    pages: int32, the first table of `character_classes`.
    page_of: int32, the second one.

  Returns:
    (words, num_words): int32 RaggedTensor [W, (bytes)], the bytes of each word;
    int64 [B], the number of words of each text.
  """
  codes, offsets = tf.strings.unicode_decode_with_offsets(
    texts, "UTF-8", errors="replace"
  )
  rows = alignment.rows_of(codes)  # [C], the text of each character
  # Flat tensors: TensorFlow needs half a second to trace concatenations and
  # sums of ragged ones.
  places = tf.range(tf.size(rows)) + rows  # An end follows each text.
  codes = tf.tensor_scatter_nd_update(
    tf.fill([tf.size(rows) + tf.size(texts)], NUM_CODE_POINTS),
    places[:, tf.newaxis],
    codes.flat_values,
  )  # [M]
  is_start = tf.gather(_begins_word(codes, pages, page_of), places)  # [C]
  num_words = tf.math.unsorted_segment_sum(
    tf.cast(is_start, tf.int64), rows, tf.size(texts)
  )
  text_starts = tf.cumsum(tf.strings.length(texts), exclusive=True)
  offsets = tf.cast(offsets.flat_values, tf.int32)
  offsets += tf.gather(text_starts, rows)
  starts = tf.gather(offsets, tf.where(is_start)[:, 0])  # [W]
  joined = tf.io.decode_raw(tf.strings.reduce_join(texts), tf.uint8)  # [N]
  words = tf.RaggedTensor.from_row_starts(
    tf.cast(joined, tf.int32), tf.cast(starts, tf.int64), validate=False
  )
  return words, num_words


def _begins_word(codes, pages, page_of):
  """Returns bool [M], whether a word begins at each character.

  RE2 lacks the lookahead of GPT-2's pattern, and invalid UTF-8 must be kept, so
  the neighbours of a character decide. Letters, numbers or other characters in
  a row are a word, with one space before them. White space is a word of its
  own; before text, its last character, unless it is that space, is another
  word. 's, 't, 're, 've, 'm, 'll and 'd are words unless the apostrophe belongs
  to the characters before it.

  Args:
    codes: int32 [M], code points, with NUM_CODE_POINTS after each text.
      Invalid UTF-8 counts as a symbol.
    pages: int32, the first table of `character_classes`.
    page_of: int32, the second one.

  Source: Radford et al. 2019; openai/gpt-2, encoder.py.
  """
  kind = of_codes(codes, pages, page_of)  # [M]
  before, after = tf.roll(kind, 1, 0), tf.roll(kind, -1, 0)
  opens = (
    (codes == ord("'")) & (before != _OTHER) & (before != _BLANK)
  )  # [M], apostrophes that can begin 's, 't, ...
  first, second = tf.roll(codes, -1, 0), tf.roll(codes, -2, 0)
  is_short = opens & _any(first == ord(e) for e in _SHORT_ENDINGS)
  is_long = opens & _any(
    (first == ord(e[0])) & (second == ord(e[1])) for e in _LONG_ENDINGS
  )
  in_ending = tf.roll(is_short | is_long, 1, 0)
  after_ending = tf.roll(is_short, 2, 0) | tf.roll(is_long, 3, 0)
  begins = (kind != before) & (before != _BLANK) & ~in_ending
  # The first of white space and, if text follows, the last.
  begins_space = ~_is_space(before) | ~(_is_space(after) | (after == _END))
  begins = tf.where(_is_space(kind), begins_space, begins | after_ending)
  return begins & (kind != _END)


def _is_space(kind):
  return (kind == _SPACE) | (kind == _BLANK)


def _any(conditions):
  return functools.reduce(tf.logical_or, conditions)
