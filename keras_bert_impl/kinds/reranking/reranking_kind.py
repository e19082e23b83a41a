"""Reranking: the kind, whole."""

from keras_bert_impl import heads
from keras_bert_impl.kinds.embeddings import embedding_splits
from keras_bert_impl.kinds.reranking import (
  ranking_examples,
  reranking,
  reranking_options,
)
from keras_bert_impl.kinds.texts import sequence_regression, text_servables
from keras_bert_impl.runs.fine_tuning import kind
from keras_bert_impl.tasks.basics import fine_tuning


def make_parts(run, splits, options):
  """Returns the `FineTuning` of queries and their documents.

  Args:
    run: `job.Job`.
    splits: {split: list of `RankingExample`}; all of training have as many
      documents.
    options: `reranking_options.RerankingOptions`.

  Raises:
    ValueError: they have not, or have one alone; names file and row.
  """
  training = splits.get("train", ())
  number = run.described_task(KIND).get("num_choices", 8)
  if training:
    number = len(training[0].documents)
  for example in training:
    if len(example.documents) != number or number < 2:
      raise ValueError(
        f"{example.origin} has {len(example.documents)} documents, but all"
        f" queries to train on must have {max(number, 2)}, a positive and"
        " negatives: give them, or --mine."
      )
  return fine_tuning.FineTuning(
    reranking.RerankingPreprocessor(run.settings.max_seq_length, number),
    reranking.RerankingTask(run.encoder_config, options.ranking_loss),
    reranking.RerankingEvaluator(),
  )


def prepare(job, config):
  """Returns the `Prepared` of a `RerankerConfig`.

  Raises:
    ValueError: as `embedding_splits.read`, `ranking_examples.ranked` and
      `make_parts`.
  """
  splits = embedding_splits.read(config, job.settings)
  splits = ranking_examples.ranked(splits, config.mine, config)
  return kind.Prepared(make_parts(job, splits, config), splits)


# What was trained on several documents scores one pair: a score of texts.
KIND = kind.Kind(
  "reranking",
  tasks={heads.REGRESSION: sequence_regression.SequenceRegressionTask},
  servables={heads.REGRESSION: text_servables.RegressionServable},
  options=reranking_options.RerankingOptions,
  described=(reranking.RerankingPreprocessor, reranking.RerankingTask),
  pipeline="text-classification",
  prepare=prepare,
)
