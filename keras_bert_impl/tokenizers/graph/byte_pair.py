"""Byte-pair encoding in the graph: of bytes (RoBERTa, GPT-2) or characters.

Axes: B texts, W words, U unique words, S symbols of the unique words (bytes or
characters), T their pieces, V tokens of the vocabulary.
"""

import typing

import numpy as np
import tensorflow as tf

from keras_bert_impl.tokenizers.formats import (
  byte_alphabet,
  characters,
  text_rules,
  token_texts,
  tokenizer_options,
  vocabulary_files,
)
from keras_bert_impl.tokenizers.graph import (
  alignment,
  byte_pair_words,
  merges,
  pipeline,
  steps,
  tokenizer,
)

_START = vocabulary_files.WORD_START
# The last code points of one, two and three bytes in UTF-8.
_LAST_CODES = (0x7F, 0x7FF, 0xFFFF)


class BytePairTokenizer(tokenizer.Tokenizer):
  """BPE tokenizer with the ids of GPT-2, RoBERTa and other models.

  It needs no ops but TensorFlow's own. Byte-level BPE does not normalise text
  and, where each byte has a token, none is unknown: `detokenize` restores any
  bytes, UTF-8 or not, from their ids. As in the `tokenizers` library, a byte
  without a token is left out, or the unknown token that a tokenizer.json names.
  A tokenizer.json may also be of BPE on characters (KoBART, Gemma), or split
  texts by another pattern than GPT-2's (Llama 3): bytes that are not UTF-8 are
  dropped there. Each unique word of a batch is merged once, all words in
  parallel. (For words of many thousand letters, the time grows with the square
  of the length.)

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
    super().__init__(_pairs, options, paths, name)

  @property
  def sentence_prefix(self):
    """A blank: the same word without one before it is another token."""
    return "" if self.pipeline.rules.prepends else " "


def _pairs(vocabulary, rules):
  if vocabulary.kind == vocabulary_files.CHARACTER_BPE:
    return _CharacterPairs(vocabulary, rules)
  return _BytePairs(vocabulary, rules)


class _Symbols(typing.NamedTuple):
  """What is merged.

  Attributes:
    ids: int32 [S], -1 for what is left out.
    rows: int64 [S], the word of each.
    begins: int32 [S], its first byte in the word.
    stops: int32 [S], the one after its last.
    is_unknown: bool [S], whether the id is that of an unknown symbol.
  """

  ids: tf.Tensor
  rows: tf.Tensor
  begins: tf.Tensor
  stops: tf.Tensor
  is_unknown: tf.Tensor


class _Pairs(pipeline.Pipeline):
  """Pieces of words, as merges of symbols make them. Abstract."""

  def __init__(self, vocabulary, rules):
    super().__init__(vocabulary, rules)
    self._cuts = steps.Steps(rules.cuts)
    self._merges = merges.Merges(vocabulary)
    self._word_ids = None
    if rules.ignore_merges:
      self._word_ids = pipeline.build_ids(vocabulary)
    # Eager calls use the graph too, because merging op by op is slow.
    self._find = tf.function(
      self._find_pieces,
      input_signature=[tf.TensorSpec([None], tf.string)],
      autograph=False,
    )

  def start_words(self, texts):
    if self.rules.prepends:
      return texts
    return tf.where(texts == "", "", tf.strings.join([" ", texts]))

  def look_up(self, texts):
    return self._find(texts)[0]

  def look_up_inside(self, texts, pieces):
    return self.look_up(self.fold(texts, are_parts=self.rules.prepends))

  def _find_pieces(self, texts):
    """Finds the pieces of texts [B], as of `split`.

    Returns:
      (ids, begins, stops): int32 RaggedTensor [B, (pieces)], as of
      `Pipeline.look_up`; int32 [N], the first byte of each piece in its text
      and the one after its last.
    """
    names, words, index, starts, num_words = self._different_words(texts)
    pieces, *columns = self._merge(names, self._symbols(words))
    pieces = tf.gather(pieces, index)  # [W, (pieces)]
    ids, begins, stops = (tf.gather(x, pieces.flat_values) for x in columns)
    shifts = alignment.spread(starts, pieces)
    ids = tf.RaggedTensor.from_row_lengths(
      pieces.with_flat_values(ids), num_words, validate=False
    )
    return alignment.merge_rows(ids), begins + shifts, stops + shifts

  def _different_words(self, texts):
    """Splits texts [B] into words.

    Returns:
      (names, words, index, starts, num_words): string [U], the different words
      as tokens are written; the same as `_symbols` takes them; int32 [W], which
      one each word is; int32 [W], its first byte in the text; int64 [B].
    """
    parts = tf.strings.split(self._cuts(texts), sep=text_rules.CUT)
    flat = parts.flat_values
    places = tf.where(flat != "")[:, 0]
    words, rows = self._parts(
      tf.gather(flat, places), tf.gather(alignment.rows_of(parts), places)
    )
    words, index = tf.unique(words)
    num_words = tf.math.unsorted_segment_sum(
      tf.ones_like(rows, tf.int64), rows, tf.size(texts)
    )
    sizes = tf.RaggedTensor.from_row_lengths(
      tf.gather(self.num_bytes(words), index), num_words, validate=False
    )
    ends = alignment.running_sums(sizes)
    starts = ends.flat_values - sizes.flat_values
    return *self._named(words), index, starts, num_words

  def _parts(self, words, rows):
    """Returns words [W], or parts of them that are merged alone, and rows."""
    return words, rows

  def _named(self, words):
    """Returns `names` and `words` of `_different_words` for string [U]."""
    return words, words

  def _symbols(self, words):
    """Returns the `_Symbols` of the unique words [U]."""
    raise NotImplementedError

  def _merge(self, names, symbols):
    """Merges the symbols of words.

    Args:
      names: string [U], the words as tokens are written.
      symbols: `_Symbols`.

    Returns:
      (pieces, ids, begins, stops): int32 RaggedTensor [U, (pieces)], the
      numbers of the pieces of each word; int32 [T], the ids of all pieces and
      their bytes, counted in their words.
    """
    whole = tf.fill([tf.size(symbols.ids)], -1)
    if self._word_ids:
      whole = tf.gather(self._word_ids.lookup(names), symbols.rows)
    ids = tf.where(whole < 0, symbols.ids, whole)
    kept = tf.where(ids >= 0)[:, 0]
    ids, whole, rows, begins, stops, is_unknown = (
      tf.gather(x, kept) for x in (ids, whole, *symbols[1:])
    )
    # Symbols that go on with the one before them.
    is_inside = whole >= 0
    if self.rules.fuse_unk:
      is_inside |= is_unknown & merges.shift(is_unknown)
    is_inside &= tf.concat([[-1], rows[:-1]], 0) == rows
    outer = tf.cast(tf.where(~is_inside)[:, 0], tf.int32)
    ids, firsts = self._merges(tf.gather(ids, outer), tf.gather(rows, outer))
    firsts = tf.gather(outer, firsts)  # [T]
    number = tf.tensor_scatter_nd_update(
      tf.zeros_like(rows, tf.int32), firsts[:, tf.newaxis], tf.ones_like(firsts)
    )
    stops = tf.math.segment_max(stops, tf.cumsum(number) - 1)
    pieces = tf.RaggedTensor.from_value_rowids(
      tf.range(tf.size(firsts)),
      tf.gather(rows, firsts),
      tf.size(names, tf.int64),
      validate=False,
    )
    return pieces, ids, tf.gather(begins, firsts), stops


class _BytePairs(_Pairs):
  """Symbols are bytes."""

  def __init__(self, vocabulary, rules):
    super().__init__(vocabulary, rules)
    ids = _byte_ids(vocabulary, rules.outside)
    self._is_unknown = tf.constant(ids < 0)
    self._byte_ids = tf.constant(np.where(ids < 0, rules.unk_id, ids))
    self._byte_characters = tf.constant(
      [ord(character) for character in byte_alphabet.CHARACTERS]
    )
    classes = byte_pair_words.character_classes()
    self._pages, self._page_of = map(tf.constant, classes)
    self._token_blanks = tf.constant(
      [len(text) - len(text.lstrip(b" ") or text) for text in self.token_texts]
    )

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
    if self._normalizer is not None:
      texts = steps.drop_invalid(texts)
    if not self.rules.normalizers:
      return alignment.units_of_bytes(texts)
    return alignment.units_with_blanks(
      texts, lambda parts: self.fold(parts, are_parts=True)
    )

  def join(self, token_texts):
    texts = tf.strings.reduce_join(token_texts, axis=-1)
    if self.rules.add_prefix:
      texts = tf.strings.regex_replace(texts, "^ ", "")
    return texts

  def _different_words(self, texts):
    if self.rules.cuts:
      return super()._different_words(texts)
    # [W, (bytes)]
    words, num_words = byte_pair_words.split(texts, self._pages, self._page_of)
    names, index = tf.unique(self._names(words))  # [U], [W]
    first = tf.math.unsorted_segment_min(
      tf.range(tf.size(index)), index, tf.size(names)
    )
    starts = tf.RaggedTensor.from_row_lengths(
      tf.cast(words.row_starts(), tf.int32), num_words, validate=False
    )
    text_starts = tf.cumsum(tf.strings.length(texts), exclusive=True)
    starts = starts.flat_values - alignment.spread(text_starts, starts)
    return names, tf.gather(words, first), index, starts, num_words

  def _named(self, words):
    joined = tf.io.decode_raw(tf.strings.reduce_join(words), tf.uint8)
    lengths = tf.cast(tf.strings.length(words), tf.int64)
    words = tf.RaggedTensor.from_row_lengths(
      tf.cast(joined, tf.int32), lengths, validate=False
    )
    return self._names(words), words

  def _names(self, words):
    """Returns words [W, (bytes)] in the byte alphabet, string [W]."""
    # `tf.unique` needs strings; the byte alphabet has no NUL and is UTF-8.
    codes = tf.gather(self._byte_characters, words.flat_values)
    return tf.strings.unicode_encode(words.with_flat_values(codes), "UTF-8")

  def _symbols(self, words):
    rows = words.value_rowids()
    begins = tf.ragged.range(words.row_lengths(), dtype=tf.int64).flat_values
    begins = tf.cast(begins, tf.int32)
    return _Symbols(
      tf.gather(self._byte_ids, words.flat_values),
      rows,
      begins,
      begins + 1,
      tf.gather(self._is_unknown, words.flat_values),
    )


class _CharacterPairs(_Pairs):
  """Symbols are characters, and the bytes of unknown ones if rules say so."""

  def __init__(self, vocabulary, rules):
    super().__init__(vocabulary, rules)
    # Texts that are not split are long words; parts of them come again.
    self._joins = None
    if not (rules.split_at_blanks or _merges_bytes(vocabulary)):
      self._joins = merges.Joins(vocabulary)
    ids = np.full(byte_pair_words.NUM_CODE_POINTS, -1, np.int32)
    for index, token in enumerate(vocabulary.tokens):
      if len(token) == 1 and index not in rules.outside:
        ids[ord(token)] = index
    self._character_ids = [*map(tf.constant, byte_pair_words.paged(ids))]
    self._byte_ids = None
    if rules.byte_fallback:
      byte_ids = [vocabulary.ids[f"<0x{byte:02X}>"] for byte in range(256)]
      self._byte_ids = tf.constant(byte_ids)
    # Blanks are marks, and other white space may be between words.
    spaces = characters.SPACE[1:-1] if rules.split_white_space else " "
    self._no_bytes = f"[{spaces}{_START}]"

  def find_bytes(self, texts):
    ids, *places = self._find(self.split(texts))
    return ids, *map(ids.with_flat_values, places)

  def num_bytes(self, texts):
    return tf.strings.length(self._content(texts))

  def units(self, texts):
    return alignment.units_of(
      steps.drop_invalid(texts),
      alignment.UNIT,
      lambda parts: self._content(self.fold(parts, are_parts=True)),
      characters.BLANK if self.rules.split_white_space else " ",
    )

  def _content(self, texts):
    return tf.strings.regex_replace(texts, self._no_bytes, "")

  def _parts(self, words, rows):
    if not self._joins:
      return words, rows
    codes = tf.strings.unicode_decode(words, "UTF-8")
    word, codes = alignment.rows_of(codes), codes.flat_values
    ids = byte_pair_words.of_codes(codes, *self._character_ids)
    is_unknown = ids < 0
    joins = self._joins(ids, word)
    # Unknown characters in a row may be one token.
    joins |= is_unknown & tf.roll(is_unknown, -1, 0)
    is_first = ~merges.shift(joins & (word == tf.roll(word, -1, 0)))
    parts = tf.RaggedTensor.from_row_starts(
      codes, tf.where(is_first)[:, 0], validate=False
    )
    rows = tf.gather(rows, tf.boolean_mask(word, is_first))
    return tf.strings.unicode_encode(parts, "UTF-8"), rows

  def _symbols(self, words):
    codes = tf.strings.unicode_decode(words, "UTF-8")
    rows, codes = tf.cast(alignment.rows_of(codes), tf.int64), codes.flat_values
    ids = byte_pair_words.of_codes(codes, *self._character_ids)
    sizes = sum(tf.cast(codes > most, tf.int32) for most in _LAST_CODES) + 1
    shown = tf.where(codes == ord(_START), 0, sizes)
    begins = tf.cumsum(shown, exclusive=True)
    first = tf.math.unsorted_segment_min(begins, rows, tf.size(words))
    begins -= tf.gather(first, rows)
    is_unknown = ids < 0
    if self._byte_ids is None:
      ids = tf.where(is_unknown, self.rules.unk_id, ids)
      return _Symbols(ids, rows, begins, begins + shown, is_unknown)
    # A symbol for each byte of what is unknown.
    numbers = tf.where(is_unknown, sizes, 1)
    index = tf.repeat(tf.range(tf.size(codes)), numbers)
    ids, rows, begins, shown, is_unknown, codes, sizes, start = (
      tf.gather(x, index)
      for x in (
        *(ids, rows, begins, shown, is_unknown, codes, sizes),
        tf.cumsum(numbers, exclusive=True),
      )
    )
    place = tf.range(tf.size(index)) - start
    found = tf.gather(self._byte_ids, _byte(codes, sizes, place))
    begins += tf.where(is_unknown, place, 0)
    return _Symbols(
      tf.where(is_unknown, found, ids),
      rows,
      begins,
      begins + tf.where(is_unknown, 1, shown),
      tf.zeros_like(is_unknown),
    )


def _byte(codes, sizes, place):
  """Returns the byte of UTF-8, int32 [S], at a place of code points."""
  bits = tf.bitwise.right_shift(codes, 6 * (sizes - 1 - place))
  lead = tf.gather(tf.constant([0, 0, 0xC0, 0xE0, 0xF0]), sizes)
  return tf.where(place > 0, 0x80 + bits % 64, lead + bits)


def _merges_bytes(vocabulary):
  """Returns whether a merge is of the token of a byte, such as <0xE0>."""
  tokens = {token for merge in vocabulary.merges for token in merge.split(" ")}
  return any(map(token_texts.byte_of, tokens))


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
