"""Where each piece of a text stands in the text as it was given, in graph ops.

Pieces are looked up in what the normalisation makes of a text, which may be
shorter or longer. So the text is taken as units, each with its number of
characters and the bytes that become of it; and along the bytes run the pieces.

A unit is a character together with what combines with it. What becomes of it is
found by normalising it alone, each different one once. White space is what no
normalisation reaches across: where the units between two blanks do not add up
to what becomes of all of them together, they are one unit.

Axes: B texts, S stretches (what stands between two blanks) of the batch, D
different stretches, U different units, N values of the batch.
"""

from typing import NamedTuple

import tensorflow as tf

from keras_bert_impl.tokenizers import white_space

# Other control characters are deleted or belong to a stretch.
_BLANKS = white_space.pattern(
  (*map(ord, " \t\n\r"), *(c for c in white_space.CODE_POINTS if c >= 0xA0))
)
# What forms one character with that before it: marks, vowels and final
# consonants of Hangul, the half-width sound marks of Katakana.
COMBINING = r"[\pM\x{1160}-\x{11ff}\x{d7b0}-\x{d7ff}\x{ff9e}\x{ff9f}]"
_CHARACTER = "(?s)."
# Stands for bytes that are no UTF-8; no text can have it.
_INVALID = 0xD800


class Units(NamedTuple):
  """What texts consist of, in the order of the text.

  Attributes:
    sizes: int32 RaggedTensor [B, (units)], the bytes without blanks that become
      of each; 0 for a blank, and for what is deleted.
    lengths: int32 RaggedTensor [B, (units)], its characters.
  """

  sizes: tf.RaggedTensor
  lengths: tf.RaggedTensor


def units_of_bytes(texts):
  """Returns the `Units` of texts [B] whose bytes are looked up as they are.

  Bytes that are no UTF-8 are units without characters.
  """
  codes, starts = tf.strings.unicode_decode_with_offsets(
    texts, "UTF-8", errors="replace", replacement_char=_INVALID
  )
  sizes = tf.strings.length(texts)[:, tf.newaxis]
  ends = tf.concat([tf.cast(starts, tf.int32), sizes], axis=1)[:, 1:]
  # A text without bytes has only the end of nothing.
  ends = codes.with_flat_values(ends.flat_values)
  lengths = tf.cast(codes.flat_values != _INVALID, tf.int32)
  return Units(
    ends - tf.cast(starts, tf.int32), codes.with_flat_values(lengths)
  )


def units_of(texts, unit_pattern, look_up):
  """Returns the `Units` of texts that are normalised.

  Args:
    texts: string [B], valid UTF-8.
    unit_pattern: RE2 pattern of a unit, which matches any character at least.
    look_up: function of string [N] that returns their content, string [N]: what
      becomes of each, without blanks.

  Returns:
    `Units`, with a blank of one character after each text.
  """
  texts = tf.strings.regex_replace(texts, _BLANKS, " ")
  stretches = tf.strings.split(texts, sep=" ")  # [B, (stretches)]
  different, index = tf.unique(stretches.flat_values)  # [D], [S]
  found = _units_of_stretches(different, unit_pattern, look_up)
  blanks = tf.ones([tf.size(different), 1], tf.int32)
  found = Units(
    tf.concat([found.sizes, 0 * blanks], axis=1),
    tf.concat([found.lengths, blanks], axis=1),
  )
  index = stretches.with_flat_values(index)
  return Units(*(tf.gather(field, index).merge_dims(1, 2) for field in found))


def _units_of_stretches(stretches, unit_pattern, look_up):
  """Returns the `Units` of stretches [D], as [D, (units)]."""
  units = _split(stretches, unit_pattern)  # [D, (units)]
  different, index = tf.unique(units.flat_values)  # [U]
  found = _take_apart(different, look_up(different))
  index = units.with_flat_values(index)
  found = Units(*(tf.gather(field, index).merge_dims(1, 2) for field in found))
  totals = tf.strings.length(look_up(stretches))  # [D]
  whole = Units(totals, tf.strings.length(stretches, "UTF8_CHAR"))
  # Rows of units, and after them the same stretches as one unit each.
  rows = tf.range(tf.size(totals))
  is_sum = totals == row_sums(found.sizes)
  rows = tf.where(is_sum, rows, rows + tf.size(totals))
  return Units(
    *(
      tf.gather(tf.concat([parts, one[:, tf.newaxis]], axis=0), rows)
      for parts, one in zip(found, whole, strict=True)
    )
  )


def _take_apart(units, contents):
  """Returns the `Units` that units [U] with contents [U] are, [U, (units)].

  What stays as it is is as many as it has characters: a mark may be a piece of
  its own.
  """
  is_same = units == contents
  shown = tf.where(is_same, _separate(units), tf.strings.join([units, " "]))
  # Contents have no blanks.
  contents = tf.where(is_same, shown, tf.strings.join([contents, " "]))
  shown, contents = (
    tf.strings.split(each, sep=" ")[:, :-1] for each in (shown, contents)
  )
  return Units(
    contents.with_flat_values(tf.strings.length(contents.flat_values)),
    shown.with_flat_values(tf.strings.length(shown.flat_values, "UTF8_CHAR")),
  )


def _separate(texts, pattern=_CHARACTER):
  """Returns texts with a blank after each match of a pattern."""
  return tf.strings.regex_replace(texts, pattern, r"\0 ")


def _split(stretches, pattern):
  """Returns the matches of a pattern, which matches anything, in stretches."""
  return tf.strings.split(_separate(stretches, pattern), sep=" ")[:, :-1]


def to_characters(begins, stops, units):
  """Returns where pieces stand in texts.

  A piece has all characters of the units that it has a byte of. What has no
  byte begins and ends where the next unit with one begins; at the end of a
  text, where the last one ends.

  Args:
    begins: int32 RaggedTensor [B, (pieces)], the first byte of a piece, in what
      becomes of its text without blanks.
    stops: int32 RaggedTensor [B, (pieces)], the byte after its last one. Both
      may be out of range.
    units: `Units` of the texts.

  Returns:
    (starts, ends), int32 RaggedTensor [B, (pieces)].
  """
  stops_of_units = tf.cumsum(units.sizes.flat_values)
  characters = _before(units.lengths.flat_values)  # [units + 1]
  # Both for one more than there are, which is where no byte is.
  unit_starts, unit_ends = characters, tf.concat([characters[1:], [0]], 0)

  def unit_of(places):
    return tf.searchsorted(stops_of_units, places, side="right")

  splits = units.sizes.row_splits
  text_starts = tf.gather(characters, splits[:-1])  # [B]
  text_bytes = tf.gather(_before(units.sizes.flat_values), splits)  # [B + 1]
  text_ends = tf.where(
    text_bytes[1:] > text_bytes[:-1],
    tf.gather(unit_ends, unit_of(text_bytes[1:] - 1)),
    text_starts,
  )  # [B], of the last unit with a byte

  rows = rows_of(begins)
  first, limit = tf.gather(text_bytes, rows), tf.gather(text_bytes, rows + 1)
  begin, stop = (
    tf.clip_by_value(places.flat_values + first, first, limit)
    for places in (begins, stops)
  )
  starts = tf.where(
    begin < limit,
    tf.gather(unit_starts, unit_of(begin)),
    tf.gather(text_ends, rows),
  )
  ends = tf.where(begin < stop, tf.gather(unit_ends, unit_of(stop - 1)), starts)
  shift = tf.gather(text_starts, rows)
  return (
    begins.with_flat_values(starts - shift),
    begins.with_flat_values(ends - shift),
  )


def row_sums(ragged):
  """Returns the sum of each row."""
  sums = tf.gather(_before(ragged.flat_values), ragged.row_splits)
  return sums[1:] - sums[:-1]


def running_sums(ragged):
  """Returns the sum of each value and of those before it in its row."""
  values = ragged.flat_values
  before = tf.gather(_before(values), ragged.row_splits)
  return ragged.with_flat_values(
    tf.cumsum(values) - tf.gather(before, rows_of(ragged))
  )


def rows_of(ragged):
  """Returns the row of each value, int32 [N]."""
  # Differs from `value_rowids`, whose memory is rows times the longest row.
  splits = tf.cast(ragged.row_splits, tf.int32)
  places = tf.range(splits[-1])
  return tf.searchsorted(splits, places, side="right") - 1


def _before(values):
  """Returns the sums of what stands before each of values [N], and of all."""
  return tf.concat([[0], tf.cumsum(values)], axis=0)
