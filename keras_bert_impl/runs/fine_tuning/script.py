"""The body of the fine-tuning scripts: their flags, and what they do."""

from absl import flags
from etils import epy

from keras_bert_impl.command_line import program
from keras_bert_impl.runs.fine_tuning import fine_tuning_config
from keras_bert_impl.training import training_config

with epy.lazy_imports():
  from keras_bert_impl.runs.fine_tuning import job


def define_flags(config_class):
  """Defines the flags of a kind, of `FineTuningConfig` and `TrainingConfig`.

  Args:
    config_class: dataclass of the kind's files, columns and options.
  """
  program.define_flags(config_class)
  program.define_flags(fine_tuning_config.FineTuningConfig)
  program.define_flags(
    training_config.TrainingConfig,
    leave_out=fine_tuning_config.DERIVED,
    **fine_tuning_config.DEFAULTS,
  )
  flags.FLAGS["save_checkpoints_steps"].help += " 0: once per epoch."
  flags.DEFINE_alias("predict_batch_size", "eval_batch_size")


def run(kind, config):
  """Reads the data and the other flags, and does what they say.

  Args:
    kind: `kind.Kind`.
    config: of the class that `define_flags` was given, with their values.
  """
  known = [flags.FLAGS[name] for name in fine_tuning_config.training_values()]
  training = {x.name: x.value for x in known if x.present}
  own = job.Job(
    program.from_flags(fine_tuning_config.FineTuningConfig), **training
  )
  prepared = kind.prepare(own, config)
  own.run(
    prepared.fine_tuning,
    prepared.splits,
    program.values(type(config)),
    prepared.counts,
  )
  if prepared.note:
    print(f"\n{prepared.note}")
