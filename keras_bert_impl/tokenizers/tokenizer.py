"""Base class of all tokenizers.

Axes: B texts, L ids of the longest sequence of the batch, V vocabulary. Methods
for texts [B] also take a single text and then return tensors without axis B.
"""

import os

import numpy as np
import tensorflow as tf

from keras_bert_impl import families, features
from keras_bert_impl.tokenizers import (
  alignment,
  text_words,
  token_pieces,
  vocabulary_files,
  white_space,
)
from keras_bert_impl.tokenizers import vocabulary as vocabulary_lib

WORD_IDS = "word_ids"
PADDINGS = ("longest", "max_length")
_BLANKS_AT_END = white_space.pattern(white_space.CODE_POINTS) + "+$"


class Tokenizer(tf.Module):
  """Tokenizer: text to ids and back, in graph ops. Abstract.

  Works eagerly, in tf.data and inside a SavedModel, which contains the
  vocabulary (in the graph, and as a file under assets/). Special tokens written
  in a text are text. A copy or pickle holds the paths of the files and reads
  them again.

  Args:
    vocabulary: `Vocabulary`.
    options: its options, as `vocabulary.resolve_options` returns them.
    files: list of paths to put under the assets/ of a SavedModel.
    name: name of the module.

  Attributes:
    vocabulary: as given.
    options: as given.
    framing: `families.family.Framing` of its sequences.
    sentence_prefix: str, to put before a sentence that is tokenized separately
      from the one before it, so that its first word keeps its token.
  """

  sentence_prefix = ""

  def __init__(self, vocabulary, options, files, name):
    super().__init__(name=name)
    self.vocabulary = vocabulary
    self.options = options
    family = families.FAMILIES[options.family or families.DEFAULT]
    self.framing = family.framing
    # Tracked, so that a SavedModel holds the files.
    self._assets = [tf.saved_model.Asset(path) for path in files]
    self._files = tuple(map(_absolute, files))
    # One trace for all callers; eager ops would be slow.
    self._align = tf.function(
      self._align_batch,
      input_signature=[tf.TensorSpec([None], tf.string)],
      autograph=False,
    )

  def __reduce__(self):
    return _load, (
      type(self),
      tuple(self._files),
      self.options,
      self.name,
      self.vocabulary.fingerprint,
    )

  @property
  def vocab_size(self):
    """Number of tokens, V."""
    return self.vocabulary.size

  def num_special_tokens(self, num_texts=1):
    """Returns the number of special tokens around a text or a pair, int."""
    return 2 + (num_texts - 1) * self.framing.separators

  def normalize(self, texts, options=None):
    """Normalises texts [B], string [B]: pieces are looked up in the result.

    Args:
      texts: string [B].
      options: in place of the tokenizer's own.
    """
    raise NotImplementedError

  def tokenize_normalized(self, texts):
    """Returns the ids, int32 [B, (pieces)], of `normalize`d texts [B]."""
    raise NotImplementedError

  @property
  def token_texts(self):
    """List of V bytes, each token as people read it.

    A blank in front means that it starts a word; in WordPiece, "##" that it
    does not. A token of byte-level BPE may be a part of a character.
    """
    raise NotImplementedError

  def tokenize(self, texts):
    """Tokenizes texts into ids.

    Args:
      texts: string [B], or a list of str or bytes.

    Returns:
      int32 RaggedTensor [B, (pieces)], without special tokens.
    """
    return _apply(
      lambda batch: self.tokenize_normalized(self.normalize(batch)), texts
    )

  def tokenize_with_offsets(self, texts):
    """Tokenizes texts into ids with offsets.

    A piece that is part of a character, or of one with its marks, gets the
    whole character. Deleted characters belong to a piece only if they are
    inside it; the blank before a word belongs to none. [UNK] is a whole word
    or, in SentencePiece, the part between its neighbours.

    Args:
      texts: string [B], or a list of str or bytes; bytes that are not UTF-8 do
        not count as characters.

    Returns:
      (ids, starts, ends), int32 RaggedTensor [B, (pieces)]: the ids of
      `tokenize`; the first character of each piece, and the one after its last.
      Both are equal for a piece that is only a blank.
    """
    return _apply(self._align, texts)

  def split_words_with_offsets(self, texts):
    """Splits texts into words with offsets.

    Args:
      texts: string [B], or a list of str or bytes.

    Returns:
      (words, starts, ends), as `text_words.split_with_offsets`, which is the
      same for all tokenizers.
    """
    return _apply(text_words.split_with_offsets, texts)

  def tokenize_tokens(self, tokens, unit=token_pieces.WORD):
    """Tokenizes texts that are split into tokens, each token by itself.

    Words get a blank before them in byte-level BPE (SentencePiece adds its
    own). Characters start a word after white space, punctuation and ideographs
    (whatever the normalisation separates). Other characters get continuation
    pieces, such as "##x", or their piece at the start of words if the
    vocabulary has no other.

    Args:
      tokens: string RaggedTensor [B, (tokens)].
      unit: one of `token_pieces.UNITS`: whether tokens are words or characters.

    Returns:
      int32 RaggedTensor [B, (tokens), (pieces)]; white space and deleted
      characters have no pieces.
    """
    different, index = tf.unique(tokens.flat_values)
    is_blank = tf.strings.regex_full_match(different, f"{white_space.PYTHON}*")
    texts = tf.where(is_blank, "", different)
    pieces = self._tokenize_words(texts)
    if unit == token_pieces.CHARACTER:
      continues = self._continue_words(tokens, different, index)
      pieces = tf.concat([pieces, self._tokenize_inside(texts, pieces)], axis=0)
      index = tf.where(continues, index + tf.size(different), index)
    return tokens.with_flat_values(tf.gather(pieces, index))

  def tokenize_around_masks(self, texts):
    """Tokenizes texts that may contain the mask token.

    As `tokenize`, but "[MASK]" in a text (or the vocabulary's name for it) is
    the mask token, and includes the blanks before it.
    """
    return _apply(self._tokenize_around_masks, texts)

  def tokenize_with_word_ids(self, texts):
    """Tokenizes texts into ids with the number of each piece's word.

    Args:
      texts: string [B], or a list of str or bytes.

    Returns:
      (ids, word_ids), both int32 RaggedTensor [B, (pieces)]; word_ids count
      from 0 in each text.
    """

    def split(batch):
      ids = self.tokenize(batch)
      return ids, self.word_ids(ids)

    return _apply(split, texts)

  def word_ids(self, ids):
    """Returns the number of each piece's word in its row, from 0.

    `Vocabulary.is_continuation` decides where words start.

    Args:
      ids: int32 RaggedTensor [B, (pieces)]; a special token is a word.

    Returns:
      int32 RaggedTensor [B, (pieces)].
    """
    is_continuation = tf.constant(self.vocabulary.is_continuation)
    is_start = ~tf.gather(is_continuation, ids.flat_values)
    # Every row begins a word, whatever its first piece.
    first = tf.boolean_mask(ids.row_starts(), ids.row_lengths() > 0)
    is_start = tf.tensor_scatter_nd_update(
      is_start, first[:, tf.newaxis], tf.ones_like(first, tf.bool)
    )
    # Exclusive sum over the batch; without the row's offset it counts the words
    # that started earlier in the row.
    started = tf.concat([[0], tf.cumsum(tf.cast(is_start, tf.int32))], 0)
    offsets = tf.gather(started, ids.row_starts())
    counts = started[1:] - tf.gather(offsets, ids.value_rowids())
    return ids.with_flat_values(counts - 1)

  def __call__(
    self,
    texts,
    text_pairs=None,
    max_seq_length=None,
    padding="longest",
    truncation=True,
    with_word_ids=False,
  ):
    """Tokenizes texts or pairs of texts into the inputs of an encoder.

    Args:
      texts: string [B], or a list of str or bytes.
      text_pairs: as texts, or None.
      max_seq_length: int, L at most; see `assemble`, as for the others.
      padding: "longest" or "max_length".
      truncation: bool.
      with_word_ids: bool.

    Returns:
      as `assemble`.

    Raises:
      ValueError: as `assemble`.
    """

    def encode(*sides):
      inputs = self.assemble(
        *map(self.tokenize, sides),
        max_seq_length=max_seq_length,
        padding=padding,
        truncation=truncation,
        with_word_ids=with_word_ids,
      )
      for values in inputs.values():
        # The pieces of some tokenizers do not know how many texts there are.
        values.set_shape([sides[0].shape[0], None])
      return inputs

    sides = [texts] if text_pairs is None else [texts, text_pairs]
    return _apply(encode, *sides)

  def assemble(
    self,
    pieces,
    pair_pieces=None,
    max_seq_length=None,
    padding="longest",
    truncation=True,
    with_word_ids=False,
  ):
    """Adds special tokens and padding to ids: the inputs of an encoder.

    [CLS] A [SEP] or [CLS] A [SEP] B [SEP], with as many [SEP] in between as
    `framing` says. A sequence that is too long loses tokens one by one from the
    end of the longer text, or of B where both are equally long.

    Args:
      pieces: int32 RaggedTensor [B, (pieces)].
      pair_pieces: as pieces, or None.
      max_seq_length: int, L at most, special tokens included; None: no limit.
      padding: "longest", to the longest of the batch; or "max_length", to
        max_seq_length, which is then L in the static shape.
      truncation: bool, whether to cut sequences that are too long; otherwise
        they are an error when the batch is made.
      with_word_ids: bool, whether to return word_ids, which no model takes.

    Returns:
      {name: int32 [B, L]}: input_ids; input_mask, 1 for a token and 0 for
      padding; segment_ids, 1 for B and its [SEP] if `framing` has segments;
      on request word_ids, the number of each piece's word, from 0 in A and in
      B, -1 for special tokens and padding.

    Raises:
      ValueError: max_seq_length leaves no room for a piece of each text or is
        missing, or the numbers of texts and pairs differ.
    """
    texts = [pieces] if pair_pieces is None else [pieces, pair_pieces]
    num_special = self.num_special_tokens(len(texts))
    _check_numbers(texts)
    length = _padded_length(padding, max_seq_length)
    if max_seq_length is not None:
      if max_seq_length < num_special + len(texts):
        raise ValueError(
          f"max_seq_length ({max_seq_length}) must be at least "
          f"{num_special + len(texts)}: {num_special} special tokens and one "
          "of each text."
        )
      if truncation:
        texts = _truncate(texts, max_seq_length - num_special)
      else:
        _check_lengths(texts, max_seq_length - num_special)
    ids, words, segments = (
      tf.concat(part, axis=1) for part in zip(*self._framed(texts), strict=True)
    )
    shape = [ids.shape[0], length]
    inputs = {
      features.INPUT_IDS: ids.to_tensor(self.vocabulary.pad_id, shape=shape),
      features.INPUT_MASK: tf.ones_like(ids).to_tensor(0, shape=shape),
      features.SEGMENT_IDS: segments.to_tensor(0, shape=shape),
    }
    if with_word_ids:
      inputs[WORD_IDS] = words.to_tensor(-1, shape=shape)
    return inputs

  def detokenize(self, ids):
    """Returns the text of ids, without padding, [CLS] and [SEP].

    White space, case and accents that the normalisation has removed stay
    removed; byte-level BPE removes nothing.

    Args:
      ids: int [B, (pieces)], ragged or dense, or lists of them; or those of one
        text, [pieces].

    Returns:
      string [B]; of one text, a scalar.
    """
    ids = _ragged(ids)
    if not isinstance(ids, tf.RaggedTensor):
      return self.detokenize(ids[tf.newaxis])[0]
    flat = tf.cast(ids.flat_values, tf.int32)
    role_ids = self.vocabulary.role_ids
    silent = [role_ids[r] for r in ("pad", "cls", "sep") if r in role_ids]
    is_shown = tf.reduce_all(
      flat[:, tf.newaxis] != tf.constant(silent, tf.int32), axis=-1
    )
    shown = tf.ragged.boolean_mask(
      ids.with_flat_values(flat), ids.with_flat_values(is_shown)
    )
    return self._join(tf.gather(tf.constant(self.token_texts), shown))

  def save(self, folder):
    """Writes the files that `tokenizers.load(folder)` reads.

    Returns:
      str, the path of the vocabulary.
    """
    name = vocabulary_files.FILE_NAMES[self.vocabulary.kind]
    path = vocabulary_files.beside(f"{folder}/", name)
    # The vocabulary last: where it is, its options are too.
    vocabulary_lib.save_options(path, self.options)
    self.vocabulary.save(path)
    return path

  def _framed(self, texts):
    """Returns the parts of sequences in order: special tokens and texts.

    Args:
      texts: list of one or two int32 RaggedTensor [B, (pieces)].

    Returns:
      List of (ids, word ids, segment ids), each [B, 1] or ragged [B, (pieces)].
    """
    row = tf.ones([texts[0].nrows(out_type=tf.int32), 1], tf.int32)  # [B, 1]

    def special(index, segment):
      return index * row, -row, segment * row

    cls_id, sep_id = self.vocabulary.cls_id, self.vocabulary.sep_id
    parts = [special(cls_id, 0)]
    for number, text in enumerate(texts):
      segment = number if self.framing.segments else 0
      if number:
        # The first [SEP] already follows the text before.
        parts += (self.framing.separators - 1) * [special(sep_id, 0)]
      segments = tf.fill(tf.shape(text.flat_values), segment)
      segments = text.with_flat_values(segments)
      parts.append((text, self.word_ids(text), segments))
      parts.append(special(sep_id, segment))
    return parts

  def _tokenize_around_masks(self, texts):
    """Returns the ids, int32 [B, (pieces)], of texts [B] with masks."""
    token = self.vocabulary.mask_token
    stretches = tf.strings.split(texts, sep=token)  # [B, (stretches)]
    # All stretches but the last of a text are followed by a mask.
    is_last = tf.ragged.range(stretches.row_lengths()) == (
      stretches.row_lengths()[:, tf.newaxis] - 1
    )
    flat = stretches.flat_values  # [S]
    flat = tf.where(
      is_last.flat_values,
      flat,
      tf.strings.regex_replace(flat, _BLANKS_AT_END, ""),
    )
    pieces = self.tokenize(flat)  # [S, (pieces)]
    masks = tf.fill([tf.size(flat), 1], self.vocabulary.mask_id)
    # Puts a mask before every stretch and drops that of the first.
    pieces = stretches.with_flat_values(tf.concat([masks, pieces], axis=1))
    return pieces.merge_dims(1, 2)[:, 1:]

  def _continue_words(self, tokens, different, index):
    """Returns whether tokens continue a word.

    Args:
      tokens: string RaggedTensor [B, (tokens)], N in all.
      different: string [D], the different tokens.
      index: int32 [N], where in `different` each token is.

    Returns:
      bool [N].
    """
    texts = self._set_apart(different)
    begins_apart, ends_apart = (
      tf.strings.regex_full_match(texts, pattern)
      for pattern in (
        f"(?s){white_space.PYTHON}.*",
        f"(?s).*{white_space.PYTHON}",
      )
    )
    # Deleted tokens are skipped: their neighbours are neighbours.
    places = tf.where(tf.gather(texts != "", index))[:, 0]
    index = tf.gather(index, places)
    rows = tf.gather(alignment.rows_of(tokens), places)
    is_same_text = rows[1:] == rows[:-1]
    in_word = is_same_text & ~tf.gather(ends_apart, index[:-1])
    in_word &= ~tf.gather(begins_apart, index[1:])
    return tf.scatter_nd(
      places[1:, tf.newaxis], in_word, tf.shape(tokens.flat_values, tf.int64)
    )

  def _set_apart(self, texts):
    """Returns texts [N] with blanks around characters that are words."""
    return texts

  def _tokenize_words(self, texts):
    """Returns the ids, int32 [N, (pieces)], of texts that are words."""
    return self.tokenize(texts)

  def _tokenize_inside(self, texts, pieces):
    """Returns the ids, int32 [N, (pieces)], of texts [N] inside words.

    Args:
      texts: string [N].
      pieces: int32 RaggedTensor [N, (pieces)], at the beginning of words.
    """
    raise NotImplementedError

  def _align_batch(self, texts):
    """Returns the ids, starts and ends of texts [B]."""
    ids, begins, stops = self._find_bytes(texts)
    return ids, *alignment.to_characters(begins, stops, self._units(texts))

  def _find_bytes(self, texts):
    """Returns the ids of texts [B] with byte offsets.

    Returns:
      (ids, begins, stops), int32 RaggedTensor [B, (pieces)]; offsets in bytes
      of the normalised text without blanks. See `alignment.to_characters`.
    """
    raise NotImplementedError

  def _units(self, texts):
    """Returns the units of texts [B]; see `alignment.units_of`."""
    raise NotImplementedError

  def _join(self, token_texts):
    """Returns string [B] of ragged `token_texts` [B, (pieces)]."""
    raise NotImplementedError


def build_ids(vocabulary):
  """Returns a table of the tokens that text may have to their ids; else -1."""
  special = frozenset(vocabulary.special_ids)
  ids = [i for i in range(vocabulary.size) if i not in special]
  return tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer(
      tf.constant([vocabulary.tokens[index] for index in ids]),
      tf.constant(ids),
    ),
    default_value=-1,
  )


def replace_first(pieces, ids, whole_ids):
  """Replaces the first piece of each row that has any.

  Args:
    pieces: int32 RaggedTensor [N, (pieces)].
    ids: int32 [V], what stands for a piece there.
    whole_ids: int32 [N], what stands for all of a row; -1 for nothing.
  """
  lengths = pieces.row_lengths()
  first = tf.boolean_mask(pieces.row_starts(), lengths > 0)[:, tf.newaxis]
  found = tf.gather(ids, tf.gather_nd(pieces.flat_values, first))
  pieces = pieces.with_flat_values(
    tf.tensor_scatter_nd_update(pieces.flat_values, first, found)
  )
  rows = tf.range(tf.size(whole_ids))
  is_whole = (whole_ids >= 0) & (lengths > 0)
  rows = tf.where(is_whole, rows + tf.size(whole_ids), rows)
  return tf.gather(tf.concat([pieces, whole_ids[:, tf.newaxis]], 0), rows)


def _apply(function, *sides):
  """Applies a function of batches to texts, or to one text.

  Args:
    function: callable of string tensors [B].
    *sides: string [B] or [], or what can be made one: the texts, and their
      pairs if there are any.
  """
  sides = [tf.convert_to_tensor(side, tf.string) for side in sides]
  ranks = {side.shape.rank for side in sides}
  if ranks == {1}:
    return function(*sides)
  if ranks == {0}:
    results = function(*(side[tf.newaxis] for side in sides))
    return tf.nest.map_structure(lambda result: result[0], results)
  shapes = " and ".join(str(side.shape) for side in sides)
  raise ValueError(
    f"texts must be one text, shape [], or a list of them, shape [B], and pairs"
    f" like them; not of shape {shapes}."
  )


def _check_numbers(texts):
  """Raises ValueError if the numbers of texts and pairs differ."""
  numbers = [text.shape[0] for text in texts]
  if None not in numbers and len(set(numbers)) > 1:
    raise ValueError(
      f"{numbers[0]} texts have {numbers[1]} text_pairs: each text needs one."
    )


def _check_lengths(texts, max_tokens):
  """Fails, in the graph, if a sequence has more than `max_tokens`."""
  longest = tf.reduce_max(
    tf.concat([[0], sum(text.row_lengths() for text in texts)], axis=0)
  )
  tf.debugging.assert_less_equal(
    longest,
    tf.cast(max_tokens, tf.int64),
    "A sequence has more tokens than max_seq_length leaves room for; raise it,"
    " or cut with truncation=True.",
  )


def _padded_length(padding, max_seq_length):
  """Returns the static L, int, or None if the batch decides it."""
  if padding not in PADDINGS:
    raise ValueError(
      f"padding ({padding!r}) must be one of {', '.join(PADDINGS)}."
    )
  if padding == "longest":
    return None
  if max_seq_length is None:
    raise ValueError("padding to max_length needs max_seq_length.")
  return max_seq_length


def _ragged(ids):
  """Converts ids, a tensor or lists, to int RaggedTensor or tensor [pieces]."""
  if isinstance(ids, tf.RaggedTensor):
    return ids
  if isinstance(ids, list | tuple) and (not ids or np.ndim(ids[0]) > 0):
    rows = [np.asarray(row).tolist() for row in ids]
    return tf.ragged.constant(rows, tf.int32, ragged_rank=1)
  ids = tf.convert_to_tensor(ids)
  return tf.RaggedTensor.from_tensor(ids) if ids.shape.rank == 2 else ids


def _absolute(path):
  path = os.fspath(path)
  return path if "://" in path else os.path.abspath(path)


def _load(its_class, files, options, name, fingerprint):
  """Loads a pickled tokenizer.

  Raises:
    FileNotFoundError: a file is not there any more.
    ValueError: a file was changed since.
  """
  tokenizer = its_class(*files, **vars(options), name=name)
  if tokenizer.vocabulary.fingerprint != fingerprint:
    raise ValueError(
      f"{files[0]} was changed since the tokenizer was pickled: make the "
      "tokenizer again from it."
    )
  return tokenizer


def _truncate(texts, max_tokens):
  """Truncates one or two ragged [B, (pieces)] to `max_tokens` per row."""
  if len(texts) == 1:
    return [texts[0][:, :max_tokens]]
  lengths = [text.row_lengths() for text in texts]
  # What is left when tokens go one by one off the longer text.
  shares = [max_tokens - max_tokens // 2, max_tokens // 2]
  kept = [
    tf.minimum(
      length,
      tf.maximum(tf.cast(share, tf.int64), max_tokens - other),
    )
    for length, other, share in zip(
      lengths, reversed(lengths), shares, strict=True
    )
  ]
  return [
    tf.ragged.boolean_mask(text, tf.ragged.range(length) < count[:, tf.newaxis])
    for text, length, count in zip(texts, lengths, kept, strict=True)
  ]
