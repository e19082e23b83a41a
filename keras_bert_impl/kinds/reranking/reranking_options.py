"""Options of reranking: flags of the script, settings of `fit`."""

import dataclasses

from keras_bert_impl import choices, options
from keras_bert_impl.kinds.embeddings import embedding_splits
from keras_bert_impl.kinds.embeddings.tasks import mining_options


@dataclasses.dataclass(frozen=True, kw_only=True)
class RerankingOptions(mining_options.MiningOptions):
  """Options of reranking, and of the documents that an encoder finds for it.

  Raises:
    ValueError: one is out of range.
  """

  ranking_loss: str = options.common(
    "listwise",
    "Loss of a query's documents: listwise (softmax over all), pairwise (each"
    " relevant one above each other) or pointwise (relevant or not).",
    choices.RANKING_LOSSES,
  )
  num_candidates: int = options.common(
    20,
    "Documents to put in order for each query of dev_file, with --mine.",
    interval="[1, 10000]",
  )


@dataclasses.dataclass(frozen=True)
class RerankerConfig(RerankingOptions, embedding_splits.EmbeddingSplitsConfig):
  """Files and columns of the examples, and the options of the task.

  Raises:
    ValueError: flags contradict each other or are out of range.
  """

  mine: str | None = options.common(
    None,
    "Encoder that finds negatives, and documents to put in order.",
  )

  def __post_init__(self):
    embedding_splits.EmbeddingSplitsConfig.__post_init__(self)
