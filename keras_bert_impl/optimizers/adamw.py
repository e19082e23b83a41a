"""AdamW as in the original BERT: decoupled weight decay, no bias correction."""

import keras
import tensorflow as tf

from keras_bert_impl.optimizers import moments


@keras.saving.register_keras_serializable("keras_bert_impl")
class AdamW(moments.MomentOptimizer):
  """Adam with weight decay outside the moments and no bias correction.

  Differs from `keras.optimizers.AdamW`: no bias correction by default, epsilon
  1e-6, parameters excluded from the decay by their path and dense gradients,
  see `moments.MomentOptimizer`. One fused kernel per variable.

  Args:
    See `moments.MomentOptimizer`. The decay is `weight_decay_rate` times the
    learning rate per step. Epsilon is added to the root of the uncorrected
    moment, also with bias correction: 1e-6 acts as 3e-5 at step 1.

  Source: google-research/bert, optimization.py, AdamWeightDecayOptimizer.
  """

  def __init__(
    self, learning_rate=5e-5, use_bias_correction=False, name="adamw", **kwargs
  ):
    super().__init__(
      learning_rate,
      use_bias_correction=use_bias_correction,
      name=name,
      **kwargs,
    )

  def _update(self, variable, m, v, gradient, learning_rate, is_excluded):
    if self.weight_decay_rate and not is_excluded:
      # Both terms use the weights before the step, so the decay goes first.
      tf.raw_ops.ResourceApplyGradientDescent(
        var=variable.handle,
        alpha=learning_rate * self.weight_decay_rate,
        delta=variable,
      )
    # Powers of zero switch the kernel's bias correction off.
    beta1_power, beta2_power = self._beta_powers(variable.dtype)
    tf.raw_ops.ResourceApplyAdam(
      var=variable.handle,
      m=m.handle,
      v=v.handle,
      beta1_power=beta1_power,
      beta2_power=beta2_power,
      lr=learning_rate,
      beta1=self.beta_1,
      beta2=self.beta_2,
      epsilon=self.epsilon,
      grad=gradient,
    )
