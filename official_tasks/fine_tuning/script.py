"""Flags shared by the fine-tuning scripts, and the `job.Job` made of them."""

import dataclasses

from absl import flags
from etils import epy

from keras_bert_impl.training import config as config_lib
from official_tasks.command_line import common
from official_tasks.fine_tuning import config

with epy.lazy_imports():
  from official_tasks.fine_tuning import job


def define_flags():
  """Defines the flags of `FineTuningConfig` and `TrainingConfig`."""
  common.define_flags(config.FineTuningConfig)
  common.define_flags(
    config_lib.TrainingConfig, leave_out=config.DERIVED, **config.DEFAULTS
  )
  flags.FLAGS["save_checkpoints_steps"].help += " 0: once per epoch."
  flags.DEFINE_alias("predict_batch_size", "eval_batch_size")


def read_flags():
  """Returns the `Job` that the flags of `define_flags` describe."""
  training = {
    field.name: flags.FLAGS[field.name].value
    for field in dataclasses.fields(config_lib.TrainingConfig)
    if field.name not in config.DERIVED
  }
  return job.Job(common.from_flags(config.FineTuningConfig), **training)
