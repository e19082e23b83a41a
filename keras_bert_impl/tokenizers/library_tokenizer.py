"""Tokenizer of the `tokenizers` library, where the graph can have none.

That is where tensorflow-text is missing, or a tokenizer.json asks for what no
ops do. It gives the same ids in Python: in eager calls and in tf.data of the
same process, but in no SavedModel.
"""

import tensorflow as tf

from keras_bert_impl.tokenizers.formats import library, vocabularies
from keras_bert_impl.tokenizers.graph import token_pieces, tokenizer


class LibraryTokenizer(tokenizer.Tokenizer):
  """Raw text to ids, by the `tokenizers` library.

  Args:
    path: str, path of a vocabulary of any kind.
    options: of its kind, as `tokenizer_options.resolve` returns them.
    reason: str, why it is not in the graph.
    name: name of the module.

  Raises:
    FileNotFoundError, ValueError: as `Vocabulary.load`.
  """

  is_in_graph = False

  def __init__(
    self,
    path,
    options,
    reason="tensorflow-text is not installed",
    name="library_tokenizer",
  ):
    def pieces(vocabulary, rules):
      return _Library(vocabulary, rules, options)

    super().__init__(pieces, options, [path], name)
    self.reason = reason
    if of_targets := vocabularies.of_targets(self.vocabulary):
      self._of_targets = LibraryTokenizer(of_targets, options, reason)

  def __reduce__(self):
    arguments = (self._files[0], self.options, self.reason, self.name)
    return LibraryTokenizer, arguments

  def tokenize_tokens(self, tokens, unit=token_pieces.WORD):
    """Returns the ids of tokens, which must be words; see `Tokenizer`."""
    if unit == token_pieces.CHARACTER:
      raise ImportError(
        "Characters that are tokenized by themselves need a tokenizer in the"
        f" graph, but {self.reason}."
      )
    return super().tokenize_tokens(tokens, unit)


class _Library(tf.Module):
  """What `Tokenizer` asks of a `pipeline.Pipeline`, by the library."""

  def __init__(self, vocabulary, rules, options):
    super().__init__(name="pipeline")
    self.vocabulary = vocabulary
    self.rules = rules
    self._library = library.Library(vocabulary, options)

  @property
  def token_texts(self):
    """List of V bytes, each token as it stands in the vocabulary."""
    return [token.encode("utf-8") for token in self.vocabulary.tokens]

  def tokenize(self, texts, are_words=False):
    """Returns the ids, int32 RaggedTensor [B, (pieces)], of texts [B]."""
    pieces = self._library.words if are_words else self._library.pieces
    (ids,) = _encode(texts, lambda strings: [(x,) for x in pieces(strings)])
    return ids

  def align(self, texts):
    """Returns the ids, starts and ends of texts [B]."""
    return _encode(texts, self._library.align, 3)

  def decode(self, ids):
    """Returns the texts of ids, eager int32 RaggedTensor [B, (pieces)]."""
    return tf.constant(self._library.decode(ids.to_list()), tf.string)


def _encode(texts, rows_of, number=1):
  """Returns `number` int32 RaggedTensors of what `rows_of` gives of texts."""

  def encode(batch):
    strings = [text.decode("utf-8", "ignore") for text in batch.numpy()]
    rows = rows_of(strings)
    lengths = [len(row[0]) for row in rows]
    flat = [[x for row in rows for x in row[n]] for n in range(number)]
    return (*(tf.constant(x, tf.int32) for x in flat), lengths)

  *flat, lengths = tf.py_function(
    encode, [texts], [tf.int32] * number + [tf.int64]
  )
  for values in (*flat, lengths):
    values.set_shape([None])
  return [tf.RaggedTensor.from_row_lengths(x, lengths) for x in flat]
