"""Base class of what encodes texts as vectors, from Python."""

import abc
import contextlib
import dataclasses
import os
import tempfile

import numpy as np
import tensorflow as tf

from keras_bert_impl import files, options, tokenizers
from keras_bert_impl.estimators import embedding_trainer
from keras_bert_impl.runs.fine_tuning import task_parts
from keras_bert_impl.sentences import folder_models, folders
from keras_bert_impl.tokenizers.graph import prompts


class TextEncoder(abc.ABC):
  """Encodes texts; reads and writes folders of sentence-transformers. Abstract.

  Args:
    model: model of ids with the output "embeddings".
    tokenizer: of `tokenizers.load`.
    texts: `folders.Texts`: prompts, and how long texts may be.

  Attributes:
    model: as given, from ids to vectors.
    tokenizer: as given.
    texts: as given, with `max_seq_length`.
    embedding_size: int, D.
    results: dict, results.json of the last `fit`; {} before.
    head: str, of `keras_bert_impl.heads`; of the class.
    similarity_name: str, of `embedding_scores.SIMILARITIES`; of the class.
  """

  head = None
  similarity_name = None

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

    Args:
      path: str, as of `models.from_checkpoint`.
      dtype: as of `TransformerEncoder`.

    Raises:
      FileNotFoundError: there is no checkpoint or vocabulary.
      ValueError: it is damaged, has a module that is not known here, or makes
        other vectors.
    """
    folder = folders.read(path)
    model = cls._load(folder, path, dtype)
    place = folder.transformer
    if not files.is_folder(place):
      place = os.path.dirname(place) or "."
    tokenizer = tokenizers.load(place, model.config.model_type)
    return cls(model, tokenizer, folder.texts)

  def vectors(self, texts, prompt="", batch_size=32):
    """Returns the whole vectors of texts, float32 array [N, D].

    Those of similar length are encoded together.

    Args:
      texts: list of N str.
      prompt: str, to put before each.
      batch_size: int, texts at once.

    Raises:
      ValueError: a batch_size below 1.
    """
    options.check_numbers(options.POSITIVE, batch_size=batch_size)
    vectors = np.zeros((len(texts), self.embedding_size), np.float32)
    for places, found in self._batches(texts, prompt, batch_size):
      vectors[places] = found
    return vectors

  def fit(
    self, data, targets=None, validation_data=None, output_dir=None, **settings
  ):
    """Trains the model, by the code of run_embeddings.py.

    Args:
      data: examples: list of tuples of texts (the anchor, its positive, any
        negatives), of two texts and a score, of dicts with the keys anchor,
        positive, negative and score, or of str, each a pair with itself
        (SimCSE); a `tf.data.Dataset` of such dicts; or a file of
        run_embeddings.py, with text_columns and label_column.
      targets: list of scores, if `data` is a list of pairs.
      validation_data: examples to score after each epoch and at the end, as
        `data` or as a tuple (data, targets); or float in (0, 1), the share of
        the examples to hold out for that.
      output_dir: str, folder of the run: a run that was killed goes on there
        when `fit` is called again. Default: a temporary folder.
      **settings: as of `TextClassifier.fit` (epochs, batch_size, restore_best,
        callbacks, and flags of the script such as learning_rate), and loss
        ("in_batch", "triplet"; "cosine", "cosent" or "angle" of scores),
        chunk_size (examples at once), temperature, both_ways, margin,
        matryoshka_widths, query_prompt and document_prompt; of sparse vectors
        query_flops_weight and document_flops_weight.

    Returns:
      `keras.callbacks.History`.

    Raises:
      ValueError: an example or a setting is wrong, names it; or
        sentence-transformers has no such model.
      KeyboardInterrupt: Ctrl-C came, or a cell was interrupted.
    """
    for name in ("pooling", "vectors"):
      if settings.get(name) is not None:
        raise ValueError(
          f"{name} ({settings[name]!r}) is the model's own: make another"
          " encoder, with kb.EmbeddingModel(encoder.model.encoder, pooling) or"
          " of the class kb.SparseEncoder or kb.MultiVectorEncoder."
        )
    with contextlib.ExitStack() as stack:
      if output_dir is None:
        output_dir = stack.enter_context(tempfile.TemporaryDirectory())
      history, self.results, texts = embedding_trainer.fit(
        self, data, targets, validation_data, os.fspath(output_dir), settings
      )
    prompts = self.texts.prompts | texts.prompts
    self.texts = dataclasses.replace(
      self.texts, prompts=prompts, late=texts.late
    )
    return history

  def evaluate(self, data, targets=None, corpus=None, batch_size=32, **columns):
    """Returns {metric: float}: of retrieval, or of pairs with scores.

    An anchor is to find its positive among all texts that are no anchors; of
    pairs with scores, Spearman's and Pearson's correlation with the
    similarities.

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
    """Returns as `evaluate`, of a list of `EmbeddingExample`."""
    evaluator = task_parts.embedding_evaluator(examples, self.similarity_name)
    vectors = embedding_trainer.vectors_of(self, examples, batch_size)
    answers = evaluator.answers(examples, None, {"embeddings": vectors})
    return evaluator.score(examples, answers)

  @abc.abstractmethod
  def servable(self):
    """Returns the `Servable` for `kb.export`, with the default prompt."""

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
      getattr(self.model, "include_prompt", True),
    )
    return self.model(inputs, training=False)["embeddings"]

  def _batches(self, texts, prompt, batch_size):
    """Yields (places in texts, float32 [n, D]) of batches of texts."""
    # The longest first: if they do not fit into memory, that shows at once.
    order = np.argsort([-len(text) for text in texts], kind="stable")
    for start in range(0, len(texts), batch_size):
      places = order[start : start + batch_size]
      batch = tf.constant([texts[place] for place in places], tf.string)
      yield places, self._embed(batch, prompt).numpy()

  @classmethod
  @abc.abstractmethod
  def _load(cls, folder, path, dtype):
    """Returns the model of a `folders.Folder`, which is at `path`."""
