"""Optimizer and learning-rate schedule of a training configuration."""

from keras_bert_impl.optimizers import adamw, lamb, layerwise, schedules

_OPTIMIZERS = {"adamw": adamw.AdamW, "lamb": lamb.LAMB}


def make_optimizer(config, model):
  """Returns the optimizer of a `TrainingConfig`, not built yet.

  Args:
    config: `TrainingConfig`.
    model: `keras.Model` that it is to train, with its `config`.
  """
  schedule = make_schedule(
    config, config.num_train_steps, config.num_warmup_steps
  )
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


def make_schedule(config, num_train_steps, num_warmup_steps):
  """Returns the schedule of a `TrainingConfig` with these numbers of steps."""
  return schedules.WarmupThenLinearDecay(
    config.learning_rate, num_warmup_steps, num_train_steps
  )
