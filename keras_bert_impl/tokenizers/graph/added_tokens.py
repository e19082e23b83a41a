"""Finds added tokens inside texts, in graph ops.

A text is split into sections: the text before an added token, the white space
that the token takes, the token, the white space after it that it takes, and so
on to the text after the last one.

Axes: B texts, S sections of the batch.
"""

import tensorflow as tf

from keras_bert_impl.tokenizers.formats import characters
from keras_bert_impl.tokenizers.graph import alignment, steps

# No valid UTF-8 contains it.
_CUT = b"\xff"
_TOKEN, _PER_TOKEN = 2, 4  # place of a token among its four sections
_SPACE = characters.SPACE + "*"


class AddedTokens(tf.Module):
  """A set of added tokens to be found in texts.

  As in the `tokenizers` library, the leftmost token is found, and of several
  there the longest.

  Args:
    tokens: list of `AddedToken`, one at least.
    contents: list of bytes, what to look for, one of each.
    origin: str, their file, for messages.

  Raises:
    ValueError: they are too many, or begin alike and take white space unlike.
  """

  def __init__(self, tokens, contents, origin):
    super().__init__(name="added_tokens")
    self._pattern, self._rewrite = _pattern(tokens, contents, origin)
    unique = dict(zip(contents, (t.index for t in tokens), strict=True))
    self._ids = tf.lookup.StaticHashTable(
      tf.lookup.KeyValueTensorInitializer(
        tf.constant([*unique]), tf.constant([*unique.values()], tf.int32)
      ),
      default_value=-1,
    )

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
    sections, is_text, found = self._split(texts)
    flat = sections.flat_values
    ids, *places = find(tf.where(is_text, flat, ""))
    ids = tf.concat([ids, found], axis=1)
    pieces = alignment.merge_rows(sections.with_flat_values(ids))
    if not places:
      return [pieces]
    sizes = measure(flat)
    ends = alignment.running_sums(sections.with_flat_values(sizes)).flat_values
    shifts = alignment.spread(ends - sizes, ids)
    own = (tf.zeros_like(sizes), sizes)
    places = (
      tf.concat([some, _rows(found, values)], axis=1).flat_values + shifts
      for some, values in zip(places, own, strict=True)
    )
    return [pieces, *map(pieces.with_flat_values, places)]

  def _split(self, texts):
    """Returns the sections of texts.

    Returns:
      (sections, is_text, found): string RaggedTensor [B, (sections)]; bool [S],
      whether a section is a text between tokens; int32 RaggedTensor
      [S, (0 or 1)], the id of a section that is a token.
    """
    texts = steps.drop_invalid(texts)
    cut = tf.strings.regex_replace(texts, self._pattern, self._rewrite)
    sections = tf.strings.split(cut, sep=_CUT)
    places = tf.ragged.range(sections.row_lengths()).flat_values % _PER_TOKEN
    is_token = places == _TOKEN
    ids = self._ids.lookup(tf.boolean_mask(sections.flat_values, is_token))
    found = tf.RaggedTensor.from_row_lengths(
      ids, tf.cast(is_token, tf.int64), validate=False
    )
    return sections, places == 0, found


def _rows(found, values):
  """Returns the values [S] of the rows that have one in `found`, ragged."""
  kept = tf.boolean_mask(values, found.row_lengths() > 0)
  return found.with_flat_values(kept)


def _pattern(tokens, contents, origin):
  """Returns the RE2 pattern of tokens, and what their places are rewritten to.

  Each of the four kinds of white space to take has its own groups.
  """
  by_flags = {}
  for token, content in zip(tokens, contents, strict=True):
    by_flags.setdefault((token.lstrip, token.rstrip), set()).add(content)
  _check_beginnings(by_flags, origin)
  alternatives, groups, count = [], {"l": "", "t": "", "r": ""}, 0
  for (lstrip, rstrip), several in sorted(by_flags.items()):
    # RE2 takes the first that fits: the longest.
    longest_first = sorted(several, key=lambda text: (-len(text), text))
    names = "|".join(
      characters.literal(text.decode("utf-8")) for text in longest_first
    )
    parts = [("t", names)]
    parts = [("l", _SPACE), *parts] if lstrip else parts
    parts = [*parts, ("r", _SPACE)] if rstrip else parts
    for name, _ in parts:
      count += 1
      groups[name] += rf"\{count}"
    alternatives.append("".join(f"({part})" for _, part in parts))
  pattern = "|".join(f"(?:{one})" for one in alternatives)
  cut = _CUT.decode("latin-1")
  rewrite = "".join(f"{cut}{groups[name]}" for name in "ltr") + cut
  try:
    tf.strings.regex_replace(["", "a"], pattern, "")
  except tf.errors.InvalidArgumentError as error:
    raise ValueError(
      f"added_tokens in {origin} are too many ({len(tokens)}) to be looked for."
    ) from error
  return pattern, rewrite.encode("latin-1")


def _check_beginnings(by_flags, origin):
  """Raises ValueError where the longest match needs tokens of several kinds."""
  flags_of = {text: flags for flags, some in by_flags.items() for text in some}
  for text, flags in flags_of.items():
    for stop in range(1, len(text)):
      if flags_of.get(text[:stop], flags) != flags:
        raise ValueError(
          f"added_tokens in {origin}: {text.decode()!r} begins with"
          f" {text[:stop].decode()!r}, which takes other white space (lstrip,"
          " rstrip): give both the same."
        )
