"""From texts to pieces and back: what the kinds of tokenizers differ in.

Axes: B texts, N texts that are words or parts of words, V vocabulary.
"""

import functools

import tensorflow as tf

from keras_bert_impl.tokenizers.formats import (
  text_rules,
  token_texts,
  vocabulary_files,
)
from keras_bert_impl.tokenizers.graph import (
  added_tokens,
  alignment,
  decoding,
  steps,
)


class Pipeline(tf.Module):
  """Finds the pieces of texts in a vocabulary. Abstract.

  As in the `tokenizers` library: some added tokens are found in the text as it
  is; what is between is normalised, and the others are found in that; the rest
  is split into words, which are looked up.

  A new kind of tokenizer is a subclass that defines the methods that are not
  implemented here, and a subclass of `tokenizer.Tokenizer` that makes it.

  Args:
    vocabulary: `Vocabulary`.
    rules: `text_rules.TextRules`.

  Attributes:
    decode: function of ids, int32 RaggedTensor [B, (pieces)], that returns
      their texts, string [B].

  Raises:
    ValueError: a pattern cannot be used; a `NotInGraphError`: the rules cannot.
  """

  def __init__(self, vocabulary, rules):
    super().__init__(name="pipeline")
    if rules.not_in_graph:
      raise text_rules.NotInGraphError(rules.not_in_graph)
    self.vocabulary = vocabulary
    self.rules = rules
    self.decode = functools.partial(decoding.join, self)
    if rules.decoder:
      self.decode = decoding.Decoder(vocabulary.tokens, rules.decoder)
    self._normalizer = None
    # Byte-level BPE knows all bytes, unless patterns of RE2 split them.
    if (
      rules.normalizers
      or rules.cuts
      or vocabulary.kind != vocabulary_files.BYTE_BPE
    ):
      self._normalizer = steps.Steps(rules.normalizers)
      _check_patterns(self._normalizer, vocabulary.origin)
    self._words = steps.Steps(rules.words)
    # Where nothing is normalised, all are found at once.
    later = [
      t for t in rules.added_tokens if t.normalized and rules.normalizers
    ]
    now = [t for t in rules.added_tokens if t not in later]
    self._added = self._added_normalized = None
    if now:
      contents = [token.content.encode("utf-8") for token in now]
      self._added = added_tokens.AddedTokens(now, contents, vocabulary.origin)
    if later:
      contents = self.fold([token.content for token in later]).numpy().tolist()
      self._added_normalized = added_tokens.AddedTokens(
        later, contents, vocabulary.origin
      )
    # One trace for all callers; eager ops would be slow.
    self.align = tf.function(
      self._align,
      input_signature=[tf.TensorSpec([None], tf.string)],
      autograph=False,
    )

  def fold(self, texts, are_parts=False):
    """Returns texts [B] without added tokens, or parts of them, normalised."""
    if self._normalizer is None:
      return texts
    return self._normalizer(steps.drop_invalid(texts), are_parts)

  def normalize(self, texts, options=None):
    """Returns texts [B] as `look_up` takes them; see `Tokenizer.normalize`."""
    if options is None:
      return self.split(self.fold(texts))
    other = steps.Steps(text_rules.of_options(options).normalizers)
    return self.split(other(steps.drop_invalid(texts)))

  def tokenize(self, texts, are_words=False):
    """Returns the ids, int32 RaggedTensor [B, (pieces)], of texts [B].

    Args:
      texts: string [B].
      are_words: bool, whether each is a word, not a text.
    """

    def look_up(some):
      return [self.look_up(self.split(some))]

    def tokenize_between(some):
      some = self.start_words(some) if are_words else some
      return _around(self._added_normalized, self.fold(some), look_up)

    return _around(self._added, texts, tokenize_between)[0]

  def _align(self, texts):
    """Returns the ids, starts and ends of texts [B]; as `tokenize`."""

    def align_between(some):
      ids, begins, stops = _around(
        self._added_normalized,
        self.fold(some),
        self.find_bytes,
        self.num_bytes,
      )
      return ids, *alignment.to_characters(begins, stops, self.units(some))

    def num_characters(some):
      return tf.strings.length(some, "UTF8_CHAR")

    return tuple(_around(self._added, texts, align_between, num_characters))

  def split(self, texts):
    """Returns normalised texts [B], split into the words to look up."""
    return self._words(texts)

  def look_up(self, texts):
    """Returns the ids, int32 [B, (pieces)], of texts as of `normalize`."""
    raise NotImplementedError

  def start_words(self, texts):
    """Returns texts [N] that are words as they are inside texts."""
    return texts

  def set_apart(self, texts):
    """Returns texts [N] with blanks around characters that are words."""
    return texts

  def look_up_inside(self, texts, pieces):
    """Returns the ids, int32 [N, (pieces)], of texts [N] inside words.

    Args:
      texts: string [N].
      pieces: int32 RaggedTensor [N, (pieces)], at the beginning of words.
    """
    raise NotImplementedError

  def find_bytes(self, texts):
    """Returns the ids of texts [B], as of `fold`, with byte offsets.

    Returns:
      (ids, begins, stops), int32 RaggedTensor [B, (pieces)]; offsets in bytes
      of the normalised text without blanks. See `alignment.to_characters`.
    """
    raise NotImplementedError

  def num_bytes(self, texts):
    """Returns the bytes of texts [B], as `find_bytes` counts them."""
    raise NotImplementedError

  def units(self, texts):
    """Returns the units of texts [B]; see `alignment.units_of`."""
    raise NotImplementedError

  @functools.cached_property
  def token_texts(self):
    """List of V bytes, each token as people read it."""
    return token_texts.of(self.vocabulary)

  def join(self, token_texts):
    """Returns string [B] of ragged `token_texts` [B, (pieces)]."""
    raise NotImplementedError


def _check_patterns(normalizer, origin):
  """Raises ValueError if TensorFlow cannot use a pattern of a normalizer."""
  try:
    normalizer(tf.constant([""]))
  except tf.errors.InvalidArgumentError as error:
    raise ValueError(
      f"the normalizer in {origin} cannot be used ({error.message}): its"
      " patterns must be ones of RE2, which repeats at most 1000 times."
    ) from error


def _around(added, texts, find, measure=None):
  """Returns `added.around` of texts, or what is found without added tokens."""
  return added.around(texts, find, measure) if added else find(texts)


def build_ids(vocabulary):
  """Returns a table of the tokens that text may have to their ids; else -1."""
  special = frozenset(vocabulary.textless_ids)
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
