"""Self-attention, and the transformer block around it."""

import keras

from keras_bert_impl.layers import (
  attention,
  base,
  disentangled,
  rematerialization,
)


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
    block_size: int, for how many positions scores are kept at a time: memory
      grows with L, not with its square. None: for all.
    disentangled: dict, options of `DisentangledBias`; None: there is none.
    **kwargs: of `keras.layers.Layer`.

  Source: Vaswani et al. 2017, section 3.2.
  """

  def __init__(
    self,
    num_heads,
    dropout_rate=0.1,
    use_causal_mask=False,
    initializer_range=0.02,
    block_size=None,
    disentangled=None,
    **kwargs,
  ):
    super().__init__(**kwargs)
    self.supports_masking = True
    self.num_heads = num_heads
    self.dropout_rate = dropout_rate
    self.use_causal_mask = use_causal_mask
    self.initializer_range = initializer_range
    self.block_size = block_size
    self.disentangled = disentangled

  def build(self, hidden_shape, **other_shapes):
    """Creates the weights."""
    hidden_size = hidden_shape[-1]
    attention.check_heads(self, hidden_size)
    self.query = self._dense(hidden_size, hidden_shape, name="query")
    self.key = self._dense(
      hidden_size,
      hidden_shape,
      name="key",
      use_bias=(self.disentangled or {}).get("use_key_bias", True),
    )
    self.value = self._dense(hidden_size, hidden_shape, name="value")
    self.dropout = self._dropout(hidden_shape, self.dropout_rate)
    self.disentangled_bias = disentangled.of_attention(self, hidden_shape)

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
        softmax; see `RelativePositionBias`. None adds nothing. Where
        attention is disentangled, what `RelativeEmbeddings` returns.
      return_attention_scores: bool.
      training: bool.

    Returns:
      The context [B, L, H]; with `return_attention_scores` a tuple of it and
      the attention probabilities [B, N, L, L], before dropout.
    """
    query, key, value = (
      attention.split_heads(dense(hidden), self.num_heads)
      for dense in (self.query, self.key, self.value)
    )
    mask = mask if attention_mask is None else attention_mask
    if self.disentangled_bias is not None:
      query *= self.disentangled_bias.scale
      position_bias = self.disentangled_bias.bias(
        query, key, mask, position_bias, (self.query, self.key), training
      )
      mask = None
    rows = attention.rows(query, mask, self.use_causal_mask, position_bias)
    drop = self.dropout.drawn(training)
    size = None if return_attention_scores else self.block_size
    context, probs = attention.attend(rows, key, value, drop, size, training)
    context = attention.merge_heads(context)
    return (context, probs) if return_attention_scores else context

  def compute_output_spec(
    self, hidden, *args, return_attention_scores=False, **kwargs
  ):
    """Returns the shapes and dtypes of `call`."""
    context = keras.KerasTensor(hidden.shape, self.compute_dtype)
    batch, length, _ = hidden.shape
    shape = (batch, self.num_heads, length, length)
    probs = keras.KerasTensor(shape, self.compute_dtype)
    return (context, probs) if return_attention_scores else context


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
    block_size: int or None, see `SelfAttention`.
    disentangled: dict or None, see `SelfAttention`.
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
    block_size=None,
    disentangled=None,
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
    self.block_size = block_size
    self.disentangled = disentangled

  def build(self, hidden_shape, **other_shapes):
    """Creates the weights."""
    hidden_size = hidden_shape[-1]
    with keras.name_scope("attention"):
      self.attention = SelfAttention(
        self.num_heads,
        self.attention_dropout_rate,
        self.use_causal_mask,
        self.initializer_range,
        self.block_size,
        self.disentangled,
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
    only_attention_scores=False,
    training=False,
  ):
    """Transforms the hidden states; arguments as of `SelfAttention.call`.

    Returns:
      The hidden states [B, L, H]; with `only_attention_scores` the attention
      probabilities [B, N, L, L] instead.
    """

    def attend(hidden, position_bias=None, **options):
      masks = {"mask": mask, "position_bias": position_bias}
      return self.attention(hidden, attention_mask, **masks, **options)

    def transform(hidden, *bias):
      context = attend(hidden, *bias, training=training)
      return self._add(hidden, context, training)

    inputs = [x for x in (hidden, position_bias) if x is not None]
    if only_attention_scores:
      return attend(*inputs, return_attention_scores=True)[1]
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

  def compute_output_spec(
    self, hidden, *args, only_attention_scores=False, **kwargs
  ):
    """Returns the shape and dtype of `call`."""
    spec = self.attention.compute_output_spec
    return spec(hidden, return_attention_scores=True)[only_attention_scores]
