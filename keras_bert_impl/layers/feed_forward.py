"""The feed-forward half of a transformer block."""

import keras

from keras_bert_impl.layers import base, residual_output


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class FeedForward(base.Layer):
  """Feed-forward half of a block: a dense layer, then `ResidualOutput`.

  A gated one multiplies what comes out of the activation: its first matrix has
  2 I columns, those that go in and those to multiply by (GeGLU; with "silu"
  SwiGLU).

  Args:
    intermediate_size: int, I.
    activation: str, between the dense layers; see `activations.get`.
    dropout_rate: float in [0, 1), of the output.
    inner_dropout_rate: float in [0, 1), between the dense layers.
    is_gated: bool.
    use_bias: bool, whether the dense layers have biases.
    norm_first: bool, as `ResidualOutput`.
    norm_bias: bool, as `ResidualOutput`.
    layer_norm_eps: float.
    initializer_range: float, standard deviation.
    num_layers: int or None, as `ResidualOutput`.
    use_own_scope: bool, False names its weights as those of the layer that it
      is a part of: intermediate/dense/kernel, ..., output/LayerNorm/beta.
    **kwargs: of `keras.layers.Layer`.

  Source: Vaswani et al. 2017, section 3.3; Shazeer 2020 for gates.
  """

  def __init__(
    self,
    intermediate_size,
    activation="gelu",
    dropout_rate=0.1,
    inner_dropout_rate=0.0,
    is_gated=False,
    use_bias=True,
    norm_first=False,
    norm_bias=True,
    layer_norm_eps=1e-12,
    initializer_range=0.02,
    num_layers=None,
    use_own_scope=True,
    **kwargs,
  ):
    super().__init__(**kwargs)
    self.supports_masking = True
    self.intermediate_size = intermediate_size
    self.activation = activation
    self.dropout_rate = dropout_rate
    self.inner_dropout_rate = inner_dropout_rate
    self.is_gated = is_gated
    self.use_bias = use_bias
    self.norm_first = norm_first
    self.norm_bias = norm_bias
    self.layer_norm_eps = layer_norm_eps
    self.initializer_range = initializer_range
    self.num_layers = num_layers
    self.use_own_scope = use_own_scope

  def build(self, hidden_shape):
    """Creates the weights."""
    inner_shape = (*hidden_shape[:-1], self.intermediate_size)
    scope = self.path.split("/")
    scope = scope if self.use_own_scope else scope[:-1]
    with keras.name_scope(scope[-1], override_parent="/".join(scope[:-1])):
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
        self.dropout_rate,
        use_bias=self.use_bias,
        norm_first=self.norm_first,
        norm_bias=self.norm_bias,
        layer_norm_eps=self.layer_norm_eps,
        initializer_range=self.initializer_range,
        num_layers=self.num_layers,
        dtype=self.dtype_policy,
        name="output",
      )
      self.output_layer.build(inner_shape, hidden_shape)

  def call(self, hidden, training=False):
    """Transforms the hidden states [B, L, H]."""
    read = self.output_layer.before(hidden, training)
    # Keras does not know `training` where a block is computed again.
    inner = self.dense(read, training=training)  # [B, L, I]
    if self.dropout is not None:
      inner = self.dropout(inner, training=training)
    return self.output_layer(inner, hidden, training=training)

  def compute_output_spec(self, hidden, training=False):
    """Returns the shape and dtype of `call`."""
    return keras.KerasTensor(hidden.shape, self.compute_dtype)
