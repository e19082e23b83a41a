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

  NAME, LEARNING_RATE, USE_BIAS_CORRECTION = "lamb", 1e-3, True

  @staticmethod
  def step_of(weights, gradient, m, v, rates):
    """Returns how far weights move, see `moments.MomentOptimizer`."""
    del gradient  # The moments are enough.
    update = (m / (1.0 - rates.beta_1_power)) / (
      tf.sqrt(v / (1.0 - rates.beta_2_power)) + rates.epsilon
    )
    if rates.is_excluded:
      return rates.learning_rate * update
    update += rates.weight_decay * weights
    return rates.learning_rate * _trust_ratio(weights, update) * update


def _trust_ratio(weights, update):
  """Returns the norm of `weights` over that of `update`, 1 for norms of 0."""
  ratio = tf.math.divide_no_nan(tf.norm(weights), tf.norm(update))
  return tf.where(ratio > 0.0, ratio, 1.0)
