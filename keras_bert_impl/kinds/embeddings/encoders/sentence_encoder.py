"""Encodes sentences as vectors, from Python."""

import typing
import warnings
from collections.abc import Iterable

import keras
import numpy as np

from keras_bert_impl import heads, options
from keras_bert_impl.estimators import records
from keras_bert_impl.kinds.embeddings.encoders import (
  searching_encoder,
  text_encoder,
)
from keras_bert_impl.kinds.embeddings.tasks import embedding_scores
from keras_bert_impl.sentences import folders

if typing.TYPE_CHECKING:
  from typing_extensions import Unpack


class SentenceEncoder(text_encoder.TextEncoder):
  """Encodes sentences as vectors; reads and writes sentence-transformers.

    encoder = kb.SentenceEncoder.from_checkpoint("all-MiniLM-L6-v2")
    vectors = encoder.encode(["The cat sat.", "고양이가 앉았다."])  # [2, 384]
    encoder.fit([("Who sat?", "The cat sat."), ...], batch_size=64)

  A checkpoint without modules.json gives the mean of all tokens, with a
  warning.

  Args:
    model: `EmbeddingModel`.
    tokenizer: of `tokenizers.load`.
    texts: `folders.Texts`: prompts, and how long texts may be.

  Attributes:
    model: as given, from ids to vectors; trains like any Keras model, too.
    tokenizer: as given.
    embedding_size: int, D.
    results: dict, results.json of the last `fit`; {} before.
  """

  head = heads.ENCODER

  def encode(
    self,
    sentences: str | Iterable[typing.Any],
    prompt_name: str | None = None,
    prompt: str | None = None,
    batch_size: int = 32,
    normalize_embeddings: bool = False,
    prompt_type: typing.Any = None,
    truncate_dim: int | None = None,
    **settings: "Unpack[searching_encoder.EncodeSettings]",
  ) -> np.ndarray:
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
      prompt_type: "query" or "document", the prompt of that name, or else the
        default one.
      truncate_dim: int, numbers to cut vectors to, as of matryoshka_widths;
        default: D.
      **settings: precision, "int8" or "uint8" (places in the range of each
        dimension of these sentences: give many), "binary" or "ubinary" (bits,
        eight in a byte), as `quantize_embeddings` of sentence-transformers;
        show_progress_bar; convert_to_tensor, for a `tf.Tensor`; and what mteb
        gives besides, such as task_metadata: not read.

    Returns:
      float32 array [N, D]; of one str, [D]; of bits, int8 or uint8 [N, D / 8].

    Raises:
      TypeError: there is no such setting.
      ValueError: there is no such prompt, a sentence is no str, batch_size is
        below 1, or truncate_dim above D.
    """
    output = searching_encoder.Output.of(self.encode, settings)
    if truncate_dim is not None:
      widths = f"[1, {self.embedding_size}]"
      options.check_integers(widths, truncate_dim=truncate_dim)
    is_one = isinstance(sentences, str)
    sentences = [sentences] if is_one else _texts(sentences)
    if prompt is None and prompt_name is None and prompt_type is not None:
      prompt = self.texts.prompt_of(str(prompt_type))
    prompt = searching_encoder.chosen_prompt(self.texts, prompt_name, prompt)
    with output.bar(len(sentences)) as bar:
      vectors = self.vectors(sentences, prompt, batch_size, bar.update)
    vectors = vectors[:, :truncate_dim]
    if normalize_embeddings:
      vectors = keras.ops.convert_to_numpy(keras.ops.normalize(vectors))
    vectors = output.of_rows(vectors)
    return vectors[0] if is_one else vectors

  def similarity_pairwise(self, a: typing.Any, b: typing.Any) -> np.ndarray:
    """Returns the cosine of each vector of `a` with that of `b`, float32 [N].

    Args: as of `similarity`, of as many vectors.
    """
    a, b = _unit_rows("a", a), _unit_rows("b", b)
    if a.shape != b.shape:
      raise ValueError(
        f"a {list(a.shape)} and b {list(b.shape)} must be as many vectors of"
        " one length."
      )
    return np.sum(a * b, axis=1)

  def _compared(self, a, b):
    a, b = _unit_rows("a", a), _unit_rows("b", b)
    if a.shape[1] != b.shape[1]:
      raise ValueError(
        f"a {list(a.shape)} and b {list(b.shape)} must have vectors of one"
        " length."
      )
    return a, b

  def _similarities(self, a, b):
    return a @ b.T

  @property
  def mteb_model_meta(self):
    """What mteb keeps its results under; needs the package mteb."""
    from mteb.models import ModelMeta

    return ModelMeta.create_empty({"name": "keras_bert_impl/sentence_encoder"})

  @classmethod
  def _load(cls, folder, path, dtype):
    if not folder.modules:
      warnings.warn(
        f"There is no {folders.MODULES_FILE} in {path}, which would say how"
        " sentences are pooled: their vectors are the mean of all tokens.",
        stacklevel=3,
      )
    return super()._load(folder, path, dtype)


def _texts(sentences):
  """Returns the texts of a list of str, or of batches, tuple of str."""
  sentences = records.items_of(sentences, "sentences")
  if sentences and isinstance(sentences[0], dict):
    sentences = [text for batch in sentences for text in batch["text"]]
  return records.strings_of(sentences, "sentences", may_be_empty=True)


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
  return embedding_scores.unit(rows)
