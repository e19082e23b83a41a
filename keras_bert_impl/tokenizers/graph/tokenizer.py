"""Base class of all tokenizers.

Axes: B texts, L ids of the longest sequence of the batch, V vocabulary. Methods
for texts [B] also take a single text and then return tensors without axis B.
"""

import os
import re

import numpy as np
import tensorflow as tf

from keras_bert_impl import calls
from keras_bert_impl.tokenizers.formats import (
  characters,
  text_rules,
  tokenizer_json_writing,
  tokenizer_options,
  vocabularies,
)
from keras_bert_impl.tokenizers.graph import (
  alignment,
  assembly,
  text_words,
  token_pieces,
)


class _FromFiles(tf.Module, calls.Public):
  """A tokenizer that files make; a copy or pickle reads them again.

  Args:
    files: list of paths to put under the assets/ of a SavedModel; the first
      arguments of the subclass.
    name: name of the module.
  """

  _of_targets = None

  def __init__(self, files, name):
    super().__init__(name=name)
    # Tracked, so that a SavedModel holds the files.
    self._assets = [tf.saved_model.Asset(os.fspath(path)) for path in files]
    self._files = tuple(map(_absolute, files))

  @property
  def target_tokenizer(self):
    """`Tokenizer` of texts that a decoder is to write: itself, but Marian's."""
    return self._of_targets or self

  def __reduce__(self):
    return _load, (
      type(self),
      tuple(self._files),
      self.options,
      self.name,
      self.vocabulary.fingerprint,
    )

  def __repr__(self):
    """Returns its kind, size, file, options and the framing of a pair."""
    tokens, roles = self.vocabulary.tokens, self.vocabulary.role_ids
    template = [name for name, _ in self.framing.template(2)]
    frame = [tokens[roles[x]] if x in roles else x for x in template]
    options = tokenizer_options.stored_values(self.options)
    told = "".join(
      f", {name}={value!r}"
      for name, value in options.items()
      if value is not None
    )
    return (
      f"<{type(self).__name__} of {self.vocabulary.origin},"
      f" vocab_size={self.vocab_size}{told}: {' '.join(frame)}>"
    )

  def save(self, folder):
    """Writes the files that `tokenizers.load(folder)` and other programs read.

    Returns:
      str, the path of the vocabulary.
    """
    return tokenizer_json_writing.save(folder, self.vocabulary, self.options)


class Tokenizer(_FromFiles):
  """Tokenizer: text to ids and back, in graph ops. Abstract.

  Works eagerly, in tf.data and inside a SavedModel, which contains the
  vocabulary (in the graph, and as a file under assets/). Special tokens written
  in a text are text, but for those that a tokenizer.json adds. A copy or pickle
  holds the paths of the files and reads them again.

  Args:
    pipeline: subclass of `pipeline.Pipeline`.
    options: as `tokenizer_options.resolve` returns them.
    files: list of paths of the vocabulary, for the assets/ of a SavedModel.
    name: name of the module.

  Attributes:
    vocabulary: `Vocabulary`.
    options: as given.
    vocab_size: int, number of tokens, V.
    pipeline: `Pipeline`, from texts to ids.
    framing: `families.family.Framing` of its sequences.
    adds_mask: bool, whether the mask token is found in any text, as a
      tokenizer.json says.
    is_in_graph: bool, whether a SavedModel can hold it; of the class.
    sentence_prefix: str, to put before a sentence that is tokenized separately
      from the one before it, so that its first word keeps its token.
  """

  sentence_prefix = ""
  is_in_graph = True

  def __init__(self, pipeline, options, files, name):
    vocabulary = vocabularies.Vocabulary.load(*files, family=options.family)
    super().__init__(files, name)
    self.vocabulary = vocabulary
    self.vocab_size = vocabulary.size
    self.options = _options(vocabulary, options)
    rules = vocabulary.rules or text_rules.of_options(options)
    self.pipeline = pipeline(vocabulary, rules)
    self.framing = vocabulary.framing(options.family)
    mask_id = vocabulary.role_ids.get("mask")
    self.adds_mask = mask_id in [token.index for token in rules.added_tokens]

  @property
  def token_texts(self):
    """List of V bytes, each token as people read it.

    A blank in front means that it starts a word; in WordPiece, "##" that it
    does not. A token of byte-level BPE may be a part of a character.
    """
    return self.pipeline.token_texts

  def normalize(self, texts, options=None):
    """Normalises texts [B], string [B]: pieces are looked up in the result.

    Args:
      texts: string [B].
      options: in place of the tokenizer's own; of no meaning for a
        tokenizer.json.
    """
    return self.pipeline.normalize(texts, options)

  def num_special_tokens(self, num_texts=1):
    """Returns the number of special tokens around a text or a pair, int."""
    return assembly.num_special_tokens(self.framing, num_texts)

  def tokenize(self, texts):
    """Tokenizes texts into ids.

    Args:
      texts: string [B], or a list of str or bytes.

    Returns:
      int32 RaggedTensor [B, (pieces)], without special tokens.
    """
    return _apply(self.pipeline.tokenize, texts)

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
    return _apply(self.pipeline.align, texts)

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

    Byte-level BPE puts a space before each word (SentencePiece adds its own). A
    character starts a word after white space, punctuation and ideographs, where
    the normalisation splits. Other characters get continuation pieces, such as
    "##x", or the piece for the start of a word if the vocabulary lacks those.

    Args:
      tokens: string RaggedTensor [B, (tokens)].
      unit: one of `token_pieces.UNITS`: whether tokens are words or characters.

    Returns:
      int32 RaggedTensor [B, (tokens), (pieces)]; white space and deleted
      characters have no pieces.
    """
    different, index = tf.unique(tokens.flat_values)
    is_blank = tf.strings.regex_full_match(
      different, f"{characters.PYTHON_SPACE}*"
    )
    texts = tf.where(is_blank, "", different)
    pieces = self.pipeline.tokenize(texts, are_words=True)
    if unit == token_pieces.CHARACTER:
      apart = self.pipeline.set_apart(different)
      continues = _continue_words(tokens, apart, index)
      inside = self.pipeline.look_up_inside(texts, pieces)
      pieces = tf.concat([pieces, inside], axis=0)
      index = tf.where(continues, index + tf.size(different), index)
    return tokens.with_flat_values(tf.gather(pieces, index))

  def tokenize_around_masks(self, texts):
    """Tokenizes texts that may contain the mask token or T5's sentinels.

    As `tokenize`, but "[MASK]" in a text (or the vocabulary's name for it) is
    the mask token, and includes the blanks before it; sentinels likewise. A
    tokenizer.json that adds them says itself which blanks they include.
    """
    return _apply(lambda batch: _tokenize_around_masks(self, batch), texts)

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
    return assembly.word_ids(as_ragged(ids), self.vocabulary.is_continuation)

  def __call__(
    self, texts, text_pairs=None, max_seq_length=None, *others, **named
  ):
    """Tokenizes texts or pairs of texts into the inputs of an encoder.

    Args:
      texts: string [B], or a list of str or bytes.
      text_pairs: as texts, or None.
      max_seq_length: int or None, L at most.
      *others: padding ("longest" or "max_length"), truncation (bool) and
        with_word_ids (bool) of `assembly.assemble`; also by name.
      **named: those.

    Returns:
      {name: int32 [B, L]}, as `assembly.assemble`.

    Raises:
      ValueError: as `assembly.assemble`.
    """
    named |= {"pads_left": self.framing.cls_at_end}

    def encode(*sides):
      pieces = [*map(self.tokenize, sides), None][:2]
      inputs = self.assemble(*pieces, max_seq_length, *others, **named)
      for values in inputs.values():
        # The pieces of some tokenizers do not know how many texts there are.
        values.set_shape([sides[0].shape[0], None])
      return inputs

    return _apply(encode, *_given(texts, text_pairs))

  def assemble(
    self, pieces, pair_pieces=None, max_seq_length=None, *others, **named
  ):
    """Adds special tokens and padding to ids: the inputs of an encoder.

    Args:
      pieces: int32 RaggedTensor [B, (pieces)].
      pair_pieces: as pieces, or None.
      max_seq_length: int or None, L at most.
      *others: padding, truncation, with_word_ids and pads_left of
        `assembly.assemble`; also by name.
      **named: those.

    Returns:
      {name: int32 [B, L]}, as `assembly.assemble`.

    Raises:
      ValueError: as `assembly.assemble`.
    """
    texts, known = _given(pieces, pair_pieces), (self.vocabulary, self.framing)
    return assembly.assemble(texts, *known, max_seq_length, *others, **named)

  def detokenize(self, ids, skip_special_tokens=False):
    """Returns the text of ids, without padding, [CLS] and [SEP].

    White space, case and accents that the normalisation has removed stay
    removed; byte-level BPE removes nothing.

    Args:
      ids: int [B, (pieces)], ragged or dense, or lists of them; or those of one
        text, [pieces].
      skip_special_tokens: bool, whether to leave out all special tokens.

    Returns:
      string [B]; of one text, a scalar.
    """
    ids = as_ragged(ids)
    if not isinstance(ids, tf.RaggedTensor):
      return self.detokenize(ids[tf.newaxis], skip_special_tokens)[0]
    silent = _silent_ids(self.vocabulary, skip_special_tokens)
    return self.pipeline.decode(_without(ids, silent))


def _options(vocabulary, options):
  """Returns the options of a tokenizer, which a tokenizer.json has none of.

  Raises:
    ValueError: some are given, but the vocabulary is a tokenizer.json.
  """
  if not vocabulary.rules:
    return options
  if options != type(options)():
    raise ValueError(
      f"{options} cannot be used with {vocabulary.origin}, which says itself"
      " how text is normalised: leave them out."
    )
  return tokenizer_options.TokenizerJsonOptions(options.family)


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


def _tokenize_around_masks(tokenizer, texts):
  """Returns the ids of texts [B] that may contain masks, ragged."""
  vocabulary = tokenizer.vocabulary
  rules = vocabulary.rules
  added = [token.index for token in rules.added_tokens] if rules else []
  marks = [x for x in vocabularies.mark_ids(vocabulary) if x not in added]
  if not marks:
    return tokenizer.tokenize(texts)
  tokens = [vocabulary.tokens[index] for index in marks]
  found = "|".join(map(re.escape, tokens))
  # No text has NUL characters: see `vocabularies`.
  apart = tf.strings.regex_replace(
    texts, f"{characters.SPACE}*({found})", "\0\\1\0"
  )
  stretches = tf.strings.split(apart, sep="\0")  # [B, (stretches)]
  flat = stretches.flat_values  # [S]
  is_mark = flat[:, tf.newaxis] == tf.constant(tokens)  # [S, marks]
  ids = tf.gather(marks, tf.where(is_mark)[:, 1])
  number = tf.reduce_sum(tf.cast(is_mark, tf.int64), axis=1)
  pieces = tokenizer.tokenize(tf.where(number > 0, "", flat))
  marked = tf.RaggedTensor.from_row_lengths(ids, number, validate=False)
  pieces = tf.concat([marked, pieces], axis=1)
  return alignment.merge_rows(stretches.with_flat_values(pieces))


def _continue_words(tokens, texts, index):
  """Returns whether tokens continue a word.

  Args:
    tokens: string RaggedTensor [B, (tokens)], N in all.
    texts: string [D], the different tokens, with blanks around characters
      that are words.
    index: int32 [N], where in `texts` each token is.

  Returns:
    bool [N].
  """
  begins_apart, ends_apart = (
    tf.strings.regex_full_match(texts, pattern)
    for pattern in (
      f"(?s){characters.PYTHON_SPACE}.*",
      f"(?s).*{characters.PYTHON_SPACE}",
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


def _apply(function, *sides):
  """Applies a function of batches to texts, or to one text.

  Args:
    function: callable of string tensors [B].
    *sides: string [B] or [], or what can be made one: the texts, and their
      pairs if there are any.
  """
  for side in sides:
    # By its name: Keras takes seconds to import, and who has one has it.
    if type(side).__name__ == "KerasTensor":
      raise ValueError(
        f"texts ({side.name}) must be strings, not a KerasTensor: a Keras model"
        " reads ids. Tokenize before it, in dataset.map(lambda text, label:"
        " (tokenizer(text, max_seq_length=128), label)); kb.export(model,"
        " tokenizer, path) then puts the tokenizer in front of the model."
      )
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


def _given(*sides):
  return [side for side in sides if side is not None]


def as_ragged(ids):
  """Converts ids, a tensor or lists, to int RaggedTensor or tensor [pieces]."""
  if isinstance(ids, tf.RaggedTensor):
    return ids
  if isinstance(ids, list | tuple) and (not ids or np.ndim(ids[0]) > 0):
    rows = [np.asarray(row).tolist() for row in ids]
    return tf.ragged.constant(rows, tf.int32, ragged_rank=1)
  ids = tf.convert_to_tensor(ids)
  return tf.RaggedTensor.from_tensor(ids) if ids.shape.rank == 2 else ids


def _silent_ids(vocabulary, skip_special_tokens):
  """Returns the ids that `Tokenizer.detokenize` leaves out, list."""
  if skip_special_tokens:
    added = vocabulary.rules.added_tokens if vocabulary.rules else ()
    special = [token.index for token in added if token.special]
    return [*vocabulary.textless_ids, *special]
  role_ids = vocabulary.role_ids
  return [role_ids[r] for r in ("pad", "cls", "sep") if r in role_ids]


def _without(ids, silent):
  """Returns int32 RaggedTensor `ids` without those in a list."""
  flat = tf.cast(ids.flat_values, tf.int32)
  is_shown = tf.reduce_all(
    flat[:, tf.newaxis] != tf.constant(silent, tf.int32), axis=-1
  )
  return tf.ragged.boolean_mask(
    ids.with_flat_values(flat), ids.with_flat_values(is_shown)
  )
