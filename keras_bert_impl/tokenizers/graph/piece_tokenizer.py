"""What the kinds of tokenizers differ in: texts to pieces and back.

Axes: B texts, N texts that are words or parts of words, V vocabulary.
"""

import os

import tensorflow as tf

from keras_bert_impl.tokenizers.formats import (
  tokenizer_json_writing,
  tokenizer_options,
)


class PieceTokenizer(tf.Module):
  """A vocabulary, and how its pieces are found in texts. Abstract.

  A new kind of tokenizer is a subclass of `tokenizer.Tokenizer` that defines
  the methods not implemented here; everything else follows from them.

  Args:
    vocabulary: `Vocabulary`.
    options: its options, as `tokenizer_options.resolve` returns them.
    files: list of paths to put under the assets/ of a SavedModel; the first
      arguments of the subclass, which make it again from a pickle.
    name: name of the module.
  """

  def __init__(self, vocabulary, options, files, name):
    super().__init__(name=name)
    self.vocabulary = vocabulary
    self.rules = vocabulary.rules
    self.options = _options(vocabulary, options)
    # Tracked, so that a SavedModel holds the files.
    self._assets = [tf.saved_model.Asset(path) for path in files]
    self._files = tuple(map(_absolute, files))

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

  def save(self, folder):
    """Writes the files that `tokenizers.load(folder)` and other programs read.

    Returns:
      str, the path of the vocabulary.
    """
    return tokenizer_json_writing.save(folder, self.vocabulary, self.options)

  def _prepare(self, texts, options=None):
    """Returns texts [B], normalised as the options say, ready to be looked up.

    Args:
      texts: string [B], as a tokenizer.json has them normalised.
      options: in place of the tokenizer's own; of no meaning for a
        tokenizer.json.
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

  def _set_apart(self, texts):
    """Returns texts [N] with blanks around characters that are words."""
    return texts

  def _tokenize_words(self, texts):
    """Returns the ids, int32 [N, (pieces)], of texts that are words."""
    raise NotImplementedError

  def _tokenize_inside(self, texts, pieces):
    """Returns the ids, int32 [N, (pieces)], of texts [N] inside words.

    Args:
      texts: string [N].
      pieces: int32 RaggedTensor [N, (pieces)], at the beginning of words.
    """
    raise NotImplementedError

  def _find_bytes(self, texts):
    """Returns the ids of texts [B], as for `_prepare`, with byte offsets.

    Returns:
      (ids, begins, stops), int32 RaggedTensor [B, (pieces)]; offsets in bytes
      of the normalised text without blanks. See `alignment.to_characters`.
    """
    raise NotImplementedError

  def _num_bytes(self, texts):
    """Returns the bytes of texts [B], as `_find_bytes` counts them."""
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
  ids = [i for i in vocabulary.ids.values() if i not in special]
  return tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer(
      tf.constant([vocabulary.tokens[index] for index in ids]),
      tf.constant(ids),
    ),
    default_value=-1,
  )


def replace_first(pieces, ids, whole_ids):
  """Returns pieces with the first piece of each row replaced.

  Args:
    pieces: int32 RaggedTensor [N, (pieces)].
    ids: int32 [V], replacement of each id as a first piece.
    whole_ids: int32 [N], id that replaces the whole row; -1 to keep it.
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
