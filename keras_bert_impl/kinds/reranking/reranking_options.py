"""Options of reranking: flags of the script, settings of `fit`."""

import dataclasses

from keras_bert_impl import choices, options
from keras_bert_impl.kinds.embeddings import embedding_splits


@dataclasses.dataclass(frozen=True, kw_only=True)
class RerankingOptions:
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
  num_negatives: int = options.common(
    7, "Negatives of each query, with --mine.", interval="[1, 1000]"
  )
  first_mined_rank: int = options.field(
    1, "First rank from which negatives are taken.", interval="[1, 1000000]"
  )
  last_mined_rank: int = options.field(
    50, "Last rank from which negatives are taken.", interval="[1, 1000000]"
  )
  mining_margin: float = options.field(
    0.05,
    "How far the cosine of a negative must be below that of the positive: what"
    " is nearer may be relevant, too.",
    interval="[-2, 2]",
  )
  num_candidates: int = options.common(
    20,
    "Documents to put in order for each query of dev_file, with --mine.",
    interval="[1, 10000]",
  )

  def __post_init__(self):
    options.check_fields(self)


@dataclasses.dataclass(frozen=True)
class RerankerConfig(RerankingOptions, embedding_splits.EmbeddingSplitsConfig):
  """Files and columns of the examples, and the options of the task.

  Raises:
    ValueError: flags contradict each other or are out of range.
  """

  mine: str | None = options.common(
    None,
    "Encoder, static or not, that finds negatives, and documents to put in"
    " order.",
  )

  def __post_init__(self):
    embedding_splits.EmbeddingSplitsConfig.__post_init__(self)
