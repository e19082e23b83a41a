r"""Trains a reranker: it reads a query with a document and scores the pair.

    python official_tasks/run_reranker.py --do_train --do_eval \
      --train_file=train-v1.1.json --dev_file=dev-v1.1.json --mine=encoder \
      --init_checkpoint=uncased_L-12_H-768_A-12 --output_dir=reranker

    ... --train_file=triplets.tsv    a query, its positive and its negatives

Files are those of run_embeddings.py. --mine names an encoder, the folder of
sentence-transformers or the sentence_encoder/ of run_embeddings.py: it finds
hard negatives for the queries to train on, and the documents to be put in order
for those of --dev_file, whose order is the baseline. The model is a classifier
of pairs with one score: CrossEncoder of sentence-transformers, kb.Reranker and
export_saved_model.py open it.
"""

import dataclasses

from etils import epy

from keras_bert_impl import options
from keras_bert_impl.command_line import program
from keras_bert_impl.runs.labelled_data import embedding_splits, task_options
from official_tasks import fine_tuning_flags

with epy.lazy_imports():
  from keras_bert_impl.estimators import mining, sentence_encoder
  from keras_bert_impl.runs.fine_tuning import task_parts


@dataclasses.dataclass(frozen=True)
class RerankerConfig(
  task_options.RerankingOptions, embedding_splits.EmbeddingSplitsConfig
):
  """Files and columns of the examples, mining and the loss.

  Raises:
    ValueError: flags contradict each other or are out of range.
  """

  mine: str | None = options.common(
    None, "Encoder that finds negatives, and documents to put in order."
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
    embedding_splits.EmbeddingSplitsConfig.__post_init__(self)

  def mining(self):
    """Returns the `mining.Mining` of the flags."""
    encoder = None
    if self.mine:
      encoder = sentence_encoder.SentenceEncoder.from_checkpoint(self.mine)
    return mining.Mining(
      encoder,
      self.num_negatives,
      (self.first_mined_rank, self.last_mined_rank),
      self.mining_margin,
      self.num_candidates,
    )


def main():
  """Reads the flags and the data; the rest is `job.Job`."""
  config = program.from_flags(RerankerConfig)
  job = fine_tuning_flags.read_flags()
  splits = embedding_splits.read(config, job.settings)
  miner = config.mining()
  splits = {name: miner.ranked(name, each) for name, each in splits.items()}
  parts = task_parts.of_rankings(job, splits, config)
  job.run(parts, splits, dataclasses.asdict(config))


program.define_flags(RerankerConfig)
fine_tuning_flags.define_flags()

if __name__ == "__main__":
  program.run(main)
