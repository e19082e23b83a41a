"""Learned weighted mean of several layers' outputs."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class ScalarMix(keras.layers.Layer):
  """Weighted sum of tensors; the weights are a softmax of learned scalars.

  Initially it is their mean.

  Args:
    **kwargs: of `keras.layers.Layer`.

  Source: Peters et al. 2018, equation 1, without the common factor, which the
  layer above learns anyway.
  """

  def build(self, shapes):
    """Creates the weights."""
    self.mix_logits = self.add_weight(
      name="mix_logits", shape=(len(shapes),), initializer="zeros"
    )

  def call(self, tensors):
    """Mixes a list of K float tensors [...] of one shape into one [...]."""
    weights = ops.softmax(self.mix_logits)  # [K]
    return sum(weights[k] * tensor for k, tensor in enumerate(tensors))
