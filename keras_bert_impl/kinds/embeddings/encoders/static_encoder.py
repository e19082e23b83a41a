"""Encodes sentences as vectors without a transformer, from Python."""

import typing
from collections.abc import Iterable

import keras
import numpy as np

from keras_bert_impl import files, heads
from keras_bert_impl.checkpoints.descriptions import vocab_size
from keras_bert_impl.estimators import typed
from keras_bert_impl.kinds.embeddings.encoders import (
  sentence_encoder,
  static_distillation,
)
from keras_bert_impl.kinds.embeddings.servables import static_vectors
from keras_bert_impl.tokenizers.graph import prompts

if typing.TYPE_CHECKING:
  from typing_extensions import Self


# Adam at a constant rate, as a table is trained: no decay, no clipping.
_TRAINING = {
  "learning_rate_schedule": "trapezoidal",
  "num_decay_steps": 0,
  "warmup_proportion": 0.0,
  "weight_decay_rate": 0.0,
  "clip_norm": 0.0,
  "adam_epsilon": 1e-7,
  "use_bias_correction": True,
}


class StaticEncoder(sentence_encoder.SentenceEncoder):
  """Static sentence embeddings: the mean of one learned vector per token.

    small = kb.StaticEncoder.distil(encoder)  # a `SentenceEncoder`
    vectors = small.encode(["The cat sat.", "고양이가 앉았다."])  # [2, 256]
    small.save("small")  # opened by sentence-transformers

  Hundreds of times faster than a transformer, and blind to the order of words.
  Texts are not framed by special tokens. Folders are those of
  sentence-transformers or model2vec; vectors are as of the former, which keeps
  [UNK], where model2vec leaves it out.

  Args:
    model: `StaticEmbeddingModel`.
    tokenizer: of `tokenizers.load`.
    texts: `folders.Texts`: prompts, and how long texts may be; by default they
      are read to their ends.

  Attributes:
    model: as given.
    tokenizer: as given.
    embedding_size: int, D.

  Raises:
    ValueError: the model has fewer rows than the tokenizer has tokens.

  Source: Tulkens and van Dongen 2024, Model2Vec; sentence-transformers,
  static_embedding.py.
  """

  head = heads.STATIC
  _not_here = sentence_encoder.SentenceEncoder._not_here | dict.fromkeys(
    ("layerwise_lr_decay", "lora_rank", "train_layers"),
    "must be left out: static embeddings have no layers.",
  )

  def __init__(self, model, tokenizer, texts=None):
    vocabulary = tokenizer.vocabulary
    vocab_size.check(model.config, vocabulary.size, vocabulary.origin)
    super().__init__(model, tokenizer, texts)

  @classmethod
  def distil(
    cls,
    encoder: typing.Any,
    size: int = 256,
    weighting: str = "sif",
    batch_size: int = 256,
  ) -> "Self":
    """Makes static embeddings of an encoder, without any data.

    Each token of the vocabulary is encoded alone, between its special tokens.
    Of these vectors the principal components are kept and weighted by the
    frequency of the token, which its place in the vocabulary stands for:
    vocabularies list frequent tokens first. Vectors get length 1.

    Args:
      encoder: `SentenceEncoder`, whose prompts are not used.
      size: int, D; None for all components.
      weighting: "sif", as model2vec; "zipf", log(1 + rank), as its first
        versions; or None.
      batch_size: int, tokens at once.

    Raises:
      ValueError: an argument is wrong, or the encoder lower-cases what
        its tokenizer does not.

    Source: Tulkens and van Dongen 2024, Model2Vec, distillation.
    """
    if not isinstance(encoder, sentence_encoder.SentenceEncoder):
      name = type(encoder).__name__
      raise ValueError(f"encoder ({name}) must be a kb.SentenceEncoder.")
    model = static_distillation.distil(encoder, size, weighting, batch_size)
    return cls(model, encoder.tokenizer)

  def fit(
    self,
    data: typed.Data,
    targets: Iterable[typing.Any] | None = None,
    validation_data: typed.HeldOut | None = None,
    epochs: float = 1,
    batch_size: int = 256,
    learning_rate: float = 1e-3,
    **settings: typing.Any,
  ) -> keras.callbacks.History:
    """Trains the table by Adam, a constant rate and losses of whole batches.

    Args:
      data: examples, as of `SentenceEncoder.fit`.
      targets: list of scores, if `data` is a list of pairs.
      validation_data: examples to score after each epoch, as `data` or as a
        tuple (data, targets); or float in (0, 1), the share of the examples to
        hold out for that.
      epochs: float, passes over the data.
      batch_size: int, examples per step; all if there are fewer.
      learning_rate: float; a table wants far more than a transformer.
      **settings: output_dir and others, as of `SentenceEncoder.fit`, for other
        ways of training, too.

    Returns:
      `keras.callbacks.History`.

    Raises:
      ValueError: an example or a setting is wrong, names it.
    """
    if "learning_rate_schedule" in settings:  # Which may know no such steps.
      settings = {"num_decay_steps": None} | settings
    return super().fit(
      data,
      targets,
      validation_data,
      epochs=epochs,
      batch_size=batch_size,
      learning_rate=learning_rate,
      **_TRAINING | settings,
    )

  def _run(self, splits, start, output_dir, values, *others, **named):
    # A table learns from large batches, which may be all of the data.
    size = min(values["train_batch_size"], len(splits["train"]))
    values = values | {"train_batch_size": size}
    return super()._run(splits, start, output_dir, values, *others, **named)

  def _compile(self):
    super()._compile()
    # A mean needs no padding, and counting would tokenize texts twice.
    self._sizes = lambda texts: np.zeros(len(texts), int)

  def _embed_batch(self, sentences, prompt):
    """Returns the vectors float32 [B, D] of string [B], in graph ops."""
    pieces = prompts.tokenize(
      self.tokenizer, sentences, prompt, self.texts.do_lower_case
    )[:, : self.texts.max_seq_length]
    table = self.model.table.value
    return static_vectors.embed(table, pieces, self.model.normalize)

  @classmethod
  def _load(cls, folder, path, dtype):
    if folder.head != heads.STATIC:
      files.check_exists(path, "The folder of static embeddings")
      raise ValueError(
        f"{path} has no static embeddings: open transformers with"
        " kb.SentenceEncoder, and make one of these with"
        " kb.StaticEncoder.distil."
      )
    return super()._load(folder, path, dtype)
