"""Encodes texts as weights of tokens, for a search index, from Python."""

import typing
from collections.abc import Iterable

import numpy as np
import scipy.sparse

from keras_bert_impl import heads, options
from keras_bert_impl.estimators import records
from keras_bert_impl.kinds.embeddings.encoders import text_encoder
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
  ) -> typing.Any:
    """Encodes texts as weights of tokens, those of similar length together.

    Args:
      texts: list of N str, or one str.
      prompt_name: str, name of the prompt to put before each text; default:
        `texts.default_prompt_name`.
      prompt: str, the prompt itself.
      batch_size: int, texts at once.
      max_tokens: int, most tokens of a text, the strongest; default: all.

    Returns:
      list of N dicts {token of the vocabulary: weight above 0}, the strongest
      first; of one str, a dict. `vectors` returns arrays.

    Raises:
      ValueError: there is no such prompt, or a number below 1.
    """
    given = {} if max_tokens is None else {"max_tokens": max_tokens}
    options.check_integers("[1, inf)", batch_size=batch_size, **given)
    is_one = isinstance(texts, str)
    texts = records.strings_of([texts] if is_one else texts, "texts", True)
    prompt = text_encoder.chosen_prompt(self.texts, prompt_name, prompt)
    found = text_encoder.each(
      lambda vector: self._weights(vector, max_tokens),
      self,
      texts,
      prompt,
      batch_size,
    )
    return found[0] if is_one else found

  def similarity(self, a: typing.Any, b: typing.Any) -> np.ndarray:
    """Returns the dot product of each vector of `a` with each of `b`.

      encoder.similarity(encoder.encode(queries), encoder.encode(documents))

    Args:
      a: list of N dicts, as of `encode`; or one dict.
      b: list of M dicts, or one dict.

    Returns:
      float32 array [N, M].
    """
    a, b = ([rows] if isinstance(rows, dict) else rows for rows in (a, b))
    for name, rows in {"a": a, "b": b}.items():
      if not all(isinstance(row, dict) for row in records.items_of(rows, name)):
        raise ValueError(f"{name} must be dicts, as of `encode`.")
    places = {}
    for row in a:
      for token in row:
        places.setdefault(token, len(places))
    return _matrix(a, places) @ _matrix(b, places).T

  def vectors_of(self, kind, texts, batch_size=32, advance=None):
    """Returns `scipy.sparse.csr_array`s [1, V]: all of V would fill memory."""
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


def _matrix(rows, places):
  """Returns float32 [N, T] of dicts, the weights of T tokens."""
  matrix = np.zeros((len(rows), len(places)), np.float32)
  for number, row in enumerate(rows):
    for token in row.keys() & places.keys():
      matrix[number, places[token]] = row[token]
  return matrix
