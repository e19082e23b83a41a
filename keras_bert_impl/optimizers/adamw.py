"""Adam with decoupled weight decay, as the original BERT optimizer has it."""

import re

import keras
import tensorflow as tf

NOT_DECAYED = ("LayerNorm", "layer_norm", "bias")


@keras.saving.register_keras_serializable("keras_bert_impl")
class AdamW(keras.optimizers.Optimizer):
  """Adam with weight decay outside the moments and no bias correction.

  Differs from `keras.optimizers.AdamW`: no bias correction by default, epsilon
  1e-6, and parameters are excluded from the decay by their variable path, so
  that "LayerNorm" and "bias" mean what they mean in the original. Gradients of
  gathered tables are made dense first: with one slice per lookup the second
  moment would be a sum of squares instead of the square of a sum.

  TensorFlow only: one fused kernel per variable.

  Args:
    learning_rate: float or `LearningRateSchedule`.
    weight_decay_rate: float, times the learning rate per step.
    beta_1: float, decay of the first moment.
    beta_2: float, decay of the second moment.
    epsilon: float, added to the root of the second moment.
    use_bias_correction: bool, Adam's correction of Kingma and Ba 2015; the
      original BERT optimizer leaves it out.
    exclude_from_weight_decay: regular expressions searched in variable paths.
    **kwargs: as of `keras.optimizers.Optimizer` (name, clipnorm, ...).

  Source: google-research/bert, optimization.py, AdamWeightDecayOptimizer.
  """

  SLOTS = ("adam_m", "adam_v")

  def __init__(
    self,
    learning_rate=5e-5,
    weight_decay_rate=0.01,
    beta_1=0.9,
    beta_2=0.999,
    epsilon=1e-6,
    use_bias_correction=False,
    exclude_from_weight_decay=NOT_DECAYED,
    name="adamw",
    **kwargs,
  ):
    super().__init__(learning_rate=learning_rate, name=name, **kwargs)
    self.weight_decay_rate = weight_decay_rate
    self.beta_1 = beta_1
    self.beta_2 = beta_2
    self.epsilon = epsilon
    self.use_bias_correction = use_bias_correction
    self.exclude_from_weight_decay = tuple(exclude_from_weight_decay)

  def build(self, variables):
    """Creates the two moments of every variable, zero at first."""
    if self.built:
      return
    super().build(variables)
    self._paths = [variable.path for variable in variables]
    self._slots = {
      slot: [
        self.add_variable_from_reference(variable, name=slot)
        for variable in variables
      ]
      for slot in self.SLOTS
    }

  def slot_variables(self):
    """Returns {"<variable path>/<slot>": variable}, the names on disk."""
    return {
      f"{path}/{slot}": variable
      for slot, variables in self._slots.items()
      for path, variable in zip(self._paths, variables, strict=True)
    }

  def is_decayed(self, path):
    """Returns whether weight decay applies to the variable of this path."""
    return bool(self.weight_decay_rate) and not any(
      re.search(pattern, path) for pattern in self.exclude_from_weight_decay
    )

  def update_step(self, gradient, variable, learning_rate):
    """Updates one variable and its moments from its gradient."""
    index = self._get_variable_index(variable)
    if isinstance(variable, keras.Variable):
      variable = variable.value
    m = self._slots["adam_m"][index].value
    v = self._slots["adam_v"][index].value
    dtype = variable.dtype
    learning_rate = tf.cast(learning_rate, dtype)
    if self.is_decayed(self._paths[index]):
      # Both terms use the weights before the step, so the decay goes first.
      tf.raw_ops.ResourceApplyGradientDescent(
        var=variable.handle,
        alpha=learning_rate * self.weight_decay_rate,
        delta=variable,
      )
    # Powers of zero switch the kernel's bias correction off.
    step = tf.cast(self.iterations + 1, dtype)
    tf.raw_ops.ResourceApplyAdam(
      var=variable.handle,
      m=m.handle,
      v=v.handle,
      beta1_power=tf.pow(self.beta_1, step)
      if self.use_bias_correction
      else 0.0,
      beta2_power=tf.pow(self.beta_2, step)
      if self.use_bias_correction
      else 0.0,
      lr=learning_rate,
      beta1=self.beta_1,
      beta2=self.beta_2,
      epsilon=self.epsilon,
      grad=tf.cast(tf.convert_to_tensor(gradient), dtype),
    )

  def get_config(self):
    """Returns the constructor's arguments."""
    config = super().get_config()
    for base_only in ("weight_decay", "loss_scale_factor"):
      config.pop(base_only, None)
    return config | {
      "weight_decay_rate": self.weight_decay_rate,
      "beta_1": self.beta_1,
      "beta_2": self.beta_2,
      "epsilon": self.epsilon,
      "use_bias_correction": self.use_bias_correction,
      "exclude_from_weight_decay": list(self.exclude_from_weight_decay),
    }
