"""Dense layer over a matrix of tokens."""

import keras
from keras import ops

from keras_bert_impl.layers import kernels


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class Dense(keras.layers.Dense):
  """`keras.layers.Dense` that sees [B, L, H] as a matrix [B * L, H].

  So did the original (modeling.py, reshape_to_matrix): kernels for the product
  of two matrices are faster, and take bias and GELU along; see `kernels`.
  """

  def call(self, inputs, training=None):
    """Returns the outputs [..., units] for `inputs` [..., H].

    With a gated activation they are [..., units / 2].
    """
    shape = ops.shape(inputs)
    x = ops.reshape(inputs, (-1, shape[-1])) if len(shape) > 2 else inputs
    x = ops.matmul(x, self.kernel)
    x = kernels.finish(x, self.bias, self.activation, training)
    return ops.reshape(x, (*shape[:-1], x.shape[-1])) if len(shape) > 2 else x

  def quantize(self, mode=None, type_check=True, **kwargs):
    """Quantizes the weights, as `keras.layers.Dense.quantize`."""
    # Keras refuses subclasses, because their call may compute something else.
    del type_check
    super().quantize(mode, type_check=False, **kwargs)
