"""Optimizer and learning-rate schedule of a training configuration."""

from keras_bert_impl.optimizers import (
  adamw,
  lamb,
  layerwise,
  muon,
  schedules,
  stable_adamw,
)

_OPTIMIZERS = {
  "adamw": adamw.AdamW,
  "lamb": lamb.LAMB,
  "muon": muon.Muon,
  "stable_adamw": stable_adamw.StableAdamW,
}
_TRAPEZOIDAL = "trapezoidal"
_WARMUP_STEPS = 10000  # of google-research/bert


def make_optimizer(config, model):
  """Returns the optimizer of a `TrainingConfig`, not built yet.

  Args:
    config: `TrainingConfig`.
    model: `keras.Model` that it is to train, with its `config`.
  """
  schedule = make_schedule(config, **schedule_steps(config))
  return _OPTIMIZERS[config.optimizer](
    schedule,
    weight_decay_rate=config.weight_decay_rate,
    beta_1=config.adam_beta_1,
    beta_2=config.adam_beta_2,
    epsilon=config.adam_epsilon,
    use_bias_correction=config.use_bias_correction,
    learning_rate_multipliers=layerwise.multipliers(
      [variable.path for variable in model.trainable_variables],
      model.config,
      config.layerwise_lr_decay,
    ),
  )


def schedule_steps(config):
  """Returns {field: int}, the numbers of steps that `make_schedule` takes."""
  total, decay = config.num_train_steps, config.num_decay_steps
  warmup = config.num_warmup_steps
  if warmup is None:
    # Differs from the original, which refuses runs of fewer steps.
    warmup = total // 10 if total < _WARMUP_STEPS else _WARMUP_STEPS
  steps = {"num_train_steps": total, "num_warmup_steps": warmup}
  if config.learning_rate_schedule == _TRAPEZOIDAL:
    steps["num_decay_steps"] = total // 10 if decay is None else decay
  return steps


def make_schedule(config, num_train_steps, num_warmup_steps, num_decay_steps=0):
  """Returns the schedule of a `TrainingConfig` with these numbers of steps."""
  peak, steps = config.learning_rate, (num_warmup_steps, num_train_steps)
  if config.learning_rate_schedule == _TRAPEZOIDAL:
    return schedules.Trapezoidal(peak, *steps, num_decay_steps)
  return schedules.WarmupThenLinearDecay(peak, *steps)
