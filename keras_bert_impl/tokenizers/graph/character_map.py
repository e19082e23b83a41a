"""The `Precompiled` normalizer of a tokenizer.json, in graph ops."""

import unicodedata

import tensorflow as tf

from keras_bert_impl.tokenizers.formats import characters, piece_model
from keras_bert_impl.tokenizers.graph import piece_op

_APART = "\U0010ffff"  # no character, by definition
# Categories of characters that begin no cluster of several, and letters and
# joiners that go on one.
_ALONE = ("Mn", "Mc", "Me", "Cc", "Cf", "Zl", "Zp")
_LETTERS = "\u0e33\u0eb3\u200c\u200d\uff9e\uff9f"
# What goes on a cluster, by its number of bytes.
_TWO = r"[^\P{M}\x{800}-\x{10ffff}]"
_THREE = (
  rf"(?:[^\P{{M}}\x{{0}}-\x{{7ff}}\x{{10000}}-\x{{10ffff}}]|[{_LETTERS}])"
)
_FOUR = r"(?:[^\P{M}\x{0}-\x{ffff}]|[\x{1f3fb}-\x{1f3ff}])"
_ANY = f"(?:{_TWO}|{_THREE}|{_FOUR})"
_JAMO = r"[\x{1160}-\x{11ff}\x{d7b0}-\x{d7ff}]"
# The first character of a cluster of six bytes or more, and what follows.
_LONG = (
  rf"([\x{{0}}-\x{{7f}}])({_TWO}{_TWO}{_ANY}|{_TWO}{_THREE}|{_TWO}{_FOUR}"
  rf"|(?:{_THREE}|{_FOUR}){_ANY})"
  rf"|([\x{{80}}-\x{{7ff}}])({_FOUR}|{_ANY}{_ANY})"
  rf"|([\x{{800}}-\x{{ffff}}])({_THREE}|{_FOUR}|{_TWO}{_ANY}|{_JAMO})"
  rf"|([\x{{10000}}-\x{{10ffff}}])({_ANY})"
)


class CharacterMap(tf.Module):
  """Maps characters as the `tokenizers` library does.

  A cluster is a character with its marks, or a Hangul syllable in jamo. In one
  of six bytes or more, each character is mapped by itself, while SentencePiece
  composes them. A shorter one that begins with a text of the map is what that
  text is mapped to: the rest is dropped.

  Args:
    charsmap: bytes, as of `piece_model.character_map`.
  """

  def __init__(self, charsmap):
    super().__init__(name="character_map")
    self._map = piece_op.PieceOp(piece_model.character_map(charsmap), tf.string)
    self._dropping = _dropping(piece_model.short_mapped(charsmap))

  def __call__(self, texts):
    """Returns texts, string [B], mapped."""
    texts = tf.strings.regex_replace(texts, _LONG, rf"\1\3\5\7{_APART}\2\4\6\8")
    texts = tf.strings.regex_replace(texts, self._dropping, rf"\1\2\3{_APART}")
    texts = tf.strings.reduce_join(self._map.tokenize(texts), axis=-1)
    return tf.strings.regex_replace(texts, _APART, "")


def _dropping(mapped):
  """Returns the pattern of short clusters of which the rest is dropped.

  Args:
    mapped: list of str, the texts of at most three bytes that are mapped.
  """
  mapped = [
    text
    for text in mapped
    if unicodedata.category(text[0]) not in _ALONE and text[0] not in _LETTERS
  ]
  two, three = (
    [ord(x) for x in mapped if len(x) == 1 and len(x.encode("utf-8")) == size]
    for size in (2, 3)
  )
  pairs = [characters.literal(text) for text in mapped if len(text) == 2]
  # A class must not be empty.
  two, three = (characters.any_of(x or [ord(_APART)]) for x in (two, three))
  three = "|".join([three, *pairs])
  return rf"(\r)\n|({two})(?:{_TWO}|{_THREE})|({three}){_TWO}"
