"""Queries and documents: their vectors, and the search among them."""

import abc
import dataclasses
import functools
import inspect
import typing
from collections.abc import Collection, Iterable

import numpy as np
import tensorflow as tf

from keras_bert_impl import calls, choices, options, progress
from keras_bert_impl.estimators import records
from keras_bert_impl.serving import quantization

# Similarities of a block of queries with all documents.
_MOST_SIMILARITIES = 2**24


class Hit(typing.TypedDict):
  """A document that was found, and its similarity."""

  corpus_id: int
  score: float


class EncodeSettings(typing.TypedDict, total=False):
  """Settings of `encode` by their names in sentence-transformers and mteb."""

  precision: str
  show_progress_bar: bool | None
  convert_to_tensor: bool
  task_metadata: typing.Any
  hf_split: typing.Any
  hf_subset: typing.Any


@dataclasses.dataclass(frozen=True, kw_only=True)
class Output:
  """How vectors are answered.

  Attributes:
    precision: str, as of `quantization.quantize`.
    show_progress_bar: bool, whether a bar counts the texts meanwhile.
    convert_to_tensor: bool, whether they are tensors of TensorFlow.

  Raises:
    ValueError: there is no such precision.
  """

  precision: str = choices.FLOAT32
  show_progress_bar: bool | None = None
  convert_to_tensor: bool = False

  def __post_init__(self):
    options.check_choice("precision", self.precision, quantization.PRECISIONS)

  @classmethod
  def of(cls, method, settings):
    """Returns the `Output` of the settings of a method.

    Args:
      method: bound method, as which messages name it.
      settings: {name: value}, `EncodeSettings`, of which mteb's are not read.

    Raises:
      TypeError: there is no setting of a name.
      ValueError: one is wrong.
    """
    title = f"{type(method.__self__).__name__}.{method.__name__}"
    known = EncodeSettings.__annotations__
    calls.check_names(title, inspect.signature(method), settings, known)
    own = options.names(cls)
    return cls(**{k: v for k, v in settings.items() if k in own})

  def bar(self, total, done="Encoded", unit=" texts"):
    """Returns the bar of `total` texts, which may be one that is not shown."""
    is_hidden = {} if self.show_progress_bar else {"disable": True}
    return progress.bar(done, total=total, unit=unit, **is_hidden)

  def of_rows(self, vectors):
    """Returns vectors float32 [N, D] as they are answered.

    Raises:
      ValueError: one alone has no ranges, in which integers are places.
    """
    if self.precision in (choices.INT8, "uint8") and len(vectors) == 1:
      raise ValueError(
        f"precision ({self.precision!r}) needs several texts at once, whose"
        " vectors say what their numbers range over; float32, binary and"
        " ubinary do not."
      )
    vectors = quantization.quantize(vectors, self.precision)
    return tf.constant(vectors) if self.convert_to_tensor else vectors

  def of_tokens(self, vectors):
    """Returns the vectors of tokens as they are answered.

    Args:
      vectors: list of N float32 arrays [L, D].
    """
    if self.precision != choices.FLOAT32 and vectors:
      ends = np.cumsum([*map(len, vectors)])[:-1]
      rows = quantization.quantize(np.concatenate(vectors), self.precision)
      vectors = np.split(rows, ends)
    return [*map(tf.constant, vectors)] if self.convert_to_tensor else vectors


class SearchingEncoder(calls.Public, abc.ABC):
  """An encoder that tells queries from documents, and searches. Abstract."""

  # Methods that encode the texts of either side of `similarity`.
  _sides = ("encode", "encode")

  def encode_query(
    self,
    texts: str | Iterable[str],
    prompt_name: str | None = None,
    prompt: str | None = None,
    batch_size: int = 32,
    **settings: typing.Any,
  ) -> typing.Any:
    """Encodes queries: as `encode`, with the prompt "query" if there is one.

    Args:
      texts: list of N str, or one str.
      prompt_name: str, name of another prompt.
      prompt: str, another prompt.
      batch_size: int, texts at once.
      **settings: others of `encode`.

    Raises:
      TypeError: `encode` has no such setting.
      ValueError: as `encode`.

    Source: sentence-transformers, `SentenceTransformer.encode_query`.
    """
    prompt = self._prompt_of("query", prompt_name, prompt)
    return self.encode(texts, None, prompt, batch_size, **settings)

  def encode_document(
    self,
    texts: str | Iterable[str],
    prompt_name: str | None = None,
    prompt: str | None = None,
    batch_size: int = 32,
    **settings: typing.Any,
  ) -> typing.Any:
    """Encodes documents, with the prompt "document", "passage" or "corpus".

    Args and raises: as `encode_query`.
    """
    prompt = self._prompt_of("document", prompt_name, prompt)
    return self.encode(texts, None, prompt, batch_size, **settings)

  def similarity(self, a: typing.Any, b: typing.Any) -> np.ndarray:
    """Returns the similarity of each text of `a` with each of `b`.

      encoder.similarity(["The cat sat."], ["A cat sits.", "It rained."])

    Cosines; of sparse vectors dot products; of late interaction MaxSim, where
    `a` are queries and `b` documents.

    Args:
      a: list of N str, or one str, as `encode` encodes them; or their vectors:
        float [N, D] or [D], list of dicts or one dict, list of arrays [L, D] or
        one array.
      b: the same of M texts.

    Returns:
      float32 array [N, M]; 0 for a vector of zeros.

    Raises:
      ValueError: these are no texts or vectors, or vectors of two lengths.

    Source: sentence-transformers, `SentenceTransformer.similarity`, by default.
    """
    encode = (getattr(self, name) for name in self._sides)
    a, b = map(_encoded, encode, (a, b))
    return self._similarities(*self._compared(a, b))

  def search(
    self,
    queries: typing.Any,
    corpus: typing.Any,
    top_k: int = 10,
    batch_size: int = 32,
    show_progress_bar: bool = False,
  ) -> list[list[Hit]]:
    """Finds the most similar documents of each query, by comparing with all.

      encoder.search("Who sat?", ["It rained.", "The cat sat."], top_k=1)
      # [[{"corpus_id": 1, "score": 0.61}]]

    Args:
      queries: list of Q str, or one str, as of `encode_query`; or their
        vectors, as of `similarity`.
      corpus: list of N str, as of `encode_document`; or their vectors.
      top_k: int, documents of each query; fewer if there are not as many.
      batch_size: int, texts at once.
      show_progress_bar: bool, whether a bar counts the encoded texts.

    Returns:
      list of Q lists of {"corpus_id": place in `corpus`, "score": similarity},
      the best first; of equal ones the first of the corpus.

    Raises:
      ValueError: as `similarity`, or top_k is below 1.

    Source: sentence-transformers, `util.semantic_search`.
    """
    named = {"batch_size": batch_size, "show_progress_bar": show_progress_bar}
    queries = _encoded(functools.partial(self.encode_query, **named), queries)
    corpus = _encoded(functools.partial(self.encode_document, **named), corpus)
    return [
      [{"corpus_id": x["index"], "score": x["score"]} for x in best]
      for scores in self._rows(queries, corpus)
      for best in [records.best(scores, top_k)]
    ]

  def similarity_rows(self, queries, documents):
    """Yields the similarities of each query with all documents, float32 [M].

    Args:
      queries: list of N str.
      documents: list of M str.
    """
    encoded = self.encode_query(queries), self.encode_document(documents)
    yield from self._rows(*encoded)

  def _rows(self, queries, corpus):
    """Yields float32 [M] of each query, both as of `search`."""
    queries, corpus = self._compared(queries, corpus)
    size = max(1, _MOST_SIMILARITIES // max(1, _number(corpus)))
    for start in range(0, _number(queries), size):
      yield from self._similarities(queries[start : start + size], corpus)

  @abc.abstractmethod
  def _compared(self, a, b):
    """Returns vectors of texts as `_similarities` takes them, checked.

    The first can be cut into blocks.
    """

  @abc.abstractmethod
  def _similarities(self, a, b):
    """Returns float32 [N, M] of what `_compared` returned."""

  def _prompt_of(self, kind, name, prompt):
    """Returns the prompt that is given, or that of "query" or "document"."""
    if prompt is None and name is None:
      return self.texts.prompt_of(kind)
    return chosen_prompt(self.texts, name, prompt)


def chosen_prompt(texts, name, prompt):
  """Returns the prompt that is given, or that of a name or the default one.

  Args:
    texts: `folders.Texts`.
    name: str, or None.
    prompt: str, or None.

  Raises:
    ValueError: it is no str, or there is none of that name.
  """
  if prompt is None:
    return texts.prompt(name)
  return records.checked_text(prompt, "prompt")


def _encoded(encode, values):
  """Returns the vectors of texts, list or one, and vectors as they are."""
  if isinstance(values, str):
    return encode([values])
  is_listed = isinstance(values, Collection) and not isinstance(values, dict)
  first = next(iter(values), None) if is_listed else None
  return encode(values) if isinstance(first, str) else values


def _number(rows):
  """Returns the number of rows of an array, a sparse one or a list."""
  return rows.shape[0] if hasattr(rows, "shape") else len(rows)
