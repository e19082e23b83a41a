"""Coreference of documents: the kind, whole."""

import itertools

from absl import logging

from keras_bert_impl.kinds.coreference import (
  coreference_model,
  coreference_options,
  coreference_resolution,
  coreference_rows,
  coreference_scores,
  coreference_servable,
  coreference_splits,
)
from keras_bert_impl.runs.fine_tuning import kind
from keras_bert_impl.tasks.basics import fine_tuning


def make_parts(run, splits, options):
  """Returns the `FineTuning` of clusters.

  Args:
    run: `job.Job`.
    splits: {split: list of `CoreferenceDocument`}.
    options: `coreference_options.CoreferenceOptions`.

  Raises:
    ValueError: segments overlap by more than half of one; files of GAP and
      others are to be scored together; there is neither training data nor a
      trained model; or of an ensemble.
  """
  length, overlap = run.settings.max_seq_length, options.segment_overlap
  if run.settings.members:
    raise ValueError(
      "--ensemble_dirs averages scores, but a model gives the clusters that it"
      " has chosen: evaluate the runs one by one."
    )
  most = max(0, length - 2) // 2
  if overlap > most:
    raise ValueError(
      f"segment_overlap ({overlap}) must be at most {most}, half of the tokens"
      f" that max_seq_length ({length}) has room for."
    )
  is_gap = _is_gap(splits)
  genres, keep_singletons = _found(run, splits, options.keep_singletons)
  preprocessor = coreference_rows.CoreferencePreprocessor(
    length,
    overlap,
    options.max_span_width,
    genres,
  )
  task = coreference_resolution.CoreferenceTask(
    run.encoder_config,
    length,
    genres,
    keep_singletons,
    options.max_span_width,
    options.top_span_ratio,
    options.max_antecedents,
    options.span_units,
    options.span_dropout,
  )
  evaluator = coreference_scores.CoreferenceEvaluator(keep_singletons, is_gap)
  return fine_tuning.FineTuning(preprocessor, task, evaluator)


def _found(run, splits, keep_singletons):
  """Returns the genres, and whether mentions alone are clusters."""
  if "train" in splits:
    genres = {document.genre for document in splits["train"]} - {""}
    sizes = [len(c) for document in splits["train"] for c in document.clusters]
    if keep_singletons is None:
      keep_singletons = 1 in sizes
    logging.info(
      "%d of %d clusters are mentions alone, which are %s.",
      sizes.count(1),
      len(sizes),
      "kept" if keep_singletons else "dropped",
    )
    return tuple(sorted(genres)), keep_singletons
  known = run.described_task(KIND)
  if "keep_singletons" not in known:
    raise ValueError(
      f"output_dir ({run.output_dir}) has no run of this script: train with"
      " --do_train, or give the output_dir of a run."
    )
  if keep_singletons is None:
    keep_singletons = known["keep_singletons"]
  return tuple(known["genres"]), keep_singletons


def _is_gap(splits):
  """Returns whether the documents that are scored are GAP's.

  Raises:
    ValueError: some are, others not.
  """
  scored = {name: x for name, x in splits.items() if name != "train"} or splits
  documents = [*itertools.chain.from_iterable(scored.values())]
  is_gap = {document.gap is not None for document in documents}
  if len(is_gap) > 1:
    other = next(x.origin for x in documents if x.gap is None)
    raise ValueError(
      f"{other}: the document is none of GAP, which has a score of its own:"
      " evaluate and predict its files by themselves."
    )
  return True in is_gap


def prepare(job, config):
  """Returns the `Prepared` of a `CoreferenceConfig`.

  Raises:
    ValueError: as `coreference_splits.read` and `make_parts`.
  """
  splits = coreference_splits.read(config, job.settings)
  return kind.Prepared(make_parts(job, splits, config), splits)


KIND = kind.Kind(
  "coreference",
  tasks={coreference_model.HEAD: coreference_resolution.CoreferenceTask},
  servables={coreference_model.HEAD: coreference_servable.CoreferenceServable},
  options=coreference_options.CoreferenceOptions,
  described=(coreference_rows.CoreferencePreprocessor,),
  pipeline="token-classification",
  prepare=prepare,
)
