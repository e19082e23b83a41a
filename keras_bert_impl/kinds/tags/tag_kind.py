"""Tags of tokens: the kind, whole."""

from absl import logging

from keras_bert_impl import heads
from keras_bert_impl.kinds.tags import (
  span_classification,
  span_rows,
  span_servable,
  tag_options,
  tag_rows,
  tag_scores,
  tag_servable,
  tag_splits,
  token_classification,
)
from keras_bert_impl.metrics import tagging
from keras_bert_impl.runs.fine_tuning import kind
from keras_bert_impl.tasks.basics import fine_tuning

# Layers that each approach reads, if none are given.
_FEATURES = {
  "fine_tuning": None,
  "features": "concat_last_four",
  "fine_tuning_bilstm": "last",
}


def make_parts(run, splits, options, known=None):
  """Returns the `FineTuning` of tags.

  Labels and scheme are those of the training data or, without these, of the
  trained model.

  Args:
    run: `job.Job`.
    splits: {split: list of `TaggedSentence`}.
    options: `tag_options.TagOptions`.
    known: {option: JSON value} of the trained model's task; default: the run's.

  Raises:
    ValueError: neither data nor a model name the labels.
  """
  labels, tag_scheme = _labels_and_scheme(
    run, splits, options.tag_scheme, known or run.described_task(KIND)
  )
  make_rows, of_rows = tag_rows.TagPreprocessor, ()
  make_task, of_task = token_classification.TokenClassificationTask, ()
  if tag_scheme == tagging.SPANS:
    make_rows, of_rows = span_rows.SpanPreprocessor, (options.max_span_width,)
    make_task = span_classification.SpanClassificationTask
    of_task = (options.max_span_width, options.span_units)
  preprocessor = make_rows(
    run.settings.max_seq_length,
    labels,
    options.context,
    options.doc_stride,
    options.token_unit,
    tag_scheme,
    *of_rows,
  )
  task = make_task(
    run.encoder_config,
    labels,
    options.approach,
    options.features or _FEATURES[options.approach],
    options.lstm_width,
    options.use_crf,
    *of_task,
  )
  evaluator = tag_scores.make_evaluator(labels, tag_scheme)
  return fine_tuning.FineTuning(preprocessor, task, evaluator)


def _labels_and_scheme(run, splits, tag_scheme, known):
  """Returns labels and scheme of the training data, or of the trained model."""
  if "train" in splits:
    sentences = splits["train"]
    if tag_scheme is None:
      tag_scheme = tagging.detect_scheme(s.tags for s in sentences)
      logging.info("The tags are %s.", tag_scheme)
    labels = tag_rows.labels_of(sentences, tag_scheme)
    return labels, tag_scheme
  if known.get("labels") and known.get("tag_scheme"):
    if (tag_scheme == tagging.SPANS) != (known["tag_scheme"] == tagging.SPANS):
      raise ValueError(
        f"The run was trained with --tag_scheme={known['tag_scheme']}: give"
        " --spans where it was trained with it, and only there."
      )
    return tuple(known["labels"]), known["tag_scheme"]
  labels = tag_splits.labels_of_checkpoint(run.init_checkpoint, tag_scheme)
  if labels:
    return labels, tag_scheme or tagging.scheme_of_labels(labels)
  raise ValueError(
    f"output_dir ({run.output_dir}) has no run of this script that names the"
    " labels: train with --do_train, or give the output_dir of a run."
  )


def prepare(job, config, settings=None, known=None):
  """Returns the `Prepared` of a `TagSplitsConfig`.

  Args:
    job: `job.Job`.
    config: `TagSplitsConfig`.
    settings: `FineTuningConfig` that says what is read; default: the job's.
    known: as of `make_parts`.

  Raises:
    ValueError: as `tag_splits.read` and `make_parts`.
  """
  splits = tag_splits.read(config, settings or job.settings)
  return kind.Prepared(make_parts(job, splits, config, known), splits)


KIND = kind.Kind(
  "tags",
  tasks={
    heads.TOKEN_CLASSIFICATION: token_classification.TokenClassificationTask,
    span_classification.HEAD: span_classification.SpanClassificationTask,
  },
  servables={
    heads.TOKEN_CLASSIFICATION: tag_servable.TokenClassificationServable,
    span_classification.HEAD: span_servable.SpanClassificationServable,
  },
  options=tag_options.TagOptions,
  described=(tag_rows.TagPreprocessor,),
  pipeline="token-classification",
  prepare=prepare,
  scored=(heads.TOKEN_CLASSIFICATION, span_classification.HEAD),
)
