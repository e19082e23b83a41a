"""LAMB: Adam with layerwise adaptive learning rates, for large batches."""

import keras
import tensorflow as tf

from keras_bert_impl.optimizers import moments


@keras.saving.register_keras_serializable("keras_bert_impl")
class LAMB(moments.MomentOptimizer):
  """LAMB optimizer: Adam's update, scaled to the norm of each variable.

  The update of a variable, decay included, is scaled to the norm of the
  variable (the "trust ratio") and multiplied by the learning rate. Where
  either norm is zero the ratio is 1; so it is for excluded parameters, which
  do not decay either.

  Differs from `keras.optimizers.Lamb`: the decay is part of the scaled update,
  as in the paper; parameters are excluded by their path.

  Args:
    See `moments.MomentOptimizer`. The paper corrects the bias of the moments,
    the code that trained ALBERT does not.

  Source: You et al. 2020, algorithm 2; google-research/albert,
  lamb_optimizer.py.
  """

  def __init__(
    self, learning_rate=1e-3, use_bias_correction=True, name="lamb", **kwargs
  ):
    super().__init__(
      learning_rate,
      use_bias_correction=use_bias_correction,
      name=name,
      **kwargs,
    )

  def _update(self, variable, m, v, gradient, learning_rate, is_excluded):
    m.assign(self.beta_1 * m + (1.0 - self.beta_1) * gradient)
    v.assign(self.beta_2 * v + (1.0 - self.beta_2) * tf.square(gradient))
    beta1_power, beta2_power = self._beta_powers(variable.dtype)
    update = (m / (1.0 - beta1_power)) / (
      tf.sqrt(v / (1.0 - beta2_power)) + self.epsilon
    )
    if not is_excluded:
      update += self.weight_decay_rate * variable
      learning_rate *= _trust_ratio(variable, update)
    variable.assign_sub(learning_rate * update)


def _trust_ratio(variable, update):
  """Returns the norm of `variable` over that of `update`, 1 for norms of 0."""
  ratio = tf.math.divide_no_nan(tf.norm(variable), tf.norm(update))
  return tf.where(ratio > 0.0, ratio, 1.0)
