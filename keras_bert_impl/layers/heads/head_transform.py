"""The transformation with which heads begin."""

import keras

from keras_bert_impl.layers.basics import layer


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class HeadTransform(layer.Layer):
  """Dense layer with activation, then LayerNorm: the beginning of a head.

  Args:
    units: int, size of the outputs.
    activation: str, of the dense layer; see `kernels.activation`.
    use_bias: bool, whether the dense layer has a bias.
    norm_bias: bool, whether LayerNorm adds a bias.
    layer_norm_eps: float.
    initializer_range: float, standard deviation.
    **kwargs: of `keras.layers.Layer`.

  Source: google-research/bert, run_pretraining.py, get_masked_lm_output.
  """

  def __init__(
    self,
    units,
    activation="gelu",
    use_bias=True,
    norm_bias=True,
    layer_norm_eps=1e-12,
    initializer_range=0.02,
    **kwargs,
  ):
    super().__init__(**kwargs)
    self._keep(locals())

  def build(self, hidden_shape):
    """Creates the weights."""
    self.dense = self._dense(
      self.units, hidden_shape, self.activation, use_bias=self.use_bias
    )
    self.layer_norm = self._layer_norm((*hidden_shape[:-1], self.units))

  def call(self, hidden):
    """Transforms vectors, float [..., H] -> [..., units]."""
    return self.layer_norm(self.dense(hidden))

  def compute_output_spec(self, hidden):
    """Returns the shape and dtype of `call`."""
    shape = (*hidden.shape[:-1], self.units)
    return keras.KerasTensor(shape, self.compute_dtype)
