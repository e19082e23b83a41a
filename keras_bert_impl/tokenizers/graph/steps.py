"""The steps from texts to words, as TensorFlow ops.

`formats/text_rules.py` says which steps a tokenizer takes. Every op here is
linked into TensorFlow Serving.

With a vocab.txt, the words are those of the original BERT for all characters up
to Unicode 13. TensorFlow's ICU does not lower-case later ones (the 40 capitals
of Unicode 14 stay), and TensorFlow's RE2 splits those after Unicode 14, which
it may know where the original's Python does not. `tensorflow_text`'s BERT
tokenizers are not the paper's: they fold case by NFKC, turn control characters
into blanks and give [UNK] for invalid UTF-8. With a tokenizer.json, they are
those of the `tokenizers` library, up to Unicode 13 too.
"""

import tensorflow as tf

from keras_bert_impl.tokenizers.formats import characters, text_rules

# Replaces overlong words; normalised text cannot have this character.
OVERLONG_WORD = "\ufffd"

_NO_CHARACTER = "\U0010ffff"  # by definition
# Characters of `characters.DELETED`, and those for private use.
_DELETED = characters.DELETED[:-1] + r"\p{Co}]"


class Steps(tf.Module):
  """Takes texts through steps, one after the other.

  Args:
    steps: tuple of (name of a step, *arguments).
  """

  def __init__(self, steps):
    super().__init__(name="steps")
    self._steps = steps
    # A step of this kind is an op with a model of its own.
    self._maps = [
      _character_map(*content)
      for name, *content in steps
      if name == _CHARACTER_MAP
    ]

  def __call__(self, texts, are_parts=False):
    """Takes texts through all steps.

    Args:
      texts: string [B], valid UTF-8.
      are_parts: bool, whether they are parts of texts, whose ends stay.

    Returns:
      string [B].
    """
    maps = iter(self._maps)
    for name, *arguments in self._steps:
      if name == _CHARACTER_MAP:
        texts = next(maps)(texts)
      elif not are_parts or name not in _AT_ENDS:
        texts = _STEPS[name](texts, *arguments)
    return texts


def drop_invalid(texts):
  """Drops the bytes that are not UTF-8 from string `texts` of any shape."""
  return tf.strings.unicode_transcode(
    texts,
    "UTF-8",
    "UTF-8",
    errors="ignore",
    replace_control_characters=False,
  )


def normalize(texts, options):
  """Returns texts normalised as options say.

  Args:
    texts: string [B], any bytes; invalid UTF-8 is dropped.
    options: `WordPieceOptions`, which set words apart too, or
      `SentencePieceOptions`.

  Returns:
    string [B], valid UTF-8.
  """
  rules = text_rules.of_options(options)
  return Steps(rules.normalizers + rules.words)(drop_invalid(texts))


def words_of(texts, options):
  """Returns the words that a WordPiece tokenizer looks up.

  Args:
    texts: string [B], any bytes.
    options: `WordPieceOptions`.

  Returns:
    string RaggedTensor [B, (words)]; overlong ones are `OVERLONG_WORD`.
  """
  most = options.max_input_chars_per_word
  return tf.strings.split(hide_overlong_words(normalize(texts, options), most))


def hide_overlong_words(texts, most):
  """Replaces words of over `most` characters by `OVERLONG_WORD`.

  Args:
    texts: string tensor of any shape, words with white space between.
    most: int, at most 1,000: RE2 counts no further.
  """
  beyond = r"[^ \t-\r]"
  pattern = f"{beyond}{{{most}}}{beyond}+"
  return tf.strings.regex_replace(texts, pattern, OVERLONG_WORD)


def _character_map(content):
  # Late: byte-level BPE does without tensorflow-text.
  from keras_bert_impl.tokenizers.graph import character_map

  return character_map.CharacterMap(content)


def _clean(texts):
  """Deletes control characters and makes white space blanks."""
  texts = tf.strings.regex_replace(texts, _DELETED, "")
  return tf.strings.regex_replace(texts, characters.SPACE, " ")


def _set_apart(texts, pattern):
  """Puts blanks around what matches a pattern and in place of white space.

  That of ASCII stays: there are many, and texts are split there anyway.
  """
  # The group is empty where the other side of the | matched.
  return tf.strings.regex_replace(
    texts, f"({pattern})|{characters.WIDE_SPACE}", r" \1 "
  )


def _lower_words(texts):
  """Lower-cases texts without NUL, as Python does.

  But for capitals newer than TensorFlow's ICU.
  """
  # ASCII first: the other op uses the machine's locale, and in Turkish the
  # lower case of I is not i.
  return tf.strings.lower(tf.strings.lower(texts), encoding="utf-8")


def _lower(texts):
  """Lower-cases each character by itself, so that a final sigma is none."""
  texts = tf.strings.regex_replace(texts, "Σ", "σ")
  # Lower-casing would stop at NUL.
  texts = tf.strings.regex_replace(texts, r"\x00", _NO_CHARACTER)
  texts = _lower_words(texts)
  return tf.strings.regex_replace(texts, _NO_CHARACTER, tf.constant(b"\0"))


def strip(texts, left, right):
  """Takes white space off the left or right end of texts, string [B]."""
  if left:
    texts = tf.strings.regex_replace(texts, f"^{characters.SPACE}+", "")
  if right:
    texts = tf.strings.regex_replace(texts, f"{characters.SPACE}+$", "")
  return texts


def _prefix(texts, *starts):
  """Puts a blank before each text that begins with none of `starts`."""
  has_one = texts == ""
  for start in starts:
    has_one |= tf.strings.substr(texts, 0, len(start)) == start
  return tf.where(has_one, texts, tf.strings.join([" ", texts]))


def _prepend(texts, start):
  """Puts a text before each one that is not empty."""
  return tf.where(texts == "", texts, tf.strings.join([start, texts]))


def _unicode(texts, form):
  # Late: byte-level BPE does without tensorflow-text.
  import tensorflow_text as tf_text

  return tf_text.normalize_utf8(texts, form)


def _replacing(pattern, content=""):
  return lambda texts: tf.strings.regex_replace(texts, pattern, content)


_CHARACTER_MAP, _STRIP, _PREPEND = "character_map", "strip", "prepend"
_AT_ENDS = (_STRIP, _PREPEND)
_STEPS = {
  "clean": _clean,
  "space_chinese": _replacing(characters.IDEOGRAPH, r" \0 "),
  "strip_nonspacing": _replacing(r"\p{Mn}+"),
  "strip_marks": _replacing(r"\p{M}+"),
  "lower": _lower,
  "lower_words": _lower_words,
  _STRIP: strip,
  "replace": tf.strings.regex_replace,
  "unicode": _unicode,
  "set_apart": _set_apart,
  "prefix": _prefix,
  _PREPEND: _prepend,
}
