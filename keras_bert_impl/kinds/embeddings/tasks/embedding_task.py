"""The task of text vectors: their model and the losses that train it."""

import dataclasses

import keras
from keras import ops

from keras_bert_impl import configs, features, heads, models
from keras_bert_impl.checkpoints.naming import mappings
from keras_bert_impl.models.heads import embedding_model
from keras_bert_impl.tasks.basics import cross_entropy, task, vector_losses

EMBEDDINGS = "embeddings"
# Fields of models that pool the states of tokens, which not all do.
_OF_POOLING = ("pooling", "include_prompt", "final_layers", "widths")


@dataclasses.dataclass(frozen=True)
class EmbeddingTask(task.Task):
  """Vectors of texts that are near where the texts belong together.

  Attributes:
    config: `EncoderConfig`.
    num_texts: int, T, of each training example.
    loss: str, of `vector_losses.LOSSES`.
    temperature: float, by which similarities are divided; of in_batch, cosent
      and angle.
    both_ways: bool, as of `vector_losses.in_batch`.
    margin: float, of triplet.
    widths: tuple of int, to which vectors are cut, each with a loss of its own;
      empty for the whole vectors alone.
    chunk_size: as of `Task`.
    pooling: tuple of str, as of `EmbeddingModel`.
    include_prompt: bool, as of `EmbeddingModel`.
    final_layers: tuple of dict, layers after the pooling as Keras serializes
      them.
    final_weights: {path: array} of those layers, to start from where a
      checkpoint does not have them.
    similarity: str, of `embedding_scores.SIMILARITIES`; of the class.
  """

  config: configs.EncoderConfig
  num_texts: int = 2
  loss: str = "in_batch"
  temperature: float = 0.05
  both_ways: bool = False
  margin: float = 1.0
  widths: tuple[int, ...] = ()
  chunk_size: int | None = None
  pooling: tuple[str, ...] = ("mean",)
  include_prompt: bool = True
  final_layers: tuple[dict, ...] = ()
  final_weights: dict = dataclasses.field(default_factory=dict)

  similarity = "cosine"
  head = heads.ENCODER
  compares_rows = True
  read_outputs = (EMBEDDINGS,)
  undescribed = ("final_weights", "chunk_size")

  @property
  def least_examples(self):
    """As of `Task`."""
    return vector_losses.LOSSES[self.loss].least_examples(self.num_texts)

  def build_model(self):
    """Returns the model.

    Raises:
      ValueError: a width is above that of its vectors.
    """
    model = self._model()
    size = model.output[EMBEDDINGS].shape[-1]
    for width in self.widths:
      if width > size:
        raise ValueError(
          f"matryoshka_widths ({width}) must be at most {size}, the width of"
          " the vectors."
        )
    return model

  def _model(self):
    """Returns the `EmbeddingModel`."""
    use_pooler = embedding_model.POOLER in self.pooling
    encoder = models.make_encoder(self.config, use_pooler=use_pooler)
    return embedding_model.EmbeddingModel(
      encoder,
      tuple(self.pooling),
      [*map(keras.saving.deserialize_keras_object, self.final_layers)],
      self.include_prompt,
    )

  def given_weights(self, tensors):
    """Returns the weights of a checkpoint, with those of the final layers."""
    return mappings.completed(tensors, self.final_weights)

  def denominators(self, batch):
    """Returns the number of examples."""
    return {self.loss: ops.sum(cross_entropy.row_weights(batch))}

  def losses(self, batch, outputs):
    """Returns the sum of the losses of a batch, see `vector_losses`."""
    found = vector_losses.LOSSES[self.loss]
    return {
      self.loss: vector_losses.of_widths(
        found, self._batch(batch, outputs), self
      )
    }

  def metrics(self, batch, outputs):
    """Returns the losses."""
    return cross_entropy.loss_metrics(self, batch, outputs)

  def _batch(self, batch, outputs):
    """Returns the `vector_losses.Batch` of a batch and its outputs."""
    return vector_losses.Batch(
      [each[EMBEDDINGS] for each in outputs],
      [
        batch[features.of_text(features.TEXT_IDS, k)]
        for k in range(self.num_texts)
      ],
      batch[features.LABEL_IDS],
      cross_entropy.row_weights(batch),
    )


class UnpooledTask(EmbeddingTask):
  """Vectors of models that pool no states of tokens. Abstract."""

  undescribed = (*EmbeddingTask.undescribed, *_OF_POOLING)


@dataclasses.dataclass(frozen=True)
class StaticEmbeddingTask(EmbeddingTask):
  """Vectors of texts that are means of rows of a table.

  Attributes:
    config: `StaticConfig`.
    normalize: bool, as of `StaticEmbeddingModel`.
  """

  normalize: bool = True

  head = heads.STATIC
  required_prefixes = ("",)

  def _model(self):
    """Returns the `StaticEmbeddingModel`."""
    return models.StaticEmbeddingModel(
      **self.config.to_dict(), normalize=self.normalize
    )
