"""Choices among continuations or answers: the kind, whole."""

import itertools

from absl import logging

from keras_bert_impl import heads
from keras_bert_impl.kinds.choices import (
  choice_data,
  choice_servable,
  choice_splits,
  multiple_choice,
)
from keras_bert_impl.runs.fine_tuning import kind
from keras_bert_impl.runs.labelled_data import labelled_splits
from keras_bert_impl.tasks.basics import fine_tuning


def make_parts(run, splits):
  """Returns the `FineTuning` of choices.

  Args:
    run: `job.Job`.
    splits: {split: list of `MultipleChoiceExample`}.

  Raises:
    ValueError: as `choice_data.count_choices`.
  """
  number = choice_data.count_choices([*itertools.chain(*splits.values())])
  logging.info("Each example has %d choices.", number)
  return fine_tuning.FineTuning(
    multiple_choice.ChoicePreprocessor(run.settings.max_seq_length, number),
    multiple_choice.MultipleChoiceTask(run.encoder_config, number),
    multiple_choice.ChoiceEvaluator(),
  )


def prepare(job, config):
  """Returns the `Prepared` of a `MultipleChoiceConfig`.

  Raises:
    ValueError: as `choice_splits.data_set`, `labelled_splits.read` and
      `make_parts`.
  """
  data_set = choice_splits.data_set(config)
  splits, counts = labelled_splits.read(data_set, config, job.settings)
  return kind.Prepared(make_parts(job, splits), splits, counts)


KIND = kind.Kind(
  "choices",
  tasks={heads.MULTIPLE_CHOICE: multiple_choice.MultipleChoiceTask},
  servables={heads.MULTIPLE_CHOICE: choice_servable.MultipleChoiceServable},
  described=(multiple_choice.ChoicePreprocessor,),
  pipeline="multiple-choice",
  prepare=prepare,
  scored=(heads.MULTIPLE_CHOICE,),
)
