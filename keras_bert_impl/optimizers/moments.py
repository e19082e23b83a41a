"""Base class of AdamW and LAMB: two moments for every variable."""

import abc
import re

import keras
import tensorflow as tf

EXCLUDED = ("LayerNorm", "layer_norm", "bias")


class MomentOptimizer(keras.optimizers.Optimizer, abc.ABC):
  """Optimizer that keeps the first and second moment of every gradient.

  Parameters are excluded from weight decay by their variable path, so that
  "LayerNorm" and "bias" select the same ones as in the original. Gradients of
  gathered tables are made dense first: with one slice per look-up the second
  moment would be a sum of squares instead of the square of a sum.

  TensorFlow only.

  Args:
    learning_rate: float or `LearningRateSchedule`.
    weight_decay_rate: float, weight of the decay beside the moments' update.
    beta_1: float, decay of the first moment.
    beta_2: float, decay of the second moment.
    epsilon: float, added to the root of the second moment.
    use_bias_correction: bool, whether the moments are corrected for starting at
      zero (Kingma and Ba 2015).
    exclude_from_weight_decay: regular expressions searched in variable paths.
    learning_rate_multipliers: {variable path: float}, factors of the learning
      rate other than 1; see `layerwise`.
    **kwargs: as of `keras.optimizers.Optimizer` (name, clipnorm, ...).
  """

  SLOTS = ("adam_m", "adam_v")

  def __init__(
    self,
    learning_rate,
    weight_decay_rate=0.01,
    beta_1=0.9,
    beta_2=0.999,
    epsilon=1e-6,
    use_bias_correction=False,
    exclude_from_weight_decay=EXCLUDED,
    learning_rate_multipliers=None,
    **kwargs,
  ):
    super().__init__(learning_rate=learning_rate, **kwargs)
    self.weight_decay_rate = weight_decay_rate
    self.beta_1 = beta_1
    self.beta_2 = beta_2
    self.epsilon = epsilon
    self.use_bias_correction = use_bias_correction
    self.exclude_from_weight_decay = tuple(exclude_from_weight_decay)
    self.learning_rate_multipliers = dict(learning_rate_multipliers or {})

  @abc.abstractmethod
  def _update(self, variable, m, v, gradient, learning_rate, is_excluded):
    """Updates one variable and its moments in place.

    Args:
      variable: tf.Variable.
      m: tf.Variable, its first moment.
      v: tf.Variable, its second moment.
      gradient: dense tensor of the same shape and dtype.
      learning_rate: scalar tensor of the same dtype.
      is_excluded: bool, whether its path is excluded from weight decay.
    """

  def build(self, variables):
    """Creates the two moments of every variable, initially zero."""
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

  def is_excluded(self, path):
    """Returns whether weight decay leaves out the variable of this path."""
    return any(
      re.search(pattern, path) for pattern in self.exclude_from_weight_decay
    )

  def update_step(self, gradient, variable, learning_rate):
    """Updates one variable and its moments from its gradient."""
    index = self._get_variable_index(variable)
    path = self._paths[index]
    learning_rate = tf.cast(learning_rate, variable.dtype)
    if path in self.learning_rate_multipliers:
      learning_rate *= self.learning_rate_multipliers[path]
    if isinstance(variable, keras.Variable):
      variable = variable.value
    self._update(
      variable,
      self._slots["adam_m"][index].value,
      self._slots["adam_v"][index].value,
      tf.cast(tf.convert_to_tensor(gradient), variable.dtype),
      learning_rate,
      self.is_excluded(path),
    )

  def _beta_powers(self, dtype):
    """Returns beta_1 and beta_2 to the power of the current step.

    Without bias correction both are zero, so that one minus them corrects
    nothing.
    """
    if not self.use_bias_correction:
      return tf.zeros([], dtype), tf.zeros([], dtype)
    step = tf.cast(self.iterations + 1, dtype)
    return tf.pow(self.beta_1, step), tf.pow(self.beta_2, step)

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
      "learning_rate_multipliers": self.learning_rate_multipliers,
    }
