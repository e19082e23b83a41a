"""Base class of what encodes sentences as vectors, from Python."""

import abc

import keras
import numpy as np
import tensorflow as tf

from keras_bert_impl import options
from keras_bert_impl.estimators import embedding_trainer
from keras_bert_impl.runs.fine_tuning import task_parts

# Arguments that mteb calls `encode` with, and that change nothing here.
_OF_MTEB = frozenset(
  ("task_metadata", "hf_split", "hf_subset", "show_progress_bar")
)


class VectorEncoder(abc.ABC):
  """Encodes sentences as vectors. Abstract.

  Args:
    model: Keras model with an output `embeddings` [B, D].
    tokenizer: of `tokenizers.load`.
    texts: `folders.Texts`.

  Attributes:
    model: as given.
    tokenizer: as given.
    texts: as given.
    embedding_size: int, D.
  """

  def __init__(self, model, tokenizer, texts):
    self.model = model
    self.tokenizer = tokenizer
    self.texts = texts
    self.embedding_size = model.output["embeddings"].shape[-1]
    self._embed = tf.function(
      self._embed_batch,
      input_signature=[
        tf.TensorSpec([None], tf.string),
        tf.TensorSpec([], tf.string),
      ],
      autograph=False,
    )

  def encode(
    self,
    sentences,
    prompt_name=None,
    prompt=None,
    batch_size=32,
    normalize_embeddings=False,
    prompt_type=None,
    **of_mteb,
  ):
    """Encodes sentences as vectors, those of similar length together.

    Args:
      sentences: list of N str, or one str; or, as mteb calls it, an iterable of
        batches, dicts with the list "text".
      prompt_name: str, name of the prompt to put before each sentence; default:
        `texts.default_prompt_name`.
      prompt: str, the prompt itself.
      batch_size: int, sentences at once.
      normalize_embeddings: bool, whether to scale vectors to length 1, if the
        model does not.
      prompt_type: "query" or "document", the prompt of that name, if there is
        one.
      **of_mteb: what mteb gives besides, such as task_metadata: not read.

    Returns:
      float32 array [N, D]; of one str, [D].

    Raises:
      ValueError: there is no such prompt, or a batch_size below 1.
    """
    for name in of_mteb.keys() - _OF_MTEB:
      raise TypeError(f"encode() has no argument {name!r}.")
    options.check_numbers(options.POSITIVE, batch_size=batch_size)
    is_one = isinstance(sentences, str)
    sentences = [sentences] if is_one else _texts(sentences)
    if prompt is None and prompt_name is None and prompt_type is not None:
      prompt = self.texts.prompts.get(str(prompt_type), "")
    prompt = self.texts.prompt(prompt_name) if prompt is None else prompt
    vectors = np.zeros((len(sentences), self.embedding_size), np.float32)
    # The longest first: if they do not fit into memory, that shows at once.
    order = np.argsort([-len(text) for text in sentences], kind="stable")
    for start in range(0, len(sentences), batch_size):
      places = order[start : start + batch_size]
      batch = tf.constant([sentences[place] for place in places], tf.string)
      vectors[places] = self._embed(batch, prompt).numpy()
    if normalize_embeddings:
      vectors = keras.ops.convert_to_numpy(keras.ops.normalize(vectors))
    return vectors[0] if is_one else vectors

  def similarity(self, a, b):
    """Returns the cosine of each vector of `a` with each of `b`.

      encoder.similarity(encoder.encode(queries), encoder.encode(documents))

    Args:
      a: float [N, D], as of `encode`; or one vector, [D].
      b: float [M, D], or [D].

    Returns:
      float32 array [N, M]; 0 for a vector of zeros.

    Raises:
      ValueError: these are no vectors, or of two lengths.

    Source: sentence-transformers, `SentenceTransformer.similarity`, by default.
    """
    a, b = _unit_rows("a", a), _unit_rows("b", b)
    if a.shape[1] != b.shape[1]:
      raise ValueError(
        f"a {list(a.shape)} and b {list(b.shape)} must have vectors of one"
        " length."
      )
    return a @ b.T

  def evaluate(self, data, targets=None, corpus=None, batch_size=32, **columns):
    """Returns {metric: float}: of retrieval, or of pairs with scores.

    An anchor is to find its positive among all texts that are no anchors; of
    pairs with scores, Spearman's and Pearson's correlation with the cosines.

    Args:
      data: as of `fit`; a folder of BEIR is scored on its dev or test split.
      targets: as of `fit`.
      corpus: list of str, or a file as of `fit`: other texts to search.
      batch_size: int, texts at once.
      **columns: text_columns and label_column, of a file.

    Raises:
      ValueError: an example is wrong.
    """
    examples = embedding_trainer.examples_of(data, targets, corpus, **columns)
    return self.score(examples, batch_size)

  def score(self, examples, batch_size=32):
    """Returns as `evaluate` of a list of `EmbeddingExample`."""
    evaluator = task_parts.embedding_evaluator(examples)
    vectors = embedding_trainer.vectors_of(self, examples, batch_size)
    answers = evaluator.answers(examples, None, {"embeddings": vectors})
    return evaluator.score(examples, answers)

  @abc.abstractmethod
  def _embed_batch(self, sentences, prompt):
    """Returns the vectors float32 [B, D] of string [B], in graph ops."""


def _texts(sentences):
  """Returns the texts of a list of str, or of batches, list of str."""
  sentences = list(sentences)
  if sentences and isinstance(sentences[0], dict):
    return [text for batch in sentences for text in batch["text"]]
  return sentences


def _unit_rows(name, vectors):
  """Returns vectors float32 [N, D] of length 1; zeros stay zeros."""
  try:
    rows = np.atleast_2d(np.asarray(vectors, np.float32))
  except (TypeError, ValueError):
    rows = None
  if rows is None or rows.ndim != 2:
    raise ValueError(
      f"{name} must be vectors [N, D] or one vector [D], of encode(sentences)."
    )
  lengths = np.linalg.norm(rows, axis=1, keepdims=True)
  return rows / np.maximum(lengths, 1e-12)
