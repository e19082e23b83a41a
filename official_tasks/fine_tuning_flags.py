"""Flags shared by the fine-tuning scripts, and the `job.Job` made of them."""

from absl import flags
from etils import epy

from keras_bert_impl.command_line import program
from keras_bert_impl.runs.fine_tuning import fine_tuning_config
from keras_bert_impl.training import training_config

with epy.lazy_imports():
  from keras_bert_impl.runs.fine_tuning import job


def define_flags():
  """Defines the flags of `FineTuningConfig` and `TrainingConfig`."""
  program.define_flags(fine_tuning_config.FineTuningConfig)
  program.define_flags(
    training_config.TrainingConfig,
    leave_out=fine_tuning_config.DERIVED,
    **fine_tuning_config.DEFAULTS,
  )
  flags.FLAGS["save_checkpoints_steps"].help += " 0: once per epoch."
  flags.DEFINE_alias("predict_batch_size", "eval_batch_size")


def read_flags():
  """Returns the `Job` that the flags of `define_flags` describe."""
  known = [flags.FLAGS[name] for name in fine_tuning_config.training_values()]
  training = {x.name: x.value for x in known if x.present}
  return job.Job(
    program.from_flags(fine_tuning_config.FineTuningConfig), **training
  )
