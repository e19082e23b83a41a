"""AdamW as in the original BERT: decoupled weight decay, no bias correction."""

import keras
import tensorflow as tf

from keras_bert_impl.optimizers import moments


@keras.saving.register_keras_serializable("keras_bert_impl")
class AdamW(moments.MomentOptimizer):
  """Adam with weight decay outside the moments and no bias correction.

  Differs from `keras.optimizers.AdamW`: no bias correction by default, epsilon
  1e-6, parameters excluded from the decay by their path and dense gradients,
  see `moments.MomentOptimizer`.

  Args:
    See `moments.MomentOptimizer`. The decay is `weight_decay_rate` times the
    learning rate per step. Epsilon is added to the root of the uncorrected
    moment, also with bias correction: 1e-6 acts as 3e-5 at step 1.

  Source: google-research/bert, optimization.py, AdamWeightDecayOptimizer.
  """

  @staticmethod
  def step_of(weights, gradient, m, v, rates):
    """Returns how far weights move, see `moments.MomentOptimizer`."""
    del gradient  # The moments are enough.
    correction = (1.0 - rates.beta_2_power) ** 0.5 / (1.0 - rates.beta_1_power)
    update = correction * m / (tf.sqrt(v) + rates.epsilon)
    if rates.weight_decay:
      update += rates.weight_decay * weights
    return rates.learning_rate * update
