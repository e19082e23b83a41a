"""Offsets of pieces in the original text, in graph ops.

Pieces are looked up in the normalised text, which may be shorter or longer than
the original. So a text is divided into units; each has its number of characters
and the number of bytes that it is normalised to, along which the pieces lie.

A unit is a character with its combining marks. Each different unit is
normalised once, by itself. No normalisation reaches across white space: where
the units between two blanks do not add up to the normalised whole, they are one
unit together.

Axes: B texts, S stretches (between two blanks) of the batch, D different
stretches, U different units, N values of the batch.
"""

import tensorflow as tf

from keras_bert_impl.tokenizers.formats import characters

# Characters that normalisation may join into one: quotes, and Hangul letters.
# ASCII words without quotes keep one byte per character.
UNIT = (
  r"^[!-&(-_a-~]+$|``|''|[\x{3131}-\x{314e}][\x{314f}-\x{3163}]"
  rf"|(?s).{characters.COMBINING}*"
)
# Replaces bytes that are not UTF-8; no text can contain it.
_INVALID = 0xD800


def units_of_bytes(texts):
  """Returns the units of texts that are not normalised.

  Args:
    texts: string [B]; bytes that are not UTF-8 are units without characters.

  Returns:
    int32 RaggedTensor [B, (units), 2], the bytes and the characters of each.
  """
  codes, starts = tf.strings.unicode_decode_with_offsets(
    texts, "UTF-8", errors="replace", replacement_char=_INVALID
  )
  starts = tf.cast(starts.flat_values, tf.int32)
  sizes = tf.strings.length(texts)
  is_last = tf.concat([starts[1:] == 0, [True]], axis=0)[: tf.size(starts)]
  ends = tf.where(is_last, spread(sizes, codes), tf.roll(starts, -1, axis=0))
  lengths = tf.cast(codes.flat_values != _INVALID, tf.int32)
  return codes.with_flat_values(tf.stack([ends - starts, lengths], axis=1))


def units_of(texts, unit_pattern, look_up, blanks=characters.BLANK):
  """Returns the units of texts that are normalised.

  Args:
    texts: string [B], valid UTF-8.
    unit_pattern: RE2 pattern of a unit; must match any single character.
    look_up: function string [N] -> string [N], normalises units and leaves out
      blanks.
    blanks: RE2 pattern of a character that has no bytes.

  Returns:
    int32 RaggedTensor [B, (units), 2], the normalised bytes and the characters
    of each; with a blank after each text.
  """
  texts = tf.strings.regex_replace(texts, blanks, " ")
  stretches = tf.strings.split(texts, sep=" ")  # [B, (stretches)]
  different, index = tf.unique(stretches.flat_values)  # [D], [S]
  units = _units_of_stretches(different, unit_pattern, look_up)
  blank = tf.tile([[[0, 1]]], [tf.size(different), 1, 1])
  units = tf.concat([units, blank], axis=1)
  return merge_rows(tf.gather(units, stretches.with_flat_values(index)))


def units_with_blanks(texts, look_up):
  """Returns the units of texts whose pieces may have blanks.

  Args:
    texts: string [B], valid UTF-8.
    look_up: function string [N] -> string [N], normalises units.

  Returns:
    int32 RaggedTensor [B, (units), 2], as `units_of`.
  """

  def fill(some):
    # No normalisation tells these from each other; both are one byte.
    return tf.strings.regex_replace(some, " ", "_")

  return _units_of_stretches(
    fill(texts),
    f"(?s).{characters.COMBINING}*",
    lambda units: fill(look_up(units)),
  )


def _units_of_stretches(stretches, unit_pattern, look_up):
  """Returns the units of stretches [D], as `units_of` does."""
  units = _split(_spaced(stretches, unit_pattern))  # [D, (units)]
  num_units = tf.size(units.flat_values)
  different, index = tf.unique(tf.concat([units.flat_values, stretches], 0))
  contents = look_up(different)
  parts = _take_apart(different, contents)  # [U, (units), 2]
  parts = tf.gather(parts, units.with_flat_values(index[:num_units]))
  parts = merge_rows(parts)  # [D, (units), 2]
  whole = tf.stack(
    [
      tf.strings.length(tf.gather(contents, index[num_units:])),
      tf.strings.length(stretches, "UTF8_CHAR"),
    ],
    axis=1,
  )  # [D, 2]
  # Each stretch in its units, and after all of them each as one.
  rows = tf.range(tf.size(stretches))
  is_sum = row_sums(parts)[:, 0] == whole[:, 0]
  rows = tf.where(is_sum, rows, rows + tf.size(stretches))
  return tf.gather(tf.concat([parts, whole[:, tf.newaxis]], axis=0), rows)


def _take_apart(units, contents):
  """Splits `units` [U] with normalised `contents` [U] into [U, (units), 2].

  A unit that normalisation does not change is split into its characters,
  because a mark may be a piece of its own.
  """
  # Not those of one byte each, which `to_characters` does not need split.
  num_characters = tf.strings.length(units, "UTF8_CHAR")
  is_several = (units == contents) & (tf.strings.length(units) > num_characters)
  # Neither has a blank.
  units, contents = (
    _split(tf.where(is_several, _spaced(texts), tf.strings.join([texts, " "])))
    for texts in (units, contents)
  )
  return units.with_flat_values(
    tf.stack(
      [
        tf.strings.length(contents.flat_values),
        tf.strings.length(units.flat_values, "UTF8_CHAR"),
      ],
      axis=1,
    )
  )


def _spaced(texts, pattern="(?s)."):
  """Adds a blank after each match of a pattern in texts."""
  return tf.strings.regex_replace(texts, pattern, r"\0 ")


def _split(texts):
  """Splits texts that end with a blank at their blanks."""
  return tf.strings.split(texts, sep=" ")[:, :-1]


def to_characters(begins, stops, units):
  """Converts byte ranges of pieces in normalised texts to character ranges.

  A piece has all characters of the units that it shares a byte with; of a unit
  with as many bytes as characters, it has the characters of its bytes. A piece
  without bytes starts and ends at the next unit that has bytes or, at the end
  of a text, at the end of the last one.

  Args:
    begins: int32 RaggedTensor [B, (pieces)], the first byte of a piece, in its
      normalised text without blanks.
    stops: int32 RaggedTensor [B, (pieces)], the byte after its last one. Both
      may be out of range.
    units: int32 RaggedTensor [B, (units), 2], bytes and characters.

  Returns:
    (starts, ends), int32 RaggedTensor [B, (pieces)].
  """
  before = _before(units.flat_values)  # [N + 1, 2], with all at the end
  after = tf.concat([before[1:], before[-1:]], axis=0)  # [N + 1, 2]
  sizes = after - before
  is_even = sizes[:, 0] == sizes[:, 1]
  # The unit of each byte of the batch, and one more after the last.
  unit_of = counts_up_to(before[1:, 0], before[-1, 0] + 1)

  def start_at(byte):
    unit = tf.gather(unit_of, byte)
    first, start = tf.unstack(tf.gather(before, unit), axis=1)
    return start + tf.where(tf.gather(is_even, unit), byte - first, 0)

  def end_after(byte):
    unit = tf.gather(unit_of, byte)
    limit, end = tf.unstack(tf.gather(after, unit), axis=1)
    return end - tf.where(tf.gather(is_even, unit), limit - byte - 1, 0)

  texts = tf.gather(before, units.row_splits)  # [B + 1, 2]
  text_bytes, text_starts = texts[:, 0], texts[:-1, 1]
  has_bytes = text_bytes[1:] > text_bytes[:-1]
  text_ends = tf.where(
    has_bytes, end_after(tf.maximum(text_bytes[1:] - 1, 0)), text_starts
  )

  row = rows_of(begins)
  first, limit = tf.gather(text_bytes, row), tf.gather(text_bytes, row + 1)
  begin, stop = (
    tf.clip_by_value(places.flat_values + first, first, limit)
    for places in (begins, stops)
  )
  starts = tf.where(begin < limit, start_at(begin), tf.gather(text_ends, row))
  ends = tf.where(begin < stop, end_after(tf.maximum(stop - 1, 0)), starts)
  shift = tf.gather(text_starts, row)
  return (
    begins.with_flat_values(starts - shift),
    begins.with_flat_values(ends - shift),
  )


def row_sums(ragged):
  """Returns the sum of each row."""
  sums = tf.gather(_before(ragged.flat_values), ragged.row_splits)
  return sums[1:] - sums[:-1]


def running_sums(ragged):
  """Returns the cumulative sums within each row."""
  values = ragged.flat_values
  before = tf.gather(_before(values), ragged.row_splits)
  return ragged.with_flat_values(
    tf.cumsum(values) - tf.gather(before, rows_of(ragged))
  )


def merge_rows(ragged):
  """Returns a RaggedTensor [B, (rows), (values)] as [B, (values)].

  Like `merge_dims`, but without its checks, which add a twentieth of a second
  to the time that TensorFlow needs to trace.
  """
  rows = ragged.values
  splits = tf.gather(rows.row_splits, ragged.row_splits)
  return tf.RaggedTensor.from_row_splits(rows.values, splits, validate=False)


def spread(values, ragged):
  """Returns [N]: `values` [B], each repeated for all values of its row.

  To be added to flat values: TensorFlow needs a fifth of a second to trace a
  broadcast along a ragged axis.

  Args:
    values: tensor [B].
    ragged: RaggedTensor [B, (values)], of N values.
  """
  return tf.gather(values, rows_of(ragged))


def rows_of(ragged):
  """Returns the row of each value, int32 [N]."""
  # Unlike `value_rowids`, it needs no memory of rows times the longest row.
  splits = tf.cast(ragged.row_splits, tf.int32)
  return counts_up_to(splits[1:], splits[-1] + 1)[:-1]


def counts_up_to(points, size):
  """Returns how many of some numbers are at most 0, 1, ...; int32 [size].

  Args:
    points: int32 [N], from 0 to size - 1.
    size: int32 [].
  """
  ones = tf.ones_like(points)
  return tf.cumsum(tf.math.unsorted_segment_sum(ones, points, size))


def _before(values):
  """Returns the exclusive cumulative sums of values [N], and the total."""
  paddings = [[1, 0]] + [[0, 0]] * (values.shape.rank - 1)
  return tf.pad(tf.cumsum(values), paddings)
