"""Texts with classes, scores or several labels: the kind, whole."""

from keras_bert_impl import heads
from keras_bert_impl.kinds.texts import (
  classification_data,
  sequence_classification,
  sequence_regression,
  text_options,
  text_rows,
  text_scores,
  text_servables,
  text_splits,
)
from keras_bert_impl.kinds.texts import multi_label as multi_label_parts
from keras_bert_impl.runs.fine_tuning import kind
from keras_bert_impl.tasks.basics import example_types, fine_tuning


def make_parts(
  run,
  splits,
  labels,
  metrics,
  submissions=None,
  bilstm_width=None,
  multi_label=False,
  class_weight=None,
):
  """Returns the `FineTuning` of classes or, where `labels` is None, scores.

  Args:
    run: `job.Job`.
    splits: {split: list of `TextExample`}.
    labels: tuple of str, or None.
    metrics: as `text_scores.ValueEvaluator`.
    submissions: the same.
    bilstm_width: as `models.SequenceClassifier`.
    multi_label: bool, whether a text may have several labels.
    class_weight: str, as of `TextOptions`; the examples to train on get them.
  """
  if class_weight:
    of_classes = labels if labels and not multi_label else ()
    weights = text_splits.class_weights(class_weight, of_classes)
    splits["train"] = [
      example_types.WeightedTextExample.of(each, weights.get(each.label, 1.0))
      for each in splits.get("train", ())
    ]
  rows_class = text_rows.TextPreprocessor
  if multi_label:
    rows_class = multi_label_parts.MultiLabelPreprocessor
  preprocessor = rows_class(
    run.settings.max_seq_length,
    labels,
    classification_data.are_pairs(splits),
    any(hasattr(example, "weight") for example in splits.get("train", ())),
  )
  if multi_label:
    task = multi_label_parts.MultiLabelTask(
      run.encoder_config, labels, bilstm_width
    )
    evaluator = multi_label_parts.MultiLabelEvaluator(labels, metrics)
  elif labels is None:
    task = sequence_regression.SequenceRegressionTask(
      run.encoder_config,
      bilstm_width,
      classification_data.mean_score(splits.get("train", ())),
    )
    evaluator = text_scores.NumberEvaluator(metrics, submissions or {})
  else:
    task = sequence_classification.SequenceClassificationTask(
      run.encoder_config, labels, bilstm_width
    )
    evaluator = text_scores.ClassEvaluator(labels, metrics, submissions or {})
  return fine_tuning.FineTuning(preprocessor, task, evaluator)


def prepare(job, config, settings=None, known=None):
  """Returns the `Prepared` of a `ClassifierConfig`.

  Args:
    job: `job.Job`.
    config: `ClassifierConfig`.
    settings: `FineTuningConfig` that says what is read; default: the job's.
    known: {option: JSON value} of the trained model's task; default: the run's.

  Raises:
    ValueError: as `text_splits.data_set` and `text_splits.read`.
  """
  data_set = text_splits.data_set(config)
  known = job.described_task(KIND) if known is None else known
  texts = text_splits.read(
    data_set, config, settings or job.settings, known.get("labels")
  )
  parts = make_parts(
    job,
    texts.splits,
    texts.labels,
    data_set.metrics,
    data_set.submissions,
    config.bilstm_width,
    config.multi_label,
    config.class_weight,
  )
  return kind.Prepared(parts, texts.splits, texts.counts, data_set.note)


KIND = kind.Kind(
  "texts",
  tasks={
    heads.CLASSIFICATION: sequence_classification.SequenceClassificationTask,
    heads.MULTI_LABEL: multi_label_parts.MultiLabelTask,
    heads.REGRESSION: sequence_regression.SequenceRegressionTask,
  },
  servables={
    heads.CLASSIFICATION: text_servables.ClassificationServable,
    heads.MULTI_LABEL: text_servables.MultiLabelServable,
    heads.REGRESSION: text_servables.RegressionServable,
  },
  options=text_options.TextOptions,
  described=(text_rows.TextPreprocessor, text_scores.ClassEvaluator),
  pipeline="text-classification",
  prepare=prepare,
  scored=(heads.CLASSIFICATION, heads.MULTI_LABEL, heads.REGRESSION),
)
