"""The normalizers of a tokenizer.json, as TensorFlow ops.

Equal to the `tokenizers` library for all characters up to Unicode 13; later
ones may be new to TensorFlow's ICU and RE2 or to that library.
"""

import tensorflow as tf
import tensorflow_text as tf_text

from keras_bert_impl.tokenizers.formats import piece_model, white_space
from keras_bert_impl.tokenizers.graph import normalization, piece_op, text_words

_NO_CHARACTER = "\U0010ffff"  # by definition
# As `text_words.DELETED`, and what is for private use.
_DELETED = text_words.DELETED[:-1] + r"\p{Co}]"


class Normalizer(tf.Module):
  """Normalises texts step by step.

  Args:
    steps: tuple of (name of a function here, *arguments).
  """

  def __init__(self, steps):
    super().__init__(name="normalizer")
    self._steps = steps
    # A step of this kind is an op with a model of its own.
    self._maps = [
      piece_op.PieceOp(piece_model.character_map(content), tf.string)
      for name, content, *_ in (step + (None,) for step in steps)
      if name == CHARACTER_MAP
    ]

  def __call__(self, texts, are_parts=False):
    """Normalises texts.

    Args:
      texts: string [B], valid UTF-8.
      are_parts: bool, whether they are parts of texts, whose ends stay.

    Returns:
      string [B].
    """
    maps = iter(self._maps)
    for name, *arguments in self._steps:
      if name == STRIP and are_parts:
        continue
      if name == CHARACTER_MAP:
        pieces = next(maps).tokenize(texts)
        texts = tf.strings.reduce_join(pieces, axis=-1)
      else:
        texts = _STEPS[name](texts, *arguments)
    return texts


def _clean(texts):
  """Deletes control characters and makes white space blanks."""
  texts = tf.strings.regex_replace(texts, _DELETED, "")
  return tf.strings.regex_replace(texts, white_space.ANY, " ")


def _space_chinese(texts):
  return tf.strings.regex_replace(texts, text_words.IDEOGRAPH, r" \0 ")


def _lower(texts):
  """Lower-cases each character by itself, so that a final sigma is none."""
  texts = tf.strings.regex_replace(texts, "Σ", "σ")
  # Lower-casing would stop at NUL.
  texts = tf.strings.regex_replace(texts, r"\x00", _NO_CHARACTER)
  texts = normalization.lower(texts)
  return tf.strings.regex_replace(texts, _NO_CHARACTER, tf.constant(b"\0"))


def _strip(texts, left, right):
  if left:
    texts = tf.strings.regex_replace(texts, f"^{white_space.ANY}+", "")
  if right:
    texts = tf.strings.regex_replace(texts, f"{white_space.ANY}+$", "")
  return texts


def _delete(pattern):
  return lambda texts: tf.strings.regex_replace(texts, pattern, "")


CHARACTER_MAP, STRIP = "character_map", "strip"
_STEPS = {
  "clean": _clean,
  "space_chinese": _space_chinese,
  "strip_nonspacing": _delete(r"\p{Mn}+"),
  "strip_marks": _delete(r"\p{M}+"),
  "lower": _lower,
  STRIP: _strip,
  "replace": tf.strings.regex_replace,
  "unicode": tf_text.normalize_utf8,
}
