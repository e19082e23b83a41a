"""The original's text normalisation as TensorFlow ops.

Differs from `tensorflow_text`'s BERT tokenizers, which are not the paper's:
they fold case by NFKC, turn control characters into blanks and give [UNK] for
invalid UTF-8. Every op here is linked into TensorFlow Serving.

Equal to the original for all characters up to Unicode 13. TensorFlow's ICU does
not know later ones in lower-casing (the 40 capitals of Unicode 14 stay), and
those after Unicode 14 are split as TensorFlow's RE2 says, which may know them
where the original's Python does not.

Source: google-research/bert, tokenization.py, BasicTokenizer.
"""

import tensorflow as tf
import tensorflow_text as tf_text

from keras_bert_impl.tokenizers import alignment, white_space

MAX_WORD_CHARACTERS = 200

# RE2 classes. Categories Cc (but tab, newline and carriage return) and Cf, NUL
# and the replacement character are deleted.
DELETED = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x{9f}\x{fffd}\p{Cf}]"
# What the splitting at ASCII white space leaves.
_WIDE_SPACE = white_space.pattern(
  code for code in white_space.CODE_POINTS if code >= 0xA0
)
# Punctuation, ASCII symbols and CJK ideographs: each is a word of its own.
_SINGLE = (
  r"[!-/:-@\[-`{-~\p{P}"
  r"\x{4e00}-\x{9fff}\x{3400}-\x{4dbf}\x{20000}-\x{2a6df}\x{2a700}-\x{2b73f}"
  r"\x{2b740}-\x{2b81f}\x{2b820}-\x{2ceaf}\x{f900}-\x{faff}"
  r"\x{2f800}-\x{2fa1f}]"
)
# What is deleted before a text, the text, and what is deleted after it.
_TRIMMED = f"(?s)^({DELETED}*)(.*?)({DELETED}*)$"
_OVERLONG = rf"[^ \t\n\r]{{{MAX_WORD_CHARACTERS + 1},}}"
# Cannot occur in normalised text, so no word of a text is mistaken for it.
OVERLONG_WORD = "\ufffd"


def drop_invalid(texts):
  """Returns string `texts` of any shape without the bytes that are no UTF-8."""
  return tf.strings.unicode_transcode(
    texts,
    "UTF-8",
    "UTF-8",
    errors="ignore",
    replace_control_characters=False,
  )


def normalize(texts, options):
  """Returns `texts` cleaned, and with its words apart at white space.

  Args:
    texts: string tensor of any shape, any bytes; invalid UTF-8 is dropped.
    options: `TokenizerOptions`.

  Returns:
    string tensor of the same shape, valid UTF-8. A word of more than 200
    characters has become U+FFFD, which stands for no text else.
  """
  return hide_overlong_words(clean(texts, options))


def clean(texts, options):
  """Returns `texts` as `normalize` does, overlong words as they are."""
  texts = drop_invalid(texts)
  texts = tf.strings.regex_replace(texts, DELETED, "")
  if options.do_lower_case:
    texts = _lower_and_strip_accents(texts)
    if options.compose_hangul:
      texts = tf_text.normalize_utf8(texts, "NFC")
  # The group is empty where the other side of the | matched.
  return tf.strings.regex_replace(texts, f"({_SINGLE})|{_WIDE_SPACE}", r" \1 ")


def hide_overlong_words(texts):
  """Returns `clean`ed texts with U+FFFD for what has over 200 characters."""
  return tf.strings.regex_replace(texts, _OVERLONG, OVERLONG_WORD)


def split_words(normalized_texts):
  """Returns the words of `normalize`d texts.

  Args:
    normalized_texts: string [B].

  Returns:
    string RaggedTensor [B, (words)].
  """
  return tf.strings.split(normalized_texts)


def split_with_offsets(texts):
  """Returns the words of texts as they are written, and where they stand.

  A word ends at white space; each punctuation mark, symbol of ASCII and
  ideograph is one. What `normalize` deletes is in no word but one around it.

  Args:
    texts: string [B], any bytes; those that are no UTF-8 do not count.

  Returns:
    (words, starts, ends), string and int32 RaggedTensor [B, (words)]: the first
    character of each, and the one after its last.
  """
  texts = tf.strings.regex_replace(
    drop_invalid(texts), rf"[\t\n\r]|{_WIDE_SPACE}", " "
  )
  texts = tf.strings.regex_replace(texts, f" |{_SINGLE}", "\n\\0\n")
  parts = tf.strings.split(texts, sep="\n")  # [B, (parts)]
  trimmed = tf.strings.regex_replace(
    parts.flat_values, _TRIMMED, r"\1" "\n" r"\2" "\n" r"\3"
  )
  trimmed = tf.reshape(tf.strings.split(trimmed, sep="\n").flat_values, [-1, 3])
  before, lengths, after = tf.unstack(
    tf.strings.length(trimmed, "UTF8_CHAR"), axis=1
  )
  sizes = parts.with_flat_values(before + lengths + after)
  ends = alignment.running_sums(sizes).flat_values - after
  words = trimmed[:, 1]
  places = tf.where((words != "") & (words != " "))[:, 0]
  rows = tf.gather(alignment.rows_of(parts), places)
  return tuple(
    tf.RaggedTensor.from_value_rowids(
      tf.gather(values, places), tf.cast(rows, tf.int64), parts.nrows()
    )
    for values in (words, ends - lengths, ends)
  )


def lower(texts):
  """Returns valid UTF-8 `texts` without NUL in lower case.

  As Python's, but for capitals newer than TensorFlow's ICU.
  """
  # ASCII first: the other op asks the machine's locale, and in Turkish the
  # lower case of I is not i.
  return tf.strings.lower(tf.strings.lower(texts), encoding="utf-8")


def _lower_and_strip_accents(texts):
  texts = lower(texts)
  texts = tf_text.normalize_utf8(texts, "NFD")
  return tf.strings.regex_replace(texts, r"\p{Mn}+", "")
