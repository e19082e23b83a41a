"""Finds added tokens inside texts, in graph ops.

A text is split into sections: the text before an added token, the token, the
text after it, the next token, and so on to the text after the last one.

Axes: B texts, S sections of the batch, A added tokens.
"""

import tensorflow as tf

from keras_bert_impl.tokenizers.formats import characters
from keras_bert_impl.tokenizers.graph import alignment, steps

# No valid UTF-8 contains it.
_CUT = b"\xff"
_AT_START = f"(?s){characters.WORD}.*"
_AT_END = f"(?s).*{characters.WORD}"


class AddedTokens(tf.Module):
  """A set of added tokens to be found in texts.

  As in the `tokenizers` library, the leftmost token is found, and of several
  there the longest; where that must be a whole word and is not, it is text.

  Args:
    tokens: list of `AddedToken`, one at least.
    contents: list of bytes, what to look for, one of each.
    origin: str, their file, for messages.

  Raises:
    ValueError: they are too many.
  """

  def __init__(self, tokens, contents, origin):
    super().__init__(name="added_tokens")
    self._pattern = _pattern(contents, origin)
    unique = dict(zip(contents, tokens, strict=True))
    self._size = len(unique)
    self._numbers = tf.lookup.StaticHashTable(
      tf.lookup.KeyValueTensorInitializer(
        tf.constant([*unique]), tf.range(self._size)
      ),
      default_value=self._size,
    )
    self._ids = tf.constant([token.index for token in unique.values()])
    # [A + 1], the last of what is no token; without those that no token has.
    self._flags = {
      name: tf.constant([*(getattr(t, name) for t in unique.values()), False])
      for name in ("single_word", "lstrip", "rstrip")
      if any(getattr(token, name) for token in unique.values())
    }

  def around(self, texts, find, measure=None):
    """Returns the pieces of texts, with added tokens among them.

    Args:
      texts: string [B].
      find: function string [S] -> [ids], or [ids, begins, stops], of the texts
        between added tokens; each int32 RaggedTensor [S, (pieces)].
      measure: function string [S] -> int32 [S], the sizes of sections in the
        unit of the offsets; None without these.

    Returns:
      list of int32 RaggedTensor [B, (pieces)], what `find` returns.
    """
    sections, numbers = self._split(texts)
    flat, is_token = sections.flat_values, numbers < self._size
    found = tf.RaggedTensor.from_row_lengths(
      tf.gather(self._ids, tf.boolean_mask(numbers, is_token)),
      tf.cast(is_token, tf.int64),
      validate=False,
    )
    # The token before a text takes white space first.
    rest = self._strip(flat, numbers, "rstrip", 1)
    between = self._strip(rest, numbers, "lstrip", -1)
    ids, *places = find(tf.where(is_token, "", between))
    ids = tf.concat([ids, found], axis=1)
    pieces = alignment.merge_rows(sections.with_flat_values(ids))
    if not places:
      return [pieces]
    sizes = measure(flat)
    ends = alignment.running_sums(sections.with_flat_values(sizes)).flat_values
    shifts = alignment.spread(ends - measure(rest), ids)
    own = (tf.zeros_like(sizes), sizes)
    places = (
      tf.concat([some, _rows(found, values)], axis=1).flat_values + shifts
      for some, values in zip(places, own, strict=True)
    )
    return [pieces, *map(pieces.with_flat_values, places)]

  def _split(self, texts):
    """Returns the sections of texts.

    Returns:
      (sections, numbers): string RaggedTensor [B, (sections)]; int32 [S], the
      place of a section among the added tokens, A of a text between them.
    """
    texts = steps.drop_invalid(texts)
    cut = tf.strings.regex_replace(texts, self._pattern, _CUT + rb"\0" + _CUT)
    sections = tf.strings.split(cut, sep=_CUT)
    numbers = self._number(sections)
    if "single_word" not in self._flags:
      return sections, numbers
    flat, is_token = sections.flat_values, numbers < self._size
    inside = _touches(flat, is_token, _AT_END, 1)
    inside |= _touches(flat, is_token, _AT_START, -1)
    inside &= tf.gather(self._flags["single_word"], numbers)
    cut = tf.where(is_token & ~inside, _CUT, b"")
    texts = sections.with_flat_values(tf.strings.join([cut, flat, cut]))
    sections = tf.strings.split(tf.strings.reduce_join(texts, axis=-1), _CUT)
    return sections, self._number(sections)

  def _number(self, sections):
    """Returns the numbers of sections; see `_split`."""
    places = tf.ragged.range(sections.row_lengths()).flat_values
    numbers = self._numbers.lookup(sections.flat_values)
    return tf.where(places % 2 == 1, numbers, self._size)

  def _strip(self, texts, numbers, flag, shift):
    """Strips the sections [S] whose neighbour at a distance has a flag."""
    if flag not in self._flags:
      return texts
    is_taken = tf.roll(tf.gather(self._flags[flag], numbers), shift, 0)
    return tf.where(is_taken, steps.strip(texts, shift > 0, shift < 0), texts)


def _touches(sections, is_token, pattern, shift):
  """Returns bool [S], whether the text before or after matches a pattern.

  Args:
    sections: string [S].
    is_token: bool [S].
    pattern: RE2 pattern, of a whole text.
    shift: int, 1 for the text before, -1 for the one after.
  """
  matches = tf.strings.regex_full_match(sections, pattern)
  # Beyond a text that is empty is another token, or nothing.
  beyond = tf.roll(matches & is_token, 2 * shift, 0)
  is_empty = tf.roll(sections == "", shift, 0)
  return tf.roll(matches, shift, 0) | (is_empty & beyond)


def _rows(found, values):
  """Returns the values [S] of the rows that have one in `found`, ragged."""
  kept = tf.boolean_mask(values, found.row_lengths() > 0)
  return found.with_flat_values(kept)


def _pattern(contents, origin):
  """Returns the RE2 pattern of texts, the longest of which fits first."""
  longest_first = sorted({*contents}, key=lambda text: (-len(text), text))
  pattern = "|".join(
    characters.literal(text.decode("utf-8")) for text in longest_first
  )
  try:
    tf.strings.regex_replace(["", "a"], pattern, "")
  except tf.errors.InvalidArgumentError as error:
    raise ValueError(
      f"added_tokens in {origin} are too many ({len(contents)}) to be looked"
      " for."
    ) from error
  return pattern
