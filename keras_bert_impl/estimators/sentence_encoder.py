"""Encodes sentences as vectors, from Python."""

import contextlib
import dataclasses
import os
import tempfile
import warnings

import keras
import numpy as np
import tensorflow as tf

from keras_bert_impl import files, options, tokenizers
from keras_bert_impl.estimators import embedding_trainer
from keras_bert_impl.runs.fine_tuning import task_parts
from keras_bert_impl.sentences import folder_models, folders
from keras_bert_impl.serving.heads import text_vectors
from keras_bert_impl.tokenizers.graph import prompts

# Arguments that mteb calls `encode` with, and that change nothing here.
_OF_MTEB = frozenset(
  ("task_metadata", "hf_split", "hf_subset", "show_progress_bar")
)


class SentenceEncoder:
  """Encodes sentences as vectors; reads and writes sentence-transformers.

    encoder = kb.SentenceEncoder.from_checkpoint("all-MiniLM-L6-v2")
    vectors = encoder.encode(["The cat sat.", "고양이가 앉았다."])  # [2, 384]
    encoder.fit([("Who sat?", "The cat sat."), ...], batch_size=64)

  Args:
    model: `EmbeddingModel`.
    tokenizer: of `tokenizers.load`.
    texts: `folders.Texts`: prompts, and how long texts may be.

  Attributes:
    model: as given, from ids to vectors; trains like any Keras model, too.
    tokenizer: as given.
    texts: as given, with `max_seq_length`.
    embedding_size: int, D.
    results: dict, results.json of the last `fit`; {} before.
  """

  def __init__(self, model, tokenizer, texts=None):
    texts = texts or folders.Texts()
    self.model = model
    self.tokenizer = tokenizer
    self.texts = texts.limited_to(model.config)
    self.embedding_size = model.output["embeddings"].shape[-1]
    self.results = {}
    self._embed = tf.function(
      self._embed_batch,
      input_signature=[
        tf.TensorSpec([None], tf.string),
        tf.TensorSpec([], tf.string),
      ],
      autograph=False,
    )

  @classmethod
  def from_checkpoint(cls, path, dtype=None):
    """Loads a folder that sentence-transformers wrote, or any checkpoint.

    A checkpoint without modules.json gives the mean of all tokens, with a
    warning.

    Args:
      path: str, as of `models.from_checkpoint`.
      dtype: as of `TransformerEncoder`.

    Raises:
      FileNotFoundError: there is no checkpoint or vocabulary.
      ValueError: it is damaged, or has a module that is not known here.
    """
    folder = folders.read(path)
    if not folder.modules:
      warnings.warn(
        f"There is no {folders.MODULES_FILE} in {path}, which would say how"
        " sentences are pooled: their vectors are the mean of all tokens.",
        stacklevel=2,
      )
    model = folder_models.load(folder, dtype)
    place = folder.transformer
    if not files.is_folder(place):
      place = os.path.dirname(place) or "."
    tokenizer = tokenizers.load(place, model.config.model_type)
    return cls(model, tokenizer, folder.texts)

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

  def similarity_pairwise(self, a, b):
    """Returns the cosine of each vector of `a` with that of `b`, float32 [N].

    Args: as of `similarity`, of as many vectors.
    """
    return np.sum(_unit_rows("a", a) * _unit_rows("b", b), axis=1)

  @property
  def mteb_model_meta(self):
    """What mteb keeps its results under; needs the package mteb."""
    from mteb.models import ModelMeta

    return ModelMeta.create_empty({"name": "keras_bert_impl/sentence_encoder"})

  def fit(
    self, data, targets=None, validation_data=None, output_dir=None, **settings
  ):
    """Trains the model, by the code of run_embeddings.py.

    Args:
      data: examples: list of tuples of texts (the anchor, its positive, any
        negatives), of two texts and a score, of dicts with the keys anchor,
        positive, negative and score, or of str, each a pair with itself
        (SimCSE); a `tf.data.Dataset` of dicts; or a file of run_embeddings.py,
        with text_columns and label_column.
      targets: list of scores, if `data` is a list of pairs.
      validation_data: as of `TextClassifier.fit`.
      output_dir: str, the same.
      **settings: as of `TextClassifier.fit` (epochs, batch_size, restore_best,
        callbacks, and flags of the script such as learning_rate), and loss
        ("in_batch", "triplet"; "cosine", "cosent" or "angle" of scores),
        chunk_size (examples at once), temperature, both_ways, margin,
        matryoshka_widths, query_prompt and document_prompt.

    Returns:
      `keras.callbacks.History`.

    Raises:
      ValueError: an example or a setting is wrong, names it.
      KeyboardInterrupt: Ctrl-C came, or a cell was interrupted.
    """
    if settings.get("pooling") is not None:
      raise ValueError(
        f"pooling ({settings['pooling']!r}) is the model's own: make another"
        " with kb.EmbeddingModel(encoder.model.encoder, pooling)."
      )
    with contextlib.ExitStack() as stack:
      if output_dir is None:
        output_dir = stack.enter_context(tempfile.TemporaryDirectory())
      history, self.results, texts = embedding_trainer.fit(
        self, data, targets, validation_data, os.fspath(output_dir), settings
      )
    merged = self.texts.prompts | texts.prompts
    self.texts = dataclasses.replace(self.texts, prompts=merged)
    return history

  def evaluate(self, data, targets=None, corpus=None, batch_size=32, **columns):
    """Returns {metric: float}: of retrieval, or of pairs with scores.

    An anchor is to find its positive among all texts that are no anchors; of
    pairs with scores, the correlations of scores and cosines.

    Args:
      data: as of `fit`; a folder of BEIR is scored on its dev or test split.
      targets: as of `fit`.
      corpus: list of str, or a file as of `fit`: other texts to search.
      batch_size: int, texts at once.
      **columns: text_columns and label_column, of a file.
    """
    examples = embedding_trainer.examples_of(data, targets, corpus, **columns)
    evaluator = task_parts.embedding_evaluator(examples)
    vectors = embedding_trainer.vectors_of(self, examples, batch_size)
    answers = evaluator.answers(examples, None, {"embeddings": vectors})
    return evaluator.score(examples, answers)

  def servable(self):
    """Returns the `EncoderServable` for `kb.export`, with its prompt."""
    return text_vectors.EncoderServable(
      self.model,
      self.tokenizer,
      self.texts.max_seq_length,
      prompt=self.texts.prompt(),
      do_lower_case=self.texts.do_lower_case,
    )

  def save(self, path):
    """Writes a folder that sentence-transformers reads.

    Args:
      path: str, a folder that is new or empty.

    Raises:
      ValueError: it is neither, or sentence-transformers has no such model.
    """
    with files.new_folder(path) as folder:
      folder_models.write(folder, self.model, self.texts)
      self.tokenizer.save(folder)

  def _embed_batch(self, sentences, prompt):
    """Returns the vectors float32 [B, D] of string [B], in graph ops."""
    inputs = prompts.encode(
      self.tokenizer,
      sentences,
      prompt,
      self.texts.max_seq_length,
      self.texts.do_lower_case,
      self.model.include_prompt,
    )
    return self.model(inputs, training=False)["embeddings"]


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
