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
  from keras_bert_impl.estimators import mining
  from keras_bert_impl.runs.fine_tuning import task_parts


@dataclasses.dataclass(frozen=True)
class RerankerConfig(
  task_options.RerankingOptions, embedding_splits.EmbeddingSplitsConfig
):
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


def main():
  """Reads the flags and the data; the rest is `job.Job`."""
  config = program.from_flags(RerankerConfig)
  job = fine_tuning_flags.read_flags()
  splits = embedding_splits.read(config, job.settings)
  splits = mining.ranked(splits, config.mine, config)
  parts = task_parts.of_rankings(job, splits, config)
  job.run(parts, splits, dataclasses.asdict(config))


program.define_flags(RerankerConfig)
fine_tuning_flags.define_flags()

if __name__ == "__main__":
  program.run(main)
