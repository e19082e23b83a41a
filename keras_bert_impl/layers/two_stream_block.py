"""The transformer block of XLNet: one stream of hidden states, or two."""

import keras

from keras_bert_impl.layers import (
  base,
  relative_attention,
  rematerialization,
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
    hidden_size = hidden_shape[-1]
    inner_shape = (*hidden_shape[:-1], self.intermediate_size)
    with keras.name_scope("attention"):
      self.attention = relative_attention.RelativeAttention(
        self.num_heads,
        self.attention_dropout_rate,
        self.initializer_range,
        dtype=self.dtype_policy,
        name="self",
      )
      self.attention.build(hidden_shape)
      with keras.name_scope("output"):
        self.attention_dropout = self._dropout(hidden_shape, self.dropout_rate)
        self.attention_norm = self._layer_norm(hidden_shape)
    with keras.name_scope("intermediate"):
      self.intermediate_dense = self._dense(
        self.intermediate_size, hidden_shape, self.activation
      )
      self.intermediate_dropout = self._dropout(inner_shape, self.dropout_rate)
    with keras.name_scope("output"):
      self.output_dense = self._dense(hidden_size, inner_shape)
      self.output_dropout = self._dropout(hidden_shape, self.dropout_rate)
      self.output_norm = self._layer_norm(hidden_shape)

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
    context = self.attention_dropout(context, training=training)
    hidden = self.attention_norm(hidden + context, training=training)
    # Keras does not know `training` where a block is computed again.
    inner = self.intermediate_dense(hidden, training=training)  # [B, L, I]
    inner = self.intermediate_dropout(inner, training=training)
    update = self.output_dropout(self.output_dense(inner), training=training)
    return self.output_norm(hidden + update, training=training)

  def compute_output_spec(
    self, hidden, structure, query_hidden=None, *args, **kwargs
  ):
    """Returns the shapes and dtypes of `call`."""
    streams = [x for x in (hidden, query_hidden) if x is not None]
    return [
      keras.KerasTensor(stream.shape, self.compute_dtype) for stream in streams
    ]
