"""StableAdamW: AdamW with update clipping."""

import keras
import tensorflow as tf

from keras_bert_impl.optimizers import moments


@keras.saving.register_keras_serializable("keras_bert_impl")
class StableAdamW(moments.MomentOptimizer):
  """AdamW with Adafactor's update clipping.

  If the root mean square of `gradient / sqrt(v)` of a variable is above 1, its
  gradients are larger than the second moment v expects. Then its learning rate,
  of the update and of the weight decay, is divided by that root mean square.
  This makes clipping by the norm of all gradients needless.

  Args:
    See `moments.MomentOptimizer`. As in the paper, the bias of the moments is
    corrected by default, before epsilon is added.

  Source: Wortsman et al. 2023, algorithm 2.
  """

  NAME, LEARNING_RATE, USE_BIAS_CORRECTION = "stable_adamw", 1e-3, True

  @staticmethod
  def step_of(weights, gradient, m, v, rates):
    """Returns how far weights move, see `moments.MomentOptimizer`."""
    m /= 1.0 - rates.beta_1_power
    v /= 1.0 - rates.beta_2_power
    square = tf.square(gradient) / tf.maximum(v, rates.epsilon**2)
    rms = tf.sqrt(tf.reduce_mean(square))
    update = m / (tf.sqrt(v) + rates.epsilon) + rates.weight_decay * weights
    return rates.learning_rate / tf.maximum(1.0, rms) * update
