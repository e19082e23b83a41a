"""Encodes texts as weights of tokens, for a search index, from Python."""

import typing
from collections.abc import Iterable

import numpy as np
import scipy.sparse
import tensorflow as tf

from keras_bert_impl import heads, options
from keras_bert_impl.estimators import records
from keras_bert_impl.kinds.embeddings.encoders import (
  searching_encoder,
  text_encoder,
)
from keras_bert_impl.sentences import folder_models


class SparseEncoder(text_encoder.TextEncoder):
  """Encodes texts as sparse vectors, SPLADE; as SparseEncoder there.

    encoder = kb.SparseEncoder.from_checkpoint("bert-base-uncased")
    encoder.fit([("Who sat?", "The cat sat."), ...], batch_size=64)
    encoder.encode("The cat sat.")  # {token: weight}, the strongest first

  Starts from any checkpoint with a head that fills masks, or a folder of
  sentence-transformers (MLMTransformer and SpladePooling).

  Args:
    model: `SparseEmbeddingModel`.
    tokenizer: of `tokenizers.load`.
    texts: `folders.Texts`: prompts, and how long texts may be.

  Attributes: as of `SentenceEncoder`; D is V, the size of the vocabulary.
  """

  head = heads.SPARSE
  similarity_name = "dot"

  def encode(
    self,
    texts: str | Iterable[str],
    prompt_name: str | None = None,
    prompt: str | None = None,
    batch_size: int = 32,
    max_tokens: int | None = None,
    show_progress_bar: bool | None = None,
    convert_to_tensor: bool = False,
  ) -> typing.Any:
    """Encodes texts as weights of tokens, those of similar length together.

    Args:
      texts: list of N str, or one str.
      prompt_name: str, name of the prompt to put before each text; default:
        `texts.default_prompt_name`.
      prompt: str, the prompt itself.
      batch_size: int, texts at once.
      max_tokens: int, most tokens of a text, the strongest; default: all.
      show_progress_bar: bool, whether a bar counts the texts.
      convert_to_tensor: bool, whether to return a `tf.SparseTensor`.

    Returns:
      list of N dicts {token of the vocabulary: weight above 0}, the strongest
      first; of one str, a dict. Or float32 `tf.SparseTensor` [N, V]; of one
      str, [V]. `vectors` returns arrays.

    Raises:
      ValueError: there is no such prompt, or a number below 1.
    """
    given = {} if max_tokens is None else {"max_tokens": max_tokens}
    options.check_integers("[1, inf)", batch_size=batch_size, **given)
    is_one = isinstance(texts, str)
    texts = records.strings_of([texts] if is_one else texts, "texts", True)
    prompt = searching_encoder.chosen_prompt(self.texts, prompt_name, prompt)
    output = searching_encoder.Output(show_progress_bar=show_progress_bar)
    with output.bar(len(texts)) as bar:
      found = text_encoder.each(
        lambda vector: self._weights(vector, max_tokens),
        self,
        texts,
        prompt,
        batch_size,
        bar.update,
      )
    if convert_to_tensor:
      found = self._tensor(found)
      return tf.sparse.reshape(found, [-1]) if is_one else found
    return found[0] if is_one else found

  def _compared(self, a, b):
    sides = {"a": a, "b": b}
    for name, rows in sides.items():
      if isinstance(rows, tf.SparseTensor):
        rows = self._dicts(rows)
      sides[name] = rows = [rows] if isinstance(rows, dict) else rows
      if not all(isinstance(row, dict) for row in records.items_of(rows, name)):
        raise ValueError(
          f"{name} must be texts, or dicts or a tf.SparseTensor of `encode`."
        )
    places = {}  # Of all tokens, those that no vocabulary has, too.
    rows = [*sides["a"], *sides["b"]]
    for row in rows:
      for token in row:
        places.setdefault(token, len(places))
    return [_matrix(side, places) for side in sides.values()]

  def _similarities(self, a, b):
    return (a @ b.T).toarray()

  def _dicts(self, tensor):
    """Returns the dicts of a `tf.SparseTensor` [N, V] or [V]."""
    tensor = tf.sparse.reshape(tensor, [-1, self.embedding_size])
    rows = [{} for _ in range(tensor.shape[0])]
    places, weights = tensor.indices.numpy(), tensor.values.numpy()
    for (row, column), weight in zip(places, weights, strict=True):
      rows[row][self.tokenizer.vocabulary.tokens[column]] = weight
    return rows

  def _tensor(self, rows):
    """Returns the `tf.SparseTensor` float32 [N, V] of dicts."""
    matrix = _matrix(rows, self.tokenizer.vocabulary.ids, self.embedding_size)
    matrix.sort_indices()
    indices = np.stack(matrix.nonzero(), axis=1).astype(np.int64)
    return tf.SparseTensor(indices, matrix.data, matrix.shape)

  def vectors_of(self, kind, texts, batch_size=32, advance=None):
    """Returns a list of `scipy.sparse.csr_array` [1, V], to save memory."""
    return text_encoder.each(
      lambda vector: scipy.sparse.csr_array(vector[None]),
      self,
      texts,
      self.texts.prompt_of(kind),
      batch_size,
      advance,
    )

  def _weights(self, vector, max_tokens):
    """Returns {token: weight} of a vector float32 [V]."""
    tokens = self.tokenizer.vocabulary.tokens
    order = np.argsort(-vector[: len(tokens)], kind="stable")[:max_tokens]
    return {tokens[k]: float(vector[k]) for k in order if vector[k] > 0}

  @classmethod
  def _load(cls, folder, path, dtype):
    return folder_models.load_sparse(folder, dtype)


def _matrix(rows, places, size=None):
  """Returns the `scipy.sparse.csr_array` float32 [N, T] of dicts.

  Args:
    rows: list of N dicts {token: weight}.
    places: {token: column}.
    size: int, T; default: as many as places.
  """
  offsets = np.cumsum([0, *map(len, rows)])
  columns = [places[token] for row in rows for token in row]
  weights = [weight for row in rows for weight in row.values()]
  return scipy.sparse.csr_array(
    (np.array(weights, np.float32), np.array(columns, np.int32), offsets),
    shape=(len(rows), size or len(places)),
  )
