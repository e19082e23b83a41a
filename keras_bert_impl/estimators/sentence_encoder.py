"""Encodes sentences as vectors, from Python."""

import contextlib
import dataclasses
import os
import tempfile
import warnings

from keras_bert_impl import files, tokenizers
from keras_bert_impl.estimators import embedding_trainer, vector_encoder
from keras_bert_impl.sentences import folder_models, folders
from keras_bert_impl.serving.heads import text_vectors
from keras_bert_impl.tokenizers.graph import prompts


class SentenceEncoder(vector_encoder.VectorEncoder):
  """Encodes sentences as vectors; reads and writes sentence-transformers.

    encoder = kb.SentenceEncoder.from_checkpoint("all-MiniLM-L6-v2")
    vectors = encoder.encode(["The cat sat.", "고양이가 앉았다."])  # [2, 384]
    encoder.fit([("Who sat?", "The cat sat."), ...], batch_size=64)

  Its model trains like any other, too: vectors change with it.

  Args:
    model: `EmbeddingModel`.
    tokenizer: of `tokenizers.load`.
    texts: `folders.Texts`: prompts, and how long texts may be.

  Attributes:
    model: as given, from ids to vectors.
    tokenizer: as given.
    texts: as given, with `max_seq_length`.
    embedding_size: int, D.
    results: dict, results.json of the last `fit`; {} before.
  """

  def __init__(self, model, tokenizer, texts=None):
    texts = texts or folders.Texts()
    super().__init__(model, tokenizer, texts.limited_to(model.config))
    self.results = {}

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
        matryoshka_widths, query_prompt and document_prompt.

    Returns:
      `keras.callbacks.History`.

    Raises:
      ValueError: an example or a setting is wrong, names it; or
        sentence-transformers has no such model.
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
    prompts = self.texts.prompts | texts.prompts
    self.texts = dataclasses.replace(self.texts, prompts=prompts)
    return history

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
