"""Base class of the optimizers: two moments for every variable."""

import abc
import re
import typing

import keras
import tensorflow as tf

EXCLUDED = ("LayerNorm", "layer_norm", "bias")
# Elements of a variable; below, compiling takes longer than it saves.
_LARGE = 2**18


class Rates(typing.NamedTuple):
  """The numbers of one update of one variable.

  Attributes:
    learning_rate: scalar tensor, of this variable.
    weight_decay: float, weight of the decay, 0 where the variable is excluded.
    beta_1: float, decay of the first moment.
    beta_2: float, decay of the second moment.
    beta_1_power, beta_2_power: scalar tensors, these to the power of the step,
      which correct moments that started at zero; or 0 for no correction.
    epsilon: float, added to the root of the second moment.
    is_excluded: bool, whether the variable is excluded from the decay.
    is_matrix: bool, whether the update is that of a matrix, see `muon`.
  """

  learning_rate: tf.Tensor
  weight_decay: float
  beta_1: float
  beta_2: float
  beta_1_power: tf.Tensor | float
  beta_2_power: tf.Tensor | float
  epsilon: float
  is_excluded: bool
  is_matrix: bool = False


class MomentOptimizer(keras.optimizers.Optimizer, abc.ABC):
  """Optimizer that keeps the first and second moment of every gradient.

  Parameters are excluded from weight decay by their variable path, so that
  "LayerNorm" and "bias" select the same ones as in the original. Gradients of
  gathered tables are made dense first: with one slice per look-up the second
  moment would be a sum of squares instead of the square of a sum.

  TensorFlow only.

  Args:
    learning_rate: float or `LearningRateSchedule`; None: `LEARNING_RATE`.
    weight_decay_rate: float, weight of the decay beside the moments' update.
    beta_1: float, decay of the first moment.
    beta_2: float, decay of the second moment.
    epsilon: float, added to the root of the second moment.
    use_bias_correction: bool, whether the moments are corrected for starting at
      zero (Kingma and Ba 2015); None: `USE_BIAS_CORRECTION`.
    exclude_from_weight_decay: regular expressions searched in variable paths.
    learning_rate_multipliers: {variable path: float}, factors of the learning
      rate other than 1; see `layerwise`.
    **kwargs: as of `keras.optimizers.Optimizer` (name, by default `NAME`;
      clipnorm, ...).
  """

  # Those of BERT.
  NAME, LEARNING_RATE, USE_BIAS_CORRECTION = "adamw", 5e-5, False
  SLOTS = ("adam_m", "adam_v")

  def __init__(
    self,
    learning_rate=None,
    weight_decay_rate=0.01,
    beta_1=0.9,
    beta_2=0.999,
    epsilon=1e-6,
    use_bias_correction=None,
    exclude_from_weight_decay=EXCLUDED,
    learning_rate_multipliers=None,
    **kwargs,
  ):
    rate = self.LEARNING_RATE if learning_rate is None else learning_rate
    super().__init__(learning_rate=rate, **{"name": self.NAME, **kwargs})
    if use_bias_correction is None:
      use_bias_correction = self.USE_BIAS_CORRECTION
    self.weight_decay_rate = weight_decay_rate
    self.beta_1 = beta_1
    self.beta_2 = beta_2
    self.epsilon = epsilon
    self.use_bias_correction = use_bias_correction
    self.exclude_from_weight_decay = tuple(exclude_from_weight_decay)
    self.learning_rate_multipliers = dict(learning_rate_multipliers or {})

  @staticmethod
  @abc.abstractmethod
  def step_of(weights, gradient, m, v, rates):
    """Returns how far the weights move, a tensor of their shape.

    Args:
      weights: tensor.
      gradient: tensor of the same shape, clipped.
      m: tensor of the same shape, the first moment, updated.
      v: tensor of the same shape, the second moment, updated.
      rates: `Rates`.
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

  def update_step(self, gradient, variable, learning_rate, scale=1.0):
    """Updates one variable and its moments in place.

    Args:
      gradient: tensor of the variable's shape, or `tf.IndexedSlices`.
      variable: `keras.Variable` or `tf.Variable`.
      learning_rate: float scalar.
      scale: float scalar, factor of the gradient: that of clipping.
    """
    # Keras knows variables of TensorFlow and its own by keys it does not tell.
    index = self._get_variable_index(variable)
    if isinstance(variable, keras.Variable):
      variable = variable.value
    slots = [self._slots[slot][index].value for slot in self.SLOTS]
    is_large = variable.shape.num_elements() >= _LARGE
    update = _compiled_update if is_large else _traced_update
    update(
      self.step_of,
      [each.handle for each in (variable, *slots)],
      tf.cast(tf.convert_to_tensor(gradient), variable.dtype),
      tf.cast(scale, variable.dtype),
      self._rates(self._paths[index], learning_rate, variable.dtype),
    )

  def _rates(self, path, learning_rate, dtype):
    """Returns the `Rates` of the variable of this path."""
    is_excluded = self.is_excluded(path)
    beta_1_power = beta_2_power = 0.0
    if self.use_bias_correction:
      step = tf.cast(self.iterations + 1, dtype)
      beta_1_power = tf.pow(self.beta_1, step)
      beta_2_power = tf.pow(self.beta_2, step)
    factor = self.learning_rate_multipliers.get(path, 1.0)
    return Rates(
      learning_rate=tf.cast(learning_rate, dtype) * factor,
      weight_decay=0.0 if is_excluded else self.weight_decay_rate,
      beta_1=self.beta_1,
      beta_2=self.beta_2,
      beta_1_power=beta_1_power,
      beta_2_power=beta_2_power,
      epsilon=self.epsilon,
      is_excluded=is_excluded,
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
      "learning_rate_multipliers": self.learning_rate_multipliers,
    }


def _update(step_of, handles, gradient, scale, rates):
  """Updates weights and moments in place.

  Args:
    step_of: as `MomentOptimizer.step_of`.
    handles: list of resource tensors, of weights and both moments.
    gradient: tensor of their shape and dtype.
    scale: scalar tensor, factor of the gradient.
    rates: `Rates`.
  """
  weights, m, v = (
    tf.raw_ops.ReadVariableOp(resource=handle, dtype=gradient.dtype)
    for handle in handles
  )
  gradient *= scale
  m += (1.0 - rates.beta_1) * (gradient - m)
  v += (1.0 - rates.beta_2) * (tf.square(gradient) - v)
  weights -= step_of(weights, gradient, m, v, rates)
  for handle, value in zip(handles, (weights, m, v), strict=True):
    tf.raw_ops.AssignVariableOp(resource=handle, value=value)


# The compiled update reads and writes weights, moments and gradient once, where
# kernels for clipping, decay and moments would each read and write some of them
# again: memory is what the update of a large variable waits for.
_compiled_update = tf.function(
  _update, jit_compile=True, autograph=False, reduce_retracing=True
)
# Traced once for all variables of a shape: BERT-Base has two hundred.
_traced_update = tf.function(_update, autograph=False)
