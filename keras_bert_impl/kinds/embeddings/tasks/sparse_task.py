"""The task of sparse text vectors: SPLADE, and what keeps its tokens few."""

import dataclasses

from keras import ops

from keras_bert_impl import heads, models
from keras_bert_impl.kinds.embeddings.tasks import (
  embedding_task,
)
from keras_bert_impl.tasks.basics import cross_entropy, vector_losses

_FLOPS = "flops"


@dataclasses.dataclass(frozen=True)
class SparseEmbeddingTask(embedding_task.UnpooledTask):
  """Sparse vectors of texts, whose dot products are their similarities.

  Attributes:
    query_flops_weight: float, of `vector_losses.flops` of the anchors.
    document_flops_weight: float, of that of all other texts.

  Source: Formal et al. 2021, "SPLADE", equation 10.
  """

  temperature: float = 1.0
  query_flops_weight: float = 5e-5
  document_flops_weight: float = 3e-5

  similarity = "dot"
  head = heads.SPARSE
  sparse_outputs = (embedding_task.EMBEDDINGS,)

  def _model(self):
    """Returns the `SparseEmbeddingModel`."""
    return models.SparseEmbeddingModel(self.config)

  def denominators(self, batch):
    """Returns the number of examples, for each loss."""
    return dict.fromkeys(
      (self.loss, _FLOPS), ops.sum(cross_entropy.row_weights(batch))
    )

  def losses(self, batch, outputs):
    """Returns the sum of the losses, and the weighted regularisers."""
    found, number = self._batch(batch, outputs), self.denominators(batch)
    anchors, *others = found.vectors
    query = vector_losses.flops(anchors, found.weights)
    document = vector_losses.flops(
      ops.concatenate(others), ops.tile(found.weights, [len(others)])
    )
    # Differs from Formal et al. 2021: the weights do not grow while training
    # begins.
    penalty = self.query_flops_weight * query
    penalty += self.document_flops_weight * document
    # Times the examples, by which the sums are divided.
    return super().losses(batch, outputs) | {_FLOPS: number[_FLOPS] * penalty}

  def metrics(self, batch, outputs):
    """Returns those of `EmbeddingTask`, and the mean tokens of a text."""
    found = self._batch(batch, outputs)
    number = self.denominators(batch)[_FLOPS]
    anchors, positives, *_ = (
      ops.sum(found.weights * ops.sum(ops.cast(v > 0, "float32"), axis=1))
      for v in found.vectors
    )
    return super().metrics(batch, outputs) | {
      "query_tokens": (anchors, number),
      "document_tokens": (positives, number),
    }
