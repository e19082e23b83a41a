"""Splits texts into words and characters, in TensorFlow's core ops."""

import tensorflow as tf

from keras_bert_impl.tokenizers.formats import characters
from keras_bert_impl.tokenizers.graph import alignment, steps

# Three groups: characters deleted before a text, the text, those after it.
_TRIMMED = f"(?s)^({characters.DELETED}*)(.*?)({characters.DELETED}*)$"


def split_with_offsets(texts):
  """Returns the words of texts as written, and their offsets.

  A word ends at white space; each punctuation mark, ASCII symbol and ideograph
  is a word. Characters of `characters.DELETED` belong to a word only inside it.

  Args:
    texts: string [B], any bytes; those that are not UTF-8 do not count.

  Returns:
    (words, starts, ends), string and int32 RaggedTensor [B, (words)]: the first
    character of each, and the one after its last.
  """
  texts = tf.strings.regex_replace(
    steps.drop_invalid(texts), characters.BLANK, " "
  )
  texts = tf.strings.regex_replace(texts, f" |{characters.SINGLE}", "\n\\0\n")
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


def pieces(tokenizer, words):
  """Returns the pieces of words, int32 RaggedTensor [T, (pieces)], 1 at least.

  A word without pieces gets [UNK], or where there is none the first token.

  Args:
    tokenizer: of `tokenizers.load`.
    words: string RaggedTensor [B, (words)], T of them.
  """
  found = tokenizer.tokenize_tokens(words).values
  is_empty = tf.cast(found.row_lengths() == 0, tf.int64)
  unknown_id = tokenizer.vocabulary.role_ids.get("unk", 0)
  unknown = tf.fill([tf.reduce_sum(is_empty)], unknown_id)
  unknown = tf.RaggedTensor.from_row_lengths(unknown, is_empty)
  return tf.concat([found, unknown], axis=1)


def split_characters(texts):
  """Splits texts into characters as people see them, with their offsets.

  A letter with its combining marks is one, and so is a Hangul syllable in jamo.

  Args:
    texts: string [B], UTF-8.

  Returns:
    (characters, starts, ends), string and int32 RaggedTensor [B, (characters)]:
    the first code point of each, and the one after its last.
  """
  codes = tf.strings.unicode_split(texts, "UTF-8")  # [B, (code points)]
  rows = codes.value_rowids()
  places = tf.ragged.range(codes.row_lengths()).flat_values
  is_first = ~tf.strings.regex_full_match(
    codes.flat_values, characters.CONTINUING
  )
  is_first |= places == 0
  numbers = tf.cumsum(tf.cast(is_first, tf.int32)) - 1
  found = tf.strings.unsorted_segment_join(
    codes.flat_values, numbers, tf.reduce_sum(tf.cast(is_first, tf.int32))
  )
  starts = tf.cast(tf.boolean_mask(places, is_first), tf.int32)
  lengths = tf.strings.length(found, "UTF8_CHAR")
  return tuple(
    tf.RaggedTensor.from_value_rowids(
      values, tf.boolean_mask(rows, is_first), codes.nrows()
    )
    for values in (found, starts, starts + lengths)
  )
