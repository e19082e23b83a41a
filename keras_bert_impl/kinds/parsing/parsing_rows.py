"""Rows of sentences: the pieces of their words, and where each word begins.

A sentence is one row. Where it has more pieces than a row has room for, its
longest words keep only their first pieces, so that no word is lost and the tree
is whole. The nodes of a tree are [CLS], the root, and the words' first pieces:
a word's number in its file is its number among the nodes. Axes: B sentences, L
ids of the longest row, T words of all of them.
"""

import dataclasses
import re

import numpy as np
import tensorflow as tf

from keras_bert_impl import features
from keras_bert_impl.kinds.parsing import parsing_options
from keras_bert_impl.tasks.basics import fine_tuning
from keras_bert_impl.tokenizers.formats import characters
from keras_bert_impl.tokenizers.graph import steps, text_words

# Columns, int32 [B, L]: the place of each node in its row, the root's first;
# and the number of each node's head. NONE beyond the nodes; the root has none.
NODE_PLACES = "node_places"
HEAD_IDS = "head_ids"
NONE = -1
_SENTENCES = 1024  # that are tokenized at once
_END = re.compile(r"[.,!?;:]$")


def labels_of(sentences):
  """Returns the relations of sentences in alphabetical order, tuple of str."""
  return tuple(sorted({name for s in sentences for name in s.relations}))


def find_word_split(sentences):
  """Returns one of `parsing_options.WORD_SPLITS`, that of most sentences.

  It is read off the marks that words end with: apart from words, or not.
  """
  ends = [word for s in sentences for word in s.words if _END.search(word)]
  num_apart = sum(len(word) == 1 for word in ends)
  is_apart = 2 * num_apart > len(ends)
  return parsing_options.PUNCTUATION if is_apart else parsing_options.WHITESPACE


def split(texts, word_split):
  """Returns the words of texts, string RaggedTensor [B, (words)].

  Args:
    texts: string [B], any bytes; those that are not UTF-8 do not count.
    word_split: one of `parsing_options.WORD_SPLITS`.
  """
  if word_split == parsing_options.PUNCTUATION:
    return text_words.split_with_offsets(texts)[0]
  texts = steps.drop_invalid(texts)
  return tf.strings.split(
    tf.strings.regex_replace(texts, characters.SPACE, " ")
  )


def frame(tokenizer, words, max_seq_length):
  """Returns the rows of sentences, in graph ops: in training and served.

  Each word has pieces: see `text_words.pieces`.

  Args:
    tokenizer: of `tokenizers.load`.
    words: string RaggedTensor [B, (words)]; of more than a row has room for,
      the first ones are read.
    max_seq_length: int, L at most.

  Returns:
    {name: int32 [B, L]}, the inputs of the model; and bool [B], whether a word
    has lost pieces.
  """
  room = max_seq_length - tokenizer.num_special_tokens(1)
  words = words[:, :room]
  pieces = text_words.pieces(tokenizer, words)  # [T, (pieces)]
  lengths = tf.cast(pieces.row_lengths(), tf.int32)  # [T]
  kept = _kept(lengths, words, room)
  places = tf.ragged.range(lengths).flat_values
  ids = tf.boolean_mask(pieces.flat_values, places < tf.repeat(kept, lengths))
  kept = words.with_flat_values(kept)
  num_pieces = tf.reduce_sum(kept, axis=1)  # [B]
  rows = tokenizer.assemble(
    tf.RaggedTensor.from_row_lengths(ids, tf.cast(num_pieces, tf.int64)),
    max_seq_length=max_seq_length,
  )
  framing, mask = tokenizer.framing, rows[features.INPUT_MASK]
  root = framing.cls_place(tf.reduce_sum(mask, axis=1))
  first = kept.with_flat_values(
    tf.cumsum(kept.flat_values, exclusive=True)
    - tf.gather(tf.cumsum(num_pieces, exclusive=True), kept.value_rowids())
  )
  nodes = tf.concat([root[:, tf.newaxis], first + framing.num_before], axis=1)
  shape = tf.shape(mask, tf.int64)
  rows[NODE_PLACES] = nodes.to_tensor(NONE, shape=shape)
  return rows, tf.reduce_any(kept < words.with_flat_values(lengths), axis=1)


def _kept(lengths, words, room):
  """Returns how many pieces each word keeps, int32 [T].

  That is one number for all long words of a sentence, as large as can be.

  Args:
    lengths: int32 [T], pieces of each word, at least 1.
    words: RaggedTensor [B, (words)], at most `room` in each sentence.
    room: int, pieces of a row.
  """
  lengths = tf.minimum(lengths, room)
  limits = tf.range(1, tf.reduce_max(tf.pad(lengths, [[0, 1]])) + 1)
  sums = tf.math.unsorted_segment_sum(
    tf.minimum(lengths[:, tf.newaxis], limits),
    words.value_rowids(),
    words.nrows(),
  )  # [B, limits]
  fitting = tf.reduce_sum(tf.cast(sums <= room, tf.int32), axis=1)
  return tf.minimum(lengths, tf.gather(fitting, words.value_rowids()))


@dataclasses.dataclass(frozen=True)
class ParsingPreprocessor(fine_tuning.Preprocessor):
  """Makes rows of `ParsedSentence`s.

  Attributes:
    max_seq_length: int, maximum number of ids of a row.
    labels: tuple of str, the relations.
    word_split: str, how texts are cut into words when the model is served.
  """

  max_seq_length: int
  labels: tuple[str, ...]
  word_split: str = parsing_options.WHITESPACE

  columns = {
    features.INPUT_IDS: fine_tuning.Column(),
    features.SEGMENT_IDS: fine_tuning.Column(),
    NODE_PLACES: fine_tuning.Column(padding=NONE),
    HEAD_IDS: fine_tuning.Column(padding=NONE),
    features.LABEL_IDS: fine_tuning.Column(padding=NONE),
  }

  def texts(self, example):
    """Returns the sentence."""
    return [" ".join(example.words)]

  def make_rows(self, examples, tokenizer, counts):
    """Yields a row for each sentence.

    Raises:
      ValueError: one has more words than a row has room for; names its place.
    """
    room = self.max_seq_length - tokenizer.num_special_tokens(1)
    for example in examples:
      if len(example.words) > room:
        raise ValueError(
          f"{example.origin}: the sentence has {len(example.words)} words, but"
          f" max_seq_length ({self.max_seq_length}) has room for {room}: give a"
          " larger one, or leave the sentence out."
        )
    for start in range(0, len(examples), _SENTENCES):
      some = examples[start : start + _SENTENCES]
      words = tf.ragged.constant([x.words for x in some], dtype=tf.string)
      rows, is_cut = frame(tokenizer, words, self.max_seq_length)
      num_cut = np.sum(is_cut)
      fine_tuning.add_counts(
        counts, {"sentences whose longest words lose pieces": num_cut}
      )
      mask = rows.pop(features.INPUT_MASK).numpy()
      rows = {name: values.numpy() for name, values in rows.items()}
      for number, (example, size) in enumerate(
        zip(some, mask.sum(axis=1), strict=True)
      ):
        row = {name: values[number, :size] for name, values in rows.items()}
        yield row | self._tree(example, size, counts)

  def _tree(self, example, size, counts):
    """Returns the columns of the tree of a row of that many ids."""
    heads, label_ids = np.full((2, size), NONE, np.int32)
    if example.is_labelled:
      ids = {label: number for number, label in enumerate(self.labels)}
      for name in example.relations:
        if name not in ids:
          counts[f"words with the relation {name}, which training has not"] += 1
      words = slice(1, len(example.words) + 1)
      heads[words] = example.heads
      label_ids[words] = [ids.get(name, NONE) for name in example.relations]
    return {HEAD_IDS: heads, features.LABEL_IDS: label_ids}
