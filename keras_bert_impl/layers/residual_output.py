"""The end of each half of a transformer block."""

import keras

from keras_bert_impl.layers import base, initializers


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class ResidualOutput(base.Layer):
  """Dense layer, dropout, residual sum and LayerNorm: the end of half a block.

  Args:
    dropout_rate: float in [0, 1).
    use_dense: bool, whether there is a dense layer.
    use_bias: bool, whether the dense layer has a bias.
    norm_first: bool, whether LayerNorm normalizes the input of the half
      (pre-norm) instead of the sum (post-norm); see `pre_norm`.
    use_norm: bool, whether there is LayerNorm.
    norm_bias: bool, whether LayerNorm adds a bias.
    layer_norm_eps: float.
    initializer_range: float, standard deviation.
    num_layers: int, layers of the encoder, by which the standard deviation of
      the kernel is reduced: see `initializers.residual_stddev`. None leaves it
      as it is.
    **kwargs: of `keras.layers.Layer`.

  Source: Vaswani et al. 2017, section 3.1; Xiong et al. 2020 for pre-norm.
  """

  def __init__(
    self,
    dropout_rate=0.1,
    use_dense=True,
    use_bias=True,
    norm_first=False,
    use_norm=True,
    norm_bias=True,
    layer_norm_eps=1e-12,
    initializer_range=0.02,
    num_layers=None,
    **kwargs,
  ):
    super().__init__(**kwargs)
    self.supports_masking = True
    self.dropout_rate = dropout_rate
    self.use_dense = use_dense
    self.use_bias = use_bias
    self.norm_first = norm_first
    self.use_norm = use_norm
    self.norm_bias = norm_bias
    self.layer_norm_eps = layer_norm_eps
    self.initializer_range = initializer_range
    self.num_layers = num_layers

  def build(self, update_shape, hidden_shape):
    """Creates the weights."""
    self.dense = self.layer_norm = None
    if self.use_dense:
      self.dense = self._dense(
        hidden_shape[-1],
        update_shape,
        use_bias=self.use_bias,
        stddev=initializers.residual_stddev(
          self.initializer_range, self.num_layers
        ),
      )
    self.dropout = self._dropout(hidden_shape, self.dropout_rate)
    if self.use_norm:
      self.layer_norm = self._layer_norm(hidden_shape)

  def pre_norm(self, hidden, training=False):
    """Returns the input of the half, float [B, L, H], normalized if pre-norm.

    The owner of the half calls it before attention or feed-forward layer.
    """
    if self.layer_norm is None or not self.norm_first:
      return hidden
    return self.layer_norm(hidden, training=training)

  def call(self, update, hidden, training=False):
    """Returns the output of the half.

    Args:
      update: float [B, L, H or I], the result of attention or of the first
        dense layer.
      hidden: float [B, L, H], the input of the half, not normalized.
      training: bool.

    Returns:
      float [B, L, H].
    """
    # Inside keras.remat the layers do not get `training` from Keras.
    if self.dense is not None:
      update = self.dense(update, training=training)
    hidden = hidden + self.dropout(update, training=training)
    if self.layer_norm is None or self.norm_first:
      return hidden
    return self.layer_norm(hidden, training=training)

  def compute_output_spec(self, update, hidden, training=False):
    """Returns the shape and dtype of `call`."""
    return keras.KerasTensor(hidden.shape, self.compute_dtype)
