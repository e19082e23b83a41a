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

  It needs no ops but TensorFlow's own. Text is not normalised and, where each
  byte has a token, none is unknown: `detokenize` restores any bytes, UTF-8 or
  not, from their ids. As in the `tokenizers` library, a byte without a token is
  left out, or the unknown token that a tokenizer.json names. Each unique word
  of a batch is merged once, all words in parallel. (For words of many thousand
  letters, the time grows with the square of the length.)

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
    ValueError: no token has a blank: it is of no byte-level BPE.
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
    ids = _byte_ids(vocabulary, rules.outside)
    self._is_known = tf.constant(ids >= 0)
    self._byte_ids = tf.constant(np.where(ids < 0, rules.unk_id, ids))
    self._byte_characters = tf.constant(
      [ord(character) for character in byte_alphabet.CHARACTERS]
    )
    classes = byte_pair_words.character_classes()
    self._pages, self._page_of = map(tf.constant, classes)
    self._ranks, self._merged = _merge_tables(vocabulary)
    self._token_blanks = tf.constant(
      [len(text) - len(text.lstrip(b" ") or text) for text in self.token_texts]
    )
    # Eager calls use the graph too, because merging op by op is slow.
    self._find = tf.function(
      self._find_pieces,
      input_signature=[tf.TensorSpec([None], tf.string)],
      autograph=False,
    )

  def start_words(self, texts):
    return tf.where(texts == "", "", tf.strings.join([" ", texts]))

  def look_up(self, texts):
    return self._find(texts)[0]

  def look_up_inside(self, texts, pieces):
    return self.look_up(self.fold(texts))

  def find_bytes(self, texts):
    words = self.split(texts)
    ids, begins, stops = self._find(words)
    begins += tf.gather(self._token_blanks, ids.flat_values)
    # Offsets must not count the blank that was added before the first word.
    num_added = tf.strings.length(words) - tf.strings.length(texts)
    num_added = alignment.spread(num_added, ids)
    return ids, *(ids.with_flat_values(x - num_added) for x in (begins, stops))

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

  def _find_pieces(self, texts):
    """Finds the pieces of texts [B].

    Returns:
      (ids, begins, stops): int32 RaggedTensor [B, (pieces)], as of
      `Pipeline.look_up`; int32 [N], the first byte of each piece in its text
      and the one after its last.
    """
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
    pieces, *columns = self._merge(tf.gather(words, first))
    pieces = tf.gather(pieces, index)  # [W, (pieces)]
    ids, begins, stops = (tf.gather(x, pieces.flat_values) for x in columns)
    starts = tf.RaggedTensor.from_row_lengths(
      tf.cast(words.row_starts(), tf.int32), num_words, validate=False
    )
    text_starts = tf.cumsum(tf.strings.length(texts), exclusive=True)
    starts = starts.flat_values - alignment.spread(text_starts, starts)
    shifts = alignment.spread(starts, pieces)
    ids = tf.RaggedTensor.from_row_lengths(
      pieces.with_flat_values(ids), num_words, validate=False
    )
    return alignment.merge_rows(ids), begins + shifts, stops + shifts

  def _merge(self, words):
    """Merges the bytes of words.

    In each step, every word merges all occurrences of its pair of lowest rank,
    the earliest in merges.txt. Words without a pair to merge leave the loop.

    Args:
      words: int32 RaggedTensor [U, (bytes)], the bytes of the words.

    Returns:
      (pieces, ids, begins, stops): int32 RaggedTensor [U, (pieces)], the
      numbers of the pieces of each word; int32 [T], the ids of all pieces and
      their bytes, counted in their words.
    """
    ids = tf.gather(self._byte_ids, words.flat_values)
    rows, size = words.value_rowids(), tf.size(ids)
    places = tf.cast(tf.where(ids >= 0)[:, 0], tf.int32)
    kept = self._fuse(words, rows, places)

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
      [0, tf.gather(ids, kept), tf.gather(rows, kept), kept, *done],
    )
    # id + 1 of each piece at the position of its first byte, else 0.
    found = tf.scatter_nd(
      done_places.concat()[:, tf.newaxis], done_ids.concat() + 1, [size]
    )
    begins = tf.cast(tf.where(found > 0)[:, 0], tf.int32)  # [T]
    numbers = tf.cumsum(tf.cast(found > 0, tf.int32)) - 1
    stops = tf.math.segment_max(places + 1, tf.gather(numbers, places))
    piece_rows = tf.gather(rows, begins)
    pieces = tf.RaggedTensor.from_value_rowids(
      tf.range(tf.size(begins)), piece_rows, words.nrows(), validate=False
    )
    starts = tf.cast(tf.gather(words.row_starts(), piece_rows), tf.int32)
    return pieces, tf.gather(found, begins) - 1, begins - starts, stops - starts

  def _fuse(self, words, rows, places):
    """Returns the places of bytes without unknown ones after unknown ones."""
    if not self.rules.fuse_unk:
      return places
    is_known = tf.gather(self._is_known, tf.gather(words.flat_values, places))
    rows = tf.gather(rows, places)
    is_fused = _shift(~is_known) & ~is_known & (rows == tf.roll(rows, 1, 0))
    return tf.boolean_mask(places, ~is_fused)

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


def _byte_ids(vocabulary, outside):
  """Returns the id of each byte's token, -1 for none, int32 array [256]."""
  is_json = vocabulary.rules is not None  # It says itself what it is.
  blank = byte_alphabet.BLANK
  if not is_json and not any(blank in token for token in vocabulary.tokens):
    raise ValueError(
      f"{vocabulary.origin} has no token with {blank!r}, the blank of"
      " byte-level BPE: give a vocabulary of that kind."
    )
  ids = [vocabulary.ids.get(c, -1) for c in byte_alphabet.CHARACTERS]
  return np.array([-1 if i in outside else i for i in ids], np.int32)


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
