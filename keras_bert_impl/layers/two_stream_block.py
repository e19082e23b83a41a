"""The transformer block of XLNet: one stream of hidden states, or two."""

import keras

from keras_bert_impl.layers import (
  base,
  feed_forward,
  relative_attention,
  rematerialization,
  residual_output,
)


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class TwoStreamBlock(base.Layer):
  """Transformer block with `RelativeAttention` and feed-forward layer.

  Post-norm, each with dropout, the residual sum and LayerNorm; the streams of
  contents and queries go through the same weights.

  Args:
    num_heads: int, N; must divide H.
    intermediate_size: int, I.
    activation: str, of the feed-forward layer; see `activations.get`.
    dropout_rate: float in [0, 1), of the outputs and inside the feed-forward
      layer.
    attention_dropout_rate: float in [0, 1), of the attention probabilities.
    layer_norm_eps: float.
    initializer_range: float, standard deviation.
    **kwargs: of `keras.layers.Layer`.

  Source: Yang et al. 2019, section 2.3; zihangdai/xlnet, modeling.py.
  """

  def __init__(
    self,
    num_heads,
    intermediate_size,
    activation="gelu",
    dropout_rate=0.1,
    attention_dropout_rate=0.1,
    layer_norm_eps=1e-12,
    initializer_range=0.02,
    **kwargs,
  ):
    super().__init__(**kwargs)
    self.num_heads = num_heads
    self.intermediate_size = intermediate_size
    self.activation = activation
    self.dropout_rate = dropout_rate
    self.attention_dropout_rate = attention_dropout_rate
    self.layer_norm_eps = layer_norm_eps
    self.initializer_range = initializer_range

  def build(self, hidden_shape, **other_shapes):
    """Creates the weights."""
    residual = {
      "dropout_rate": self.dropout_rate,
      "layer_norm_eps": self.layer_norm_eps,
    }
    with keras.name_scope("attention"):
      self.attention = relative_attention.RelativeAttention(
        self.num_heads,
        self.attention_dropout_rate,
        name="self",
        **self._inherited,
      )
      self.attention.build(hidden_shape)
      self.attention_output = residual_output.ResidualOutput(
        use_dense=False, name="output", **self._inherited, **residual
      )
      self.attention_output.build(hidden_shape, hidden_shape)
    self.feed_forward = feed_forward.FeedForward(
      self.intermediate_size,
      self.activation,
      inner_dropout_rate=self.dropout_rate,
      residual_options=residual,
      use_own_scope=False,
      **self._inherited,
    )
    self.feed_forward.build(hidden_shape)

  def call(
    self,
    hidden,
    structure,
    query_hidden=None,
    target_mapping=None,
    memory=None,
    *,
    training=False,
  ):
    """Transforms the streams; arguments as of `RelativeAttention.call`.

    Returns:
      List of the contents [B, L, H] and, with `query_hidden`, the queries
      [B, P, H].
    """

    def transform(*streams):
      contexts = self.attention(
        streams[0],
        structure,
        query_hidden=streams[1] if len(streams) > 1 else None,
        target_mapping=target_mapping,
        memory=memory,
        training=training,
      )
      return [
        self._add(stream, context, training)
        for stream, context in zip(streams, contexts, strict=True)
      ]

    streams = [x for x in (hidden, query_hidden) if x is not None]
    return rematerialization.apply(transform, streams, training)

  def _add(self, hidden, context, training):
    """Returns a stream's output for its input and its context, [B, L, H]."""
    # Inside keras.remat the layers do not get `training` from Keras.
    hidden = self.attention_output(context, hidden, training=training)
    return self.feed_forward(hidden, training=training)

  def compute_output_spec(
    self, hidden, structure, query_hidden=None, *args, **kwargs
  ):
    """Returns the shapes and dtypes of `call`."""
    streams = [x for x in (hidden, query_hidden) if x is not None]
    return [
      keras.KerasTensor(stream.shape, self.compute_dtype) for stream in streams
    ]
