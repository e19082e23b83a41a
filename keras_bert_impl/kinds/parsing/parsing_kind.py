"""Dependency trees of sentences: the kind, whole."""

from absl import logging

from keras_bert_impl.kinds.parsing import (
  biaffine_parser,
  dependency_parsing,
  parsing_options,
  parsing_rows,
  parsing_scores,
  parsing_servable,
  parsing_splits,
)
from keras_bert_impl.runs.fine_tuning import kind
from keras_bert_impl.tasks.basics import fine_tuning


def make_parts(run, splits, options):
  """Returns the `FineTuning` of trees.

  Relations and words are those of the training data or, without these, of the
  trained model.

  Args:
    run: `job.Job`.
    splits: {split: list of `ParsedSentence`}.
    options: `parsing_options.ParsingOptions`.

  Raises:
    ValueError: neither data nor a model name the relations; or of an ensemble.
  """
  if run.settings.members:
    raise ValueError(
      "--ensemble_dirs averages scores, but a parser gives the tree that it has"
      " chosen: evaluate the runs one by one."
    )
  labels, word_split = _labels_and_split(run, splits, options.word_split)
  preprocessor = parsing_rows.ParsingPreprocessor(
    run.settings.max_seq_length, labels, word_split
  )
  task = dependency_parsing.DependencyParsingTask(
    run.encoder_config,
    labels,
    options.arc_width,
    options.relation_width,
    options.parser_dropout,
  )
  evaluator = parsing_scores.ParsingEvaluator(labels)
  return fine_tuning.FineTuning(preprocessor, task, evaluator)


def _labels_and_split(run, splits, word_split):
  """Returns the relations, and where texts are cut into words."""
  if "train" in splits:
    found = parsing_rows.find_word_split(splits["train"])
    logging.info("Texts are cut into words at %s.", word_split or found)
    return parsing_rows.labels_of(splits["train"]), word_split or found
  known = run.described_task(KIND)
  if known.get("labels"):
    return tuple(known["labels"]), word_split or known["word_split"]
  raise ValueError(
    f"output_dir ({run.output_dir}) has no run of this script that names the"
    " relations: train with --do_train, or give the output_dir of a run."
  )


def prepare(job, config):
  """Returns the `Prepared` of a `ParsingConfig`.

  Raises:
    ValueError: as `parsing_splits.read` and `make_parts`.
  """
  splits = parsing_splits.read(config, job.settings)
  return kind.Prepared(make_parts(job, splits, config), splits)


KIND = kind.Kind(
  "parsing",
  tasks={biaffine_parser.HEAD: dependency_parsing.DependencyParsingTask},
  servables={biaffine_parser.HEAD: parsing_servable.DependencyParsingServable},
  options=parsing_options.ParsingOptions,
  described=(parsing_rows.ParsingPreprocessor,),
  pipeline="token-classification",
  prepare=prepare,
  scored=(biaffine_parser.HEAD,),
)
