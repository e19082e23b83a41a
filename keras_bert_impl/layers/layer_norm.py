"""Layer normalization that is one kernel in inference."""

import keras

from keras_bert_impl.layers import kernels


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class LayerNormalization(keras.layers.LayerNormalization):
  """`keras.layers.LayerNormalization` over the last axis; see `kernels`."""

  def call(self, inputs, training=None):
    """Returns the normalized `inputs` [..., H]."""
    fast = kernels.layer_norm(
      inputs, self.gamma, self.beta, self.epsilon, training
    )
    return super().call(inputs) if fast is None else fast
