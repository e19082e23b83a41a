"""What of a configuration reaches the optimizer."""

import pytest

from keras_bert_impl import configs, models
from keras_bert_impl.optimizers import layerwise, optimization
from keras_bert_impl.training import training_config
from tests import architectures

# {option of the run: argument of the optimizer}.
ARGUMENTS = {
  "weight_decay_rate": "weight_decay_rate",
  "adam_beta_1": "beta_1",
  "adam_beta_2": "beta_2",
  "adam_epsilon": "epsilon",
}
VALUES = (0.125, 0.75, 0.875, 0.0625)


@pytest.mark.parametrize("name", training_config.OPTIMIZERS)
def test_every_option_reaches_the_optimizer(name):
  model = models.SequenceClassifier(
    configs.EncoderConfig(**architectures.THREE_LAYERS), 2
  )
  given = dict(zip(ARGUMENTS, VALUES, strict=True))
  config = training_config.TrainingConfig(
    optimizer=name,
    learning_rate=0.5,
    num_train_steps=8,
    num_warmup_steps=2,
    use_bias_correction=True,
    layerwise_lr_decay=0.25,
    **given,
  )
  found = optimization.make_optimizer(config, model).get_config()
  assert {k: found[v] for k, v in ARGUMENTS.items()} == given
  assert found["name"] == name
  assert found["use_bias_correction"]
  assert found["learning_rate_multipliers"] == layerwise.multipliers(
    [v.path for v in model.trainable_variables], model.config, 0.25
  )
  schedule = optimization.make_schedule(
    config, **optimization.schedule_steps(config)
  )
  assert [float(schedule(step)) for step in (1, 2, 8)] == [0.25, 0.375, 0.0]
