"""Byte-level byte-pair encoding in the graph, with the ids of RoBERTa.

Axes: B texts, W words, U unique words, T pieces of the unique words, V tokens
of the vocabulary.
"""

import functools

import numpy as np
import tensorflow as tf

from keras_bert_impl.tokenizers.formats import (
  byte_alphabet,
  tokenizer_options,
  vocabulary_files,
)
from keras_bert_impl.tokenizers.graph import (
  alignment,
  byte_pair_words,
  pipeline,
  steps,
  tokenizer,
)

# Rank of a pair that no merge joins.
_NO_MERGE = np.iinfo(np.int32).max


class BytePairTokenizer(tokenizer.Tokenizer):
  """Byte-level BPE tokenizer with the ids of GPT-2 and RoBERTa.

  It needs no ops but TensorFlow's own. Text is not normalised and no text is
  unknown: `detokenize` restores any bytes, UTF-8 or not, from their ids. Each
  unique word of a batch is merged once, all words in parallel. (For words of
  many thousand letters, the time grows with the square of the length.)

  Differs from the original: characters that the `unicodedata` of this Python
  does not know are neither letters nor numbers.

  Args:
    vocab_file: path of a vocab.json, {token: id}, or tokenizer.json.
    merges_file: path of the merges.txt of a vocab.json; default: the file
      beside it.
    *options: add_prefix_space, ...: the fields of `BytePairOptions`, also by
      name; `detokenize` removes the space.
    name: name of the module.
    **named: those.

  Raises:
    FileNotFoundError, ValueError: as `Vocabulary.load`.
    ValueError: a byte has no token.
  """

  # The same word without a space before it is another token.
  sentence_prefix = " "

  def __init__(
    self,
    vocab_file,
    merges_file=None,
    *options,
    name="byte_pair_tokenizer",
    **named,
  ):
    paths = [vocab_file]
    if (
      vocabulary_files.format_of(vocab_file) != vocabulary_files.TOKENIZER_JSON
    ):
      paths.append(merges_file or vocabulary_files.merges_path(vocab_file))
    options = tokenizer_options.BytePairOptions(*options, **named)
    super().__init__(_BytePairs, options, paths, name)


class _BytePairs(pipeline.Pipeline):
  """Pieces of words, as merges of bytes make them."""

  def __init__(self, vocabulary, rules):
    super().__init__(vocabulary, rules)
    self._byte_ids = _byte_ids(vocabulary)
    self._byte_characters = tf.constant(
      [ord(character) for character in byte_alphabet.CHARACTERS]
    )
    classes = byte_pair_words.character_classes()
    self._pages, self._page_of = map(tf.constant, classes)
    self._ranks, self._merged = _merge_tables(vocabulary)
    texts = self.token_texts
    self._token_sizes = tf.constant([len(text) for text in texts])
    self._token_blanks = tf.constant(
      [len(text) - len(text.lstrip(b" ") or text) for text in texts]
    )
    # Eager calls use the graph too, because merging op by op is slow.
    self.look_up = tf.function(
      self._look_up,
      input_signature=[tf.TensorSpec([None], tf.string)],
      autograph=False,
    )

  def start_words(self, texts):
    return tf.where(texts == "", "", tf.strings.join([" ", texts]))

  def look_up_inside(self, texts, pieces):
    return self.look_up(self.fold(texts))

  def find_bytes(self, texts):
    words = self.split(texts)
    ids = self.look_up(words)
    sizes = tf.gather(self._token_sizes, ids)
    stops = alignment.running_sums(sizes)
    begins = stops - sizes + tf.gather(self._token_blanks, ids)
    # Offsets must not count the blank that was added before the first word.
    num_added = tf.strings.length(words) - tf.strings.length(texts)
    num_added = alignment.spread(num_added, ids)
    return (
      ids,
      *(x.with_flat_values(x.flat_values - num_added) for x in (begins, stops)),
    )

  def num_bytes(self, texts):
    return tf.strings.length(texts)

  def units(self, texts):
    if not self.rules.normalizers:
      return alignment.units_of_bytes(texts)
    return alignment.units_with_blanks(
      steps.drop_invalid(texts),
      lambda parts: self.fold(parts, are_parts=True),
    )

  @functools.cached_property
  def token_texts(self):
    special = {*self.vocabulary.special_ids}
    special.update(token.index for token in self.rules.added_tokens)
    texts = []
    for index, token in enumerate(self.vocabulary.tokens):
      content = None if index in special else byte_alphabet.to_bytes(token)
      texts.append(token.encode("utf-8") if content is None else content)
    return texts

  def join(self, token_texts):
    texts = tf.strings.reduce_join(token_texts, axis=-1)
    if self.rules.add_prefix:
      texts = tf.strings.regex_replace(texts, "^ ", "")
    return texts

  def _look_up(self, texts):
    """Returns the ids of `Pipeline.look_up`."""
    # [W, (bytes)]
    words, num_words = byte_pair_words.split(texts, self._pages, self._page_of)
    # `tf.unique` needs strings; the byte alphabet has no NUL and is UTF-8.
    characters = tf.gather(self._byte_characters, words.flat_values)
    names = tf.strings.unicode_encode(
      words.with_flat_values(characters), "UTF-8"
    )
    names, index = tf.unique(names)  # [U], [W]
    first = tf.math.unsorted_segment_min(
      tf.range(tf.size(index)), index, tf.size(names)
    )
    pieces = self._merge(tf.gather(words, first))  # [U, (pieces)]
    pieces = tf.RaggedTensor.from_row_lengths(
      tf.gather(pieces, index), num_words, validate=False
    )
    return alignment.merge_rows(pieces)

  def _merge(self, words):
    """Returns the pieces of words, int32 [U, (pieces)].

    In each step, every word merges all occurrences of its pair of lowest rank,
    the earliest in merges.txt. Words without a pair to merge leave the loop.

    Args:
      words: int32 RaggedTensor [U, (bytes)], the bytes of the words.
    """
    ids = tf.gather(self._byte_ids, words.flat_values)  # [T]
    rows = words.value_rowids()
    size = tf.size(ids)

    def merge_once(step, ids, rows, places, done_ids, done_places):
      ids, is_kept, is_done = self._merge_once(ids, rows)
      done = tf.where(is_done)[:, 0]
      kept = tf.where(is_kept)[:, 0]
      return (
        step + 1,
        tf.gather(ids, kept),
        tf.gather(rows, kept),
        tf.gather(places, kept),
        done_ids.write(step, tf.gather(ids, done)),
        done_places.write(step, tf.gather(places, done)),
      )

    done = [
      tf.TensorArray(
        tf.int32, 0, dynamic_size=True, infer_shape=False, element_shape=[None]
      )
      for _ in range(2)
    ]
    *_, done_ids, done_places = tf.while_loop(
      lambda step, ids, *_: tf.size(ids) > 0,
      merge_once,
      [0, ids, rows, tf.range(size), *done],
    )
    # [T]: id + 1 of each piece at the position of its first byte, else 0.
    found = tf.scatter_nd(
      done_places.concat()[:, tf.newaxis], done_ids.concat() + 1, [size]
    )
    places = tf.where(found > 0)[:, 0]
    return tf.RaggedTensor.from_value_rowids(
      tf.gather(found, places) - 1,
      tf.gather(rows, places),
      words.nrows(),
      validate=False,
    )

  def _merge_once(self, ids, rows):
    """Merges the pair of lowest rank in each word.

    Args:
      ids: int32 [T], pieces.
      rows: int64 [T], index of the word of each piece.

    Returns:
      (ids, is_kept, is_done). ids: int32 [T], where the merged piece replaces
      the left one of its pair. is_kept: bool [T], pieces that stay in the loop.
      is_done: bool [T], pieces of words that have no pair to merge.
    """
    pairs = _pair_keys(
      tf.cast(ids, tf.int64),
      tf.cast(tf.roll(ids, -1, 0), tf.int64),
      self.vocabulary.size,
    )
    is_pair = rows == tf.concat([rows[1:], [-1]], 0)
    ranks = self._ranks.lookup(tf.where(is_pair, pairs, -1))
    best = tf.gather(tf.math.segment_min(ranks, rows), rows)
    is_done = best == _NO_MERGE
    is_best = (ranks == best) & ~is_done
    is_left = is_best & _is_even_in_run(is_best)
    merged = tf.gather(self._merged, tf.where(is_left, ranks, 0))
    is_right = _shift(is_left)
    return tf.where(is_left, merged, ids), ~(is_done | is_right), is_done


def _byte_ids(vocabulary):
  """Returns the token id of each byte, int32 [256]."""
  missing = [c for c in byte_alphabet.CHARACTERS if c not in vocabulary.ids]
  if missing:
    raise ValueError(
      f"{vocabulary.origin} has no token for {len(missing)} of the 256 bytes,"
      f" such as {missing[0]!r}: give a vocabulary of byte-level BPE."
    )
  ids = [vocabulary.ids[character] for character in byte_alphabet.CHARACTERS]
  return tf.constant(ids, tf.int32)


def _merge_tables(vocabulary):
  """Returns a lookup table (pair -> rank) and the merged id of each rank."""
  ids = vocabulary.ids
  pairs = [merge.split(" ") for merge in vocabulary.merges]
  # TensorFlow tables must not be empty, so a last entry matches no pair.
  left = np.array([*(ids[a] for a, _ in pairs), -1], np.int64)
  right = np.array([*(ids[b] for _, b in pairs), -1], np.int64)
  table = tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer(
      tf.constant(_pair_keys(left, right, vocabulary.size)),
      tf.range(len(left)),
    ),
    default_value=_NO_MERGE,
  )
  merged = [*(ids[a + b] for a, b in pairs), 0]
  return table, tf.constant(merged, tf.int32)


def _pair_keys(left, right, vocab_size):
  """Returns a unique int64 for each pair of ids."""
  return left * vocab_size + right


def _shift(values):
  """Returns bool [T] shifted right by one, with False in front."""
  return tf.concat([[False], values[:-1]], 0)


def _is_even_in_run(values):
  """Returns bool [T], whether the number of True right before each is even.

  Pairs can overlap: "aaa" has "aa" twice, and only the first can be merged.
  """
  begins = values & ~_shift(values)
  starts = tf.where(begins)[:, 0]
  run = tf.cumsum(tf.cast(begins, tf.int32))  # counted from 1
  starts = tf.cast(tf.concat([[0], starts], 0), tf.int32)
  return (tf.range(tf.size(values)) - tf.gather(starts, run)) % 2 == 0
