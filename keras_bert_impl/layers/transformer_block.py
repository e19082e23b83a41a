"""Self-attention, and the transformer block around it."""

import keras

from keras_bert_impl.layers import (
  attention,
  base,
  disentangled,
  feed_forward,
  local_attention,
  rematerialization,
  residual_output,
)
from keras_bert_impl.layers import rotary as rotary_lib


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class SelfAttention(base.Layer):
  """Multi-head self-attention, scaled dot-product, N heads of size D.

  It uses Keras' implicit mask, such as that of `Embedding(mask_zero=True)`, and
  passes it on.

  Args:
    num_heads: int, N; must divide H.
    dropout_rate: float in [0, 1), of the attention probabilities.
    causal_direction: str, one of `attention.LIMITS`: a position sees itself and
      those before it, or after it, alone. None: it sees all.
    initializer_range: float, standard deviation.
    block_size: int, for how many positions scores are kept at a time: memory
      grows with L, not with its square. None: for all.
    disentangled: dict, options of `DisentangledBias`; None: there is none.
    window: int, at least 2: a position sees those up to half of it away, in
      time that is linear in L. None: it sees all.
    use_bias: bool, whether the projections have biases.
    **kwargs: of `keras.layers.Layer`.

  Raises:
    ValueError: a window below 2, or with disentangled attention.

  Source: Vaswani et al. 2017, section 3.2.
  """

  def __init__(
    self,
    num_heads,
    dropout_rate=0.1,
    causal_direction=None,
    initializer_range=0.02,
    block_size=None,
    disentangled=None,
    window=None,
    use_bias=True,
    **kwargs,
  ):
    super().__init__(**kwargs)
    self.supports_masking = True
    self.num_heads = num_heads
    self.dropout_rate = dropout_rate
    self.causal_direction = causal_direction
    self.initializer_range = initializer_range
    self.block_size = block_size
    self.disentangled = disentangled
    self.window = window
    self.use_bias = use_bias
    local_attention.check(self)

  def build(self, hidden_shape, **other_shapes):
    """Creates the weights."""
    size, options = hidden_shape[-1], self.disentangled or {}
    attention.check_heads(self, size)
    attention.check_direction(self)

    def dense(name, use_bias=self.use_bias):
      return self._dense(size, hidden_shape, name=name, use_bias=use_bias)

    self.query = dense("query")
    self.key = dense("key", self.use_bias and options.get("use_key_bias", True))
    self.value = dense("value")
    self.dropout = self._dropout(hidden_shape, self.dropout_rate)
    self.disentangled_bias = disentangled.of_attention(self, hidden_shape)

  def call(
    self,
    hidden,
    attention_mask=None,
    mask=None,
    position_bias=None,
    rotary=None,
    query_hidden=None,
    *,
    return_attention_scores=False,
    training=False,
  ):
    """Computes the attention of each position to all others.

    Args:
      hidden: float [B, L, H].
      attention_mask: bool or int, true where a position may be seen: [B, L] or
        [B, L, L] (by each); or int [B, L, 1], its text's number. None: `mask`.
      mask: bool [B, L], of the layers before, by Keras. None: all are seen.
      position_bias: float [B or 1, N, L, L], added to the scores before
        softmax; see `RelativePositionBias`. For disentangled attention, what
        `RelativeEmbeddings` returns. None, as with a window: nothing.
      rotary: float32 [B or 1, L, 1, 2 D], of `RotaryEmbedding`; or None.
      query_hidden: float [B, L, H], which looks at `hidden`; None: the same.
      return_attention_scores: bool.
      training: bool.

    Returns:
      The context [B, L, H]; with `return_attention_scores` a tuple of it and
      the attention probabilities [B, N, L, L], before dropout.
    """
    looking = hidden if query_hidden is None else query_hidden
    projections = self.query(looking), self.key(hidden), self.value(hidden)
    mask = mask if attention_mask is None else attention_mask
    drop = self.dropout.drawn(training)
    if self.window is not None:
      local_attention.check(self, position_bias)
      return local_attention.attend(
        self, projections, mask, rotary, drop, return_attention_scores, training
      )
    query, key, value = rotary_lib.split_heads(
      projections, self.num_heads, rotary, training
    )
    size = None if return_attention_scores else self.block_size
    options = {"drop": drop, "size": size, "training": training}
    if self.disentangled_bias is not None:
      context, probs = self.disentangled_bias.attend(
        (query, key, value), mask, position_bias, self, **options
      )
    else:
      rows = attention.rows(query, mask, self.causal_direction, position_bias)
      context, probs = attention.attend(rows, key, value, **options)
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
  """Transformer block: self-attention and feed-forward layer, post-norm or not.

  The names of the weights are those of Google's checkpoints:
  attention/self/query/kernel, ..., output/LayerNorm/beta. Keras' implicit mask
  is used and passed on, as in `SelfAttention`.

  Args:
    num_heads: int, N; must divide H.
    intermediate_size: int, I.
    activation: str, of the feed-forward layer; see `activations.get`.
    dropout_rate: float in [0, 1), of both outputs.
    attention_dropout_rate: float in [0, 1), of the attention probabilities.
    layer_norm_eps: float.
    initializer_range: float, standard deviation.
    attention_options, feed_forward_options, residual_options: dicts, further
      options of `SelfAttention`, `FeedForward` and `ResidualOutput`; or None.
    use_attention_norm: bool, whether the half with attention has LayerNorm.
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
    layer_norm_eps=1e-12,
    initializer_range=0.02,
    attention_options=None,
    feed_forward_options=None,
    residual_options=None,
    use_attention_norm=True,
    **kwargs,
  ):
    super().__init__(**kwargs)
    self.supports_masking = True
    self.num_heads = num_heads
    self.intermediate_size = intermediate_size
    self.activation = activation
    self.dropout_rate = dropout_rate
    self.attention_dropout_rate = attention_dropout_rate
    self.layer_norm_eps = layer_norm_eps
    self.initializer_range = initializer_range
    self.attention_options = attention_options
    self.feed_forward_options = feed_forward_options
    self.residual_options = residual_options
    self.use_attention_norm = use_attention_norm

  def build(self, hidden_shape, **other_shapes):
    """Creates the weights."""
    residual = {
      "dropout_rate": self.dropout_rate,
      "layer_norm_eps": self.layer_norm_eps,
      **(self.residual_options or {}),
    }
    with keras.name_scope("attention"):
      self.attention = SelfAttention(
        self.num_heads,
        self.attention_dropout_rate,
        name="self",
        **self._inherited,
        **(self.attention_options or {}),
      )
      self.attention.build(hidden_shape)
      self.attention_output = residual_output.ResidualOutput(
        use_bias=self.attention.use_bias,
        use_norm=self.use_attention_norm,
        name="output",
        **self._inherited,
        **residual,
      )
      self.attention_output.build(hidden_shape, hidden_shape)
    self.feed_forward = feed_forward.FeedForward(
      self.intermediate_size,
      self.activation,
      residual_options=residual,
      use_own_scope=False,
      **self._inherited,
      **(self.feed_forward_options or {}),
    )
    self.feed_forward.build(hidden_shape)

  def call(
    self,
    hidden,
    attention_mask=None,
    mask=None,
    position_bias=None,
    rotary=None,
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
      options |= {"position_bias": position_bias, "rotary": rotary}
      read = self.attention_output.pre_norm(hidden, training)
      return self.attention(read, attention_mask, mask=mask, **options)

    def transform(hidden, *bias):
      # Inside keras.remat the layers do not get `training` from Keras.
      context = attend(hidden, *bias, training=training)
      hidden = self.attention_output(context, hidden, training=training)
      return self.feed_forward(hidden, training=training)

    inputs = [x for x in (hidden, position_bias) if x is not None]
    if only_attention_scores:
      return attend(*inputs, return_attention_scores=True)[1]
    return rematerialization.apply(transform, inputs, training)

  def compute_output_spec(
    self, hidden, *args, only_attention_scores=False, **kwargs
  ):
    """Returns the shape and dtype of `call`."""
    spec = self.attention.compute_output_spec
    return spec(hidden, return_attention_scores=True)[only_attention_scores]
