"""Self-attention, and the transformer block around it."""

import keras
from keras import ops

from keras_bert_impl.layers import attention_masks, base, rematerialization


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class SelfAttention(base.Layer):
  """Multi-head self-attention, scaled dot-product, N heads of size D.

  It uses Keras' implicit mask, such as that of `Embedding(mask_zero=True)`, and
  passes it on.

  Args:
    num_heads: int, N; must divide H.
    dropout_rate: float in [0, 1), of the attention probabilities.
    use_causal_mask: bool, whether a position sees only itself and those before
      it.
    initializer_range: float, standard deviation.
    **kwargs: of `keras.layers.Layer`.

  Source: Vaswani et al. 2017, section 3.2.
  """

  def __init__(
    self,
    num_heads,
    dropout_rate=0.1,
    use_causal_mask=False,
    initializer_range=0.02,
    **kwargs,
  ):
    super().__init__(**kwargs)
    self.supports_masking = True
    self.num_heads = num_heads
    self.dropout_rate = dropout_rate
    self.use_causal_mask = use_causal_mask
    self.initializer_range = initializer_range

  def build(self, hidden_shape, **other_shapes):
    """Creates the weights."""
    batch, length, hidden_size = hidden_shape
    if hidden_size % self.num_heads:
      raise ValueError(
        f"The hidden size ({hidden_size}) of {self.name} must be a multiple of "
        f"num_heads ({self.num_heads})."
      )
    self.query = self._dense(hidden_size, hidden_shape, name="query")
    self.key = self._dense(hidden_size, hidden_shape, name="key")
    self.value = self._dense(hidden_size, hidden_shape, name="value")
    probs_shape = (batch, self.num_heads, length, length)
    self.dropout = self._dropout(probs_shape, self.dropout_rate)

  def call(
    self,
    hidden,
    attention_mask=None,
    mask=None,
    position_bias=None,
    *,
    return_attention_scores=False,
    training=False,
  ):
    """Computes the attention of each position to all others.

    Args:
      hidden: float [B, L, H].
      attention_mask: bool or int, true where a position may be seen: [B, L]
        (padding) or [B, L, L] (from each position to each). None: as `mask`.
      mask: bool [B, L], which Keras passes on from the layers before. None:
        all positions are seen.
      position_bias: float [B or 1, N, L, L], added to the scores before
        softmax; see `RelativePositionBias`. None adds nothing.
      return_attention_scores: bool.
      training: bool.

    Returns:
      The context [B, L, H]; with `return_attention_scores` a tuple of it and
      the attention probabilities [B, N, L, L], before dropout.
    """
    if attention_mask is None:
      attention_mask = mask
    head_size = hidden.shape[-1] // self.num_heads
    query = self._split_heads(self.query(hidden)) * head_size**-0.5
    key = self._split_heads(self.key(hidden))  # [B, N, L, D]
    value = self._split_heads(self.value(hidden))
    scores = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2)))
    length = ops.shape(hidden)[1]
    bias = attention_masks.bias(attention_mask, length, self.use_causal_mask)
    scores = scores if bias is None else scores + ops.cast(bias, scores.dtype)
    scores = ops.cast(scores, "float32")  # [B, N, L, L]
    scores = scores if position_bias is None else scores + position_bias
    probs = ops.cast(ops.softmax(scores), self.compute_dtype)
    context = ops.matmul(self.dropout(probs, training=training), value)
    context = ops.transpose(context, (0, 2, 1, 3))  # [B, L, N, D]
    context = ops.reshape(context, ops.shape(hidden))
    return (context, probs) if return_attention_scores else context

  def _split_heads(self, x):
    """[B, L, H] -> [B, N, L, D]."""
    batch, length, size = ops.shape(x)
    x = ops.reshape(x, (batch, length, self.num_heads, size // self.num_heads))
    return ops.transpose(x, (0, 2, 1, 3))

  def compute_output_spec(
    self, hidden, *args, return_attention_scores=False, **kwargs
  ):
    """Returns the shapes and dtypes of `call`."""
    context = keras.KerasTensor(hidden.shape, self.compute_dtype)
    if not return_attention_scores:
      return context
    batch, length, _ = hidden.shape
    shape = (batch, self.num_heads, length, length)
    return context, keras.KerasTensor(shape, self.compute_dtype)


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class TransformerBlock(base.Layer):
  """Transformer block: self-attention and feed-forward layer, post-norm.

  Each is followed by dropout, the residual sum and LayerNorm, as in the paper.
  The names of the weights are those of Google's checkpoints:
  attention/self/query/kernel, ..., output/LayerNorm/beta. Keras' implicit mask
  is used and passed on, as in `SelfAttention`.

  Args:
    num_heads: int, N; must divide H.
    intermediate_size: int, I.
    activation: str, of the feed-forward layer; see `activations.get`.
    dropout_rate: float in [0, 1), of both outputs.
    attention_dropout_rate: float in [0, 1), of the attention probabilities.
    use_causal_mask: bool, see `SelfAttention`.
    layer_norm_eps: float.
    initializer_range: float, standard deviation.
    **kwargs: of `keras.layers.Layer`.

  Source: Vaswani et al. 2017, section 3.1; Devlin et al. 2019, section 3.
  """

  def __init__(
    self,
    num_heads,
    intermediate_size,
    activation="gelu",
    dropout_rate=0.1,
    attention_dropout_rate=0.1,
    use_causal_mask=False,
    layer_norm_eps=1e-12,
    initializer_range=0.02,
    **kwargs,
  ):
    super().__init__(**kwargs)
    self.supports_masking = True
    self.num_heads = num_heads
    self.intermediate_size = intermediate_size
    self.activation = activation
    self.dropout_rate = dropout_rate
    self.attention_dropout_rate = attention_dropout_rate
    self.use_causal_mask = use_causal_mask
    self.layer_norm_eps = layer_norm_eps
    self.initializer_range = initializer_range

  def build(self, hidden_shape, **other_shapes):
    """Creates the weights."""
    hidden_size = hidden_shape[-1]
    with keras.name_scope("attention"):
      self.attention = SelfAttention(
        self.num_heads,
        self.attention_dropout_rate,
        self.use_causal_mask,
        self.initializer_range,
        dtype=self.dtype_policy,
        name="self",
      )
      self.attention.build(hidden_shape)
      with keras.name_scope("output"):
        self.attention_dense = self._dense(hidden_size, hidden_shape)
        self.attention_dropout = self._dropout(hidden_shape, self.dropout_rate)
        self.attention_norm = self._layer_norm(hidden_shape)
    with keras.name_scope("intermediate"):
      self.intermediate_dense = self._dense(
        self.intermediate_size, hidden_shape, self.activation
      )
    with keras.name_scope("output"):
      self.output_dense = self._dense(
        hidden_size, (*hidden_shape[:-1], self.intermediate_size)
      )
      self.output_dropout = self._dropout(hidden_shape, self.dropout_rate)
      self.output_norm = self._layer_norm(hidden_shape)

  def call(
    self,
    hidden,
    attention_mask=None,
    mask=None,
    position_bias=None,
    *,
    return_attention_scores=False,
    training=False,
  ):
    """Transforms the hidden states; arguments as of `SelfAttention.call`.

    Returns:
      The hidden states [B, L, H]; with `return_attention_scores` a tuple of
      them and the attention probabilities [B, N, L, L].
    """

    def transform(hidden, position_bias=None):
      context, probs = self.attention(
        hidden,
        attention_mask,
        mask=mask,
        position_bias=position_bias,
        return_attention_scores=True,
        training=training,
      )
      hidden = self._add(hidden, context, training)
      return (hidden, probs) if return_attention_scores else hidden

    inputs = [x for x in (hidden, position_bias) if x is not None]
    return rematerialization.apply(transform, inputs, training)

  def _add(self, hidden, context, training):
    """Returns the block's output for its input and the context, [B, L, H]."""
    context = self.attention_dense(context)
    context = self.attention_dropout(context, training=training)
    hidden = self.attention_norm(hidden + context, training=training)
    # Keras does not know `training` where a block is computed again.
    inner = self.intermediate_dense(hidden, training=training)  # [B, L, I]
    update = self.output_dropout(self.output_dense(inner), training=training)
    return self.output_norm(hidden + update, training=training)

  compute_output_spec = SelfAttention.compute_output_spec
