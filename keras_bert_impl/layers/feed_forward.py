"""The feed-forward half of a transformer block."""

import keras

from keras_bert_impl.layers import base, residual_output


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class FeedForward(base.Layer):
  """Feed-forward half of a block: a dense layer, then `ResidualOutput`.

  With gates, the first dense layer has 2 I columns: the activation of the first
  I is multiplied by the other I (GeGLU; with "silu", SwiGLU).

  Args:
    intermediate_size: int, I.
    activation: str, between the dense layers; see `activations.get`.
    inner_dropout_rate: float in [0, 1), between the dense layers.
    is_gated: bool, whether there are gates.
    use_bias: bool, whether the dense layers have biases.
    initializer_range: float, standard deviation.
    residual_options: dict, further options of `ResidualOutput`; or None.
    use_own_scope: bool, whether the paths of the weights contain the layer's
      own name. False leaves it out, as in Google's checkpoints:
      layer_0/intermediate/dense/kernel, ..., layer_0/output/LayerNorm/beta.
    **kwargs: of `keras.layers.Layer`.

  Source: Vaswani et al. 2017, section 3.3; Shazeer 2020 for gates.
  """

  def __init__(
    self,
    intermediate_size,
    activation="gelu",
    inner_dropout_rate=0.0,
    is_gated=False,
    use_bias=True,
    initializer_range=0.02,
    residual_options=None,
    use_own_scope=True,
    **kwargs,
  ):
    super().__init__(**kwargs)
    self.supports_masking = True
    self.intermediate_size = intermediate_size
    self.activation = activation
    self.inner_dropout_rate = inner_dropout_rate
    self.is_gated = is_gated
    self.use_bias = use_bias
    self.initializer_range = initializer_range
    self.residual_options = residual_options
    self.use_own_scope = use_own_scope

  def build(self, hidden_shape):
    """Creates the weights."""
    inner_shape = (*hidden_shape[:-1], self.intermediate_size)
    outer, _, scope = self.path.rpartition("/")
    if outer and not self.use_own_scope:
      outer, _, scope = outer.rpartition("/")
    with keras.name_scope(scope, override_parent=outer):
      with keras.name_scope("intermediate"):
        self.dense = self._dense(
          self.intermediate_size * (2 if self.is_gated else 1),
          hidden_shape,
          self.activation,
          use_bias=self.use_bias,
          is_gated=self.is_gated,
        )
        self.dropout = None
        if self.inner_dropout_rate:
          self.dropout = self._dropout(inner_shape, self.inner_dropout_rate)
      self.output_layer = residual_output.ResidualOutput(
        use_bias=self.use_bias,
        name="output",
        **self._inherited,
        **(self.residual_options or {}),
      )
      self.output_layer.build(inner_shape, hidden_shape)

  def call(self, hidden, training=False):
    """Transforms the hidden states, float [B, L, H] to [B, L, H]."""
    read = self.output_layer.pre_norm(hidden, training)
    # Inside keras.remat the layers do not get `training` from Keras.
    inner = self.dense(read, training=training)  # [B, L, I]
    if self.dropout is not None:
      inner = self.dropout(inner, training=training)
    return self.output_layer(inner, hidden, training=training)

  def compute_output_spec(self, hidden, training=False):
    """Returns the shape and dtype of `call`."""
    return keras.KerasTensor(hidden.shape, self.compute_dtype)
