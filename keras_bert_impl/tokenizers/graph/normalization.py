"""BERT's text normalisation, as in the original, as TensorFlow ops.

Differs from `tensorflow_text`'s BERT tokenizers, which are not the paper's:
they fold case by NFKC, turn control characters into blanks and give [UNK] for
invalid UTF-8. Every op here is linked into TensorFlow Serving.

Equal to the original for all characters up to Unicode 13. TensorFlow's ICU does
not lower-case later ones (the 40 capitals of Unicode 14 stay), and TensorFlow's
RE2 splits those after Unicode 14, which it may know where the original's Python
does not.

Source: google-research/bert, tokenization.py, BasicTokenizer.
"""

import tensorflow as tf
import tensorflow_text as tf_text

from keras_bert_impl.tokenizers.formats import white_space
from keras_bert_impl.tokenizers.graph import text_words

MAX_WORD_CHARACTERS = 200

# Replaces overlong words; normalised text cannot have this character.
OVERLONG_WORD = "\ufffd"


def normalize(texts, options):
  """Cleans `texts` and separates their words by white space.

  Args:
    texts: string tensor of any shape, any bytes; invalid UTF-8 is dropped.
    options: `WordPieceOptions`.

  Returns:
    string tensor of the same shape, valid UTF-8. U+FFFD replaces each word of
    more than 200 characters, and nothing else.
  """
  return hide_overlong_words(clean(texts, options))


def clean(texts, options):
  """Returns `texts` as in `normalize`, with overlong words unchanged."""
  texts = text_words.drop_invalid(texts)
  texts = tf.strings.regex_replace(texts, text_words.DELETED, "")
  if options.do_lower_case:
    texts = _lower_and_strip_accents(texts)
    if options.compose_hangul:
      texts = tf_text.normalize_utf8(texts, "NFC")
  # The group is empty where the other side of the | matched.
  return tf.strings.regex_replace(
    texts, f"({text_words.SINGLE})|{text_words.WIDE_SPACE}", r" \1 "
  )


def set_words_apart(texts):
  """Returns texts with blanks around punctuation and for white space."""
  texts = tf.strings.regex_replace(texts, text_words.PUNCTUATION, r" \0 ")
  return tf.strings.regex_replace(texts, white_space.ANY, " ")


def hide_overlong_words(texts, most=MAX_WORD_CHARACTERS):
  """Replaces words of over `most` characters in `clean`ed texts by U+FFFD."""
  # RE2 does not count beyond 1,000.
  beyond = r"[^ \t\n\r]"
  pattern = f"{beyond}{{{most}}}{beyond}+"
  return tf.strings.regex_replace(texts, pattern, OVERLONG_WORD)


def split_words(normalized_texts):
  """Returns the words of `normalize`d texts.

  Args:
    normalized_texts: string [B].

  Returns:
    string RaggedTensor [B, (words)].
  """
  return tf.strings.split(normalized_texts)


def lower(texts):
  """Lower-cases `texts`, valid UTF-8 without NUL.

  As in Python, except for capitals newer than TensorFlow's ICU.
  """
  # ASCII first: the other op uses the machine's locale, and in Turkish the
  # lower case of I is not i.
  return tf.strings.lower(tf.strings.lower(texts), encoding="utf-8")


def _lower_and_strip_accents(texts):
  texts = lower(texts)
  texts = tf_text.normalize_utf8(texts, "NFD")
  return tf.strings.regex_replace(texts, r"\p{Mn}+", "")
