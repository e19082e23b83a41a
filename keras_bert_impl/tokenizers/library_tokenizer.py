"""Tokenizer of the `tokenizers` library, where tensorflow-text is missing.

It gives the ids of the tokenizers in the graph, in Python: in eager calls and
in tf.data of the same process, but in no SavedModel.
"""

import json

import tensorflow as tf
import tokenizers

from keras_bert_impl.tokenizers.formats import (
  tokenizer_json_writing,
)
from keras_bert_impl.tokenizers.graph import tokenizer


class LibraryTokenizer(tokenizer.Tokenizer):
  """Raw text to ids, by the `tokenizers` library.

  Args:
    path: str, path of a vocabulary of any kind.
    options: of its kind, as `tokenizer_options.resolve` returns them.
    name: name of the module.

  Raises:
    FileNotFoundError, ValueError: as `Vocabulary.load`.
  """

  is_in_graph = False

  def __init__(self, path, options, name="library_tokenizer"):
    def pieces(vocabulary, rules):
      return _Library(vocabulary, rules, options)

    super().__init__(pieces, options, [path], name)

  def __reduce__(self):
    return LibraryTokenizer, (self._files[0], self.options, self.name)

  def tokenize_tokens(self, tokens, unit=None):
    """Refuses: words and characters by themselves need tensorflow-text."""
    raise ImportError(
      "Tokens that are tokenized by themselves need tensorflow-text, which is"
      " not installed: pip install tensorflow-text."
    )

  def detokenize(self, ids):
    """Returns the text of ids; see `Tokenizer.detokenize`."""
    rows = tokenizer.as_ragged(ids)
    if not isinstance(rows, tf.RaggedTensor):
      return self.detokenize(rows[tf.newaxis])[0]
    return tf.constant(self.pipeline.decode(rows.to_list()))


class _Library(tf.Module):
  """What `Tokenizer` asks of a `pipeline.Pipeline`, by the library."""

  def __init__(self, vocabulary, rules, options):
    super().__init__(name="pipeline")
    self.vocabulary = vocabulary
    self.rules = rules
    content = json.loads(tokenizer_json_writing.content(vocabulary, options))
    content["post_processor"] = None
    self._hidden = {}
    if not vocabulary.rules:
      # Special tokens that stand in a text are text.
      content["added_tokens"] = []
      if content["model"]["type"] == "Unigram":
        self._hide_special(content["model"]["vocab"])
    self._library = tokenizers.Tokenizer.from_str(json.dumps(content))
    self._library.no_truncation()
    self._library.no_padding()

  def _hide_special(self, pieces):
    """Renames special pieces, which a text would have otherwise."""
    for index in self.vocabulary.special_ids:
      self._hidden[f"\0{index}\0"] = pieces[index][0]
      pieces[index][0] = f"\0{index}\0"

  @property
  def token_texts(self):
    """List of V bytes, each token as it stands in the vocabulary."""
    return [token.encode("utf-8") for token in self.vocabulary.tokens]

  def tokenize(self, texts, are_words=False):
    """Returns the ids, int32 RaggedTensor [B, (pieces)], of texts [B]."""
    del are_words
    (ids,) = self._encode(texts, lambda found, _: (found.ids,))
    return ids

  def align(self, texts):
    """Returns the ids, starts and ends of texts [B]."""

    def columns(found, text):
      offsets = [
        (end - len(text[begin:end].lstrip()), end)
        for begin, end in found.offsets
      ]
      return found.ids, [b for b, _ in offsets], [e for _, e in offsets]

    return self._encode(texts, columns, 3)

  def decode(self, rows):
    """Returns the texts of rows of ids, without padding, [CLS] and [SEP]."""
    role_ids = self.vocabulary.role_ids
    silent = {role_ids[r] for r in ("pad", "cls", "sep") if r in role_ids}
    rows = [[index for index in row if index not in silent] for row in rows]
    texts = self._library.decode_batch(rows, skip_special_tokens=False)
    for hidden, token in self._hidden.items():
      texts = [text.replace(hidden, token) for text in texts]
    return texts

  def _encode(self, texts, columns, number=1):
    """Returns `number` int32 RaggedTensors of what `columns` gives of texts."""

    def encode(batch):
      strings = [text.decode("utf-8", "ignore") for text in batch.numpy()]
      found = self._library.encode_batch(strings, add_special_tokens=False)
      rows = [*map(columns, found, strings)]
      lengths = [len(row[0]) for row in rows]
      flat = [[x for row in rows for x in row[n]] for n in range(number)]
      return (*(tf.constant(x, tf.int32) for x in flat), lengths)

    *flat, lengths = tf.py_function(
      encode, [texts], [tf.int32] * number + [tf.int64]
    )
    for values in (*flat, lengths):
      values.set_shape([None])
    return [tf.RaggedTensor.from_row_lengths(x, lengths) for x in flat]
