"""The transformer block: self-attention, then a feed-forward layer."""

import dataclasses
import math

import keras
from keras import ops

from keras_bert_impl import calls
from keras_bert_impl.layers.attention import self_attention
from keras_bert_impl.layers.basics import dropout, parts
from keras_bert_impl.layers.basics import layer as base


@keras.saving.register_keras_serializable(package="keras_bert_impl")
@calls.checked_init
@dataclasses.dataclass(frozen=True)
class BlockConfig(parts.Part):
  """Fields of what a block is made of.

  Attributes:
    num_hidden_groups: groups of layers that share their parameters, which
      divide the layers evenly; None gives every layer its own (ALBERT: 1).
    inner_group_num: blocks of a group, which its layers repeat in turn.
    norm_first: whether LayerNorm comes before attention and feed-forward layer
      (before the first, that of the embeddings), and after the last block.
    gated_feed_forward: whether the feed-forward layer is gated (GeGLU).
    attention_bias, mlp_bias, norm_bias: whether the dense layers of attention,
      those of the feed-forward layer, and LayerNorm have biases.
    mlp_output_bias: whether the last dense layer of the feed-forward layer has
      one; None: as `mlp_bias`.
    first_norm_twice: whether the first block has a LayerNorm before attention
      although the embeddings end with one (mBART).
    norm_type: "layer_norm", or "rms_norm", which has no bias; see
      `layer.RMSNormalization`.
    inner_dropout: whether there is dropout inside the feed-forward layer.
    use_scaled_initializer: whether the kernels that end both halves of a block
      are drawn with `initializer_range` / sqrt(2 `num_hidden_layers`).
  """

  num_hidden_groups: int | None = parts.field(None, "[1, inf)", shows=True)
  inner_group_num: int = parts.field(1, "[1, inf)", shows=True)
  norm_first: bool = parts.field(False)
  gated_feed_forward: bool = parts.field(False, shows=True)
  attention_bias: bool = parts.field(True, shows=True)
  mlp_bias: bool = parts.field(True, shows=True)
  norm_bias: bool = parts.field(True, shows=True)
  mlp_output_bias: bool | None = parts.field(
    None, choices=(None, True, False), shows=True
  )
  first_norm_twice: bool = parts.field(False, shows=True)
  norm_type: str = parts.field("layer_norm", choices=parts.NORMS)
  inner_dropout: bool = parts.field(False, shows=True)
  use_scaled_initializer: bool = parts.field(False, shows=True)

  @classmethod
  def check(cls, config):
    """Raises ValueError if groups do not divide the layers, or these differ."""
    if config.norm_bias and config.norm_type == "rms_norm":
      raise ValueError(
        "norm_bias (True) must be False with norm_type 'rms_norm'."
      )
    groups, inner = config.num_hidden_groups, config.inner_group_num
    if inner > 1 and not groups:
      raise ValueError(
        f"inner_group_num ({inner}) must be 1 without num_hidden_groups."
      )
    if config.num_hidden_layers % ((groups or 1) * inner):
      raise ValueError(
        f"num_hidden_layers ({config.num_hidden_layers}) must be a multiple of"
        f" num_hidden_groups ({groups}) times inner_group_num ({inner})."
      )
    if config.norm_first:
      config.check_layers_may_differ()

  def check_layers_may_differ(self):
    """Raises ValueError if layers that differ share their parameters."""
    if self.shares_blocks:
      raise ValueError(
        f"num_hidden_groups ({self.num_hidden_groups}) must be None with"
        " norm_first, attention_window or clears_padding, as layers differ."
      )

  @property
  def norm_options(self):
    """Arguments of the constructors of layers with LayerNorm, dict."""
    return {"layer_norm_eps": self.layer_norm_eps, "norm_bias": self.norm_bias}

  @property
  def shares_blocks(self):
    """Whether several layers have the same weights."""
    return self.num_hidden_groups is not None

  def check_own_blocks(self, what):
    """Raises ValueError if several layers have the same weights."""
    if self.shares_blocks:
      raise ValueError(
        f"{what} for a model whose blocks share their weights"
        f" (num_hidden_groups = {self.num_hidden_groups})."
      )

  @property
  def last_block(self):
    """Name of the last block, as in the paths of its weights."""
    if self.shares_blocks:
      return f"group_{self.num_hidden_groups - 1}"
    return f"layer_{self.num_hidden_layers - 1}"

  @classmethod
  def blocks(cls, config, dtype, has_cross_attention=False):
    """Returns the block of each layer, a list; layers of a group share one."""
    layers, groups = config.num_hidden_layers, config.num_hidden_groups
    stem, size = ("group", groups) if groups else ("layer", layers)
    inner = config.inner_group_num
    options, blocks = cls.of_config(config), []
    for index in range(size * inner):
      group, place = divmod(index, inner)
      kind = parts.ask("attention", config, dtype, index)
      block = TransformerBlock(
        **config.block_options,
        kind=kind or self_attention.of_config(config, dtype),
        options=options,
        num_layers=layers,
        head_size=config.attention_head_size,
        # With pre-norm, that of the embeddings normalizes the first input.
        use_attention_norm=index > 0
        or config.first_norm_twice
        or not (config.norm_first and config.embeddings_norm),
        has_cross_attention=has_cross_attention,
        num_key_value_heads=config.num_key_value_heads,
        dtype=dtype,
        name=f"{stem}_{group}" + (f"_inner_{place}" if place else ""),
      )
      blocks.append(block)
    repeats = layers // len(blocks)
    starts = range(0, len(blocks), inner)
    return [b for s in starts for b in repeats * blocks[s : s + inner]]


def final_norm(config, dtype):
  """Returns a new LayerNorm for the output of the last pre-norm block."""
  return base.norm(
    config.norm_type, config.layer_norm_eps, config.norm_bias, dtype
  )


@dataclasses.dataclass(eq=False, repr=False)
class _ResidualOutputArguments(base.Arguments):
  dropout_rate: float = 0.1
  use_dense: bool = True
  use_bias: bool = True
  use_norm: bool = True
  norm_first: bool = False
  norm_bias: bool = True
  norm_type: str = "layer_norm"
  layer_norm_eps: float = 1e-12
  initializer_range: float = 0.02


class ResidualOutput(_ResidualOutputArguments, base.Layer):
  """Dense layer, dropout, residual sum and LayerNorm: the end of half a block.

  A half is `output(sublayer(output.norm_before(hidden)), hidden)`. With
  pre-norm, LayerNorm normalizes what the sublayer reads; else, the sum.

  Args:
    dropout_rate: float in [0, 1).
    use_dense: bool, whether there is a dense layer.
    use_bias: bool, whether the dense layer has a bias.
    use_norm: bool, whether there is LayerNorm.
    norm_first: bool, whether it comes before the sublayer (pre-norm).
    norm_bias: bool, whether LayerNorm adds a bias.
    norm_type: str, "layer_norm" or "rms_norm", in the place of LayerNorm.
    layer_norm_eps: float.
    initializer_range: float, standard deviation.
    **kwargs: of `keras.layers.Layer`.

  Source: Vaswani et al. 2017, section 3.1; Xiong et al. 2020 for pre-norm.
  """

  supports_masking = True

  def build(self, update_shape, hidden_shape):
    """Creates the weights."""
    size = hidden_shape[-1]
    self.dense = None
    if self.use_dense:
      self.dense = self._dense(size, update_shape, use_bias=self.use_bias)
    self.dropout = self._dropout(hidden_shape, self.dropout_rate)
    self.layer_norm = None
    if self.use_norm:
      self.layer_norm = self._layer_norm(hidden_shape)

  def norm_before(self, hidden, training=False):
    """Returns the input of the sublayer, float [B, L, H]."""
    if self.layer_norm is None or not self.norm_first:
      return hidden
    return self.layer_norm(hidden, training=training)

  def call(self, update, hidden, training=False):
    """Returns the output of the half for that of its sublayer.

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


def _residual_output(layer, use_bias, use_norm=True):
  """Returns a new `ResidualOutput` of a `TransformerBlock` or `FeedForward`."""
  options, stddev = layer.options, layer.initializer_range
  if options.use_scaled_initializer and layer.num_layers is not None:
    # The hidden states are the sum of the outputs of all halves, two for each
    # layer: smaller kernels keep this sum from growing with the number of
    # layers; Shoeybi et al. 2019 (Megatron-LM), section 4.2.
    stddev /= math.sqrt(2 * layer.num_layers)
  return layer._inner(
    ResidualOutput,
    "output",
    use_bias=use_bias,
    use_norm=use_norm,
    norm_first=options.norm_first,
    norm_bias=options.norm_bias,
    norm_type=options.norm_type,
    initializer_range=stddev,
  )


@dataclasses.dataclass(eq=False, repr=False)
class _FeedForwardArguments(base.Arguments):
  intermediate_size: int
  activation: base.Activation = "gelu"
  dropout_rate: float = 0.1
  inner_dropout_rate: float = 0.0
  layer_norm_eps: float = 1e-12
  initializer_range: float = 0.02
  options: BlockConfig | None = None
  num_layers: int | None = None
  use_own_scope: bool = True


class FeedForward(_FeedForwardArguments, base.Layer):
  """Feed-forward half of a block: a dense layer, then `ResidualOutput`.

  With gates, the first dense layer has 2 I columns: the activation of the first
  I is multiplied by the other I (GeGLU; with "silu", SwiGLU).

  Args:
    intermediate_size: int, I.
    activation: str, between the dense layers; see `kernels.activation`.
    dropout_rate: float in [0, 1), of the output.
    inner_dropout_rate: float in [0, 1), between the dense layers.
    layer_norm_eps: float.
    initializer_range: float, standard deviation.
    options: `BlockConfig`, of which the feed-forward layer reads norms, gates
      and biases; None: the defaults.
    num_layers: int, layers of the encoder, for `use_scaled_initializer`.
    use_own_scope: bool, whether the paths of the weights contain the layer's
      own name. False leaves it out, as in Google's checkpoints:
      layer_0/intermediate/dense/kernel, ..., layer_0/output/LayerNorm/beta.
    **kwargs: of `keras.layers.Layer`.

  Source: Vaswani et al. 2017, section 3.3; Shazeer 2020 for gates; Xiong et al.
  2020 for pre-norm.
  """

  supports_masking = True

  def __post_init__(self):
    self.options: BlockConfig = self.options or BlockConfig()

  def build(self, hidden_shape):
    """Creates the weights."""
    inner_shape = (*hidden_shape[:-1], self.intermediate_size)
    outer, _, scope = self.path.rpartition("/")
    if outer and not self.use_own_scope:
      outer, _, scope = outer.rpartition("/")
    is_gated = self.options.gated_feed_forward
    with keras.name_scope(scope, override_parent=outer):
      with keras.name_scope("intermediate"):
        self.dense = self._dense(
          self.intermediate_size * (2 if is_gated else 1),
          hidden_shape,
          self.activation,
          use_bias=self.options.mlp_bias,
          is_gated=is_gated,
        )
        self.dropout = None
        if self.inner_dropout_rate:
          self.dropout = self._dropout(inner_shape, self.inner_dropout_rate)
      use_bias = self.options.mlp_output_bias
      if use_bias is None:
        use_bias = self.options.mlp_bias
      self.output_layer = _residual_output(self, use_bias)
      self.output_layer.build(inner_shape, hidden_shape)

  def call(self, hidden, training=False):
    """Transforms the hidden states, float [B, L, H] to [B, L, H]."""
    # Inside keras.remat the layers do not get `training` from Keras.
    read = self.output_layer.norm_before(hidden, training)
    inner = self.dense(read, training=training)  # [B, L, I]
    if self.dropout is not None:
      inner = self.dropout(inner, training=training)
    return self.output_layer(inner, hidden, training=training)


@dataclasses.dataclass(eq=False, repr=False)
class BlockArguments(base.Arguments):
  """Arguments of the layers that are a block of an encoder."""

  num_heads: int
  intermediate_size: int
  activation: base.Activation = "gelu"
  dropout_rate: float = 0.1
  attention_dropout_rate: float = 0.1
  layer_norm_eps: float = 1e-12
  initializer_range: float = 0.02


@dataclasses.dataclass(eq=False, repr=False)
class _TransformerBlockArguments(BlockArguments):
  kind: self_attention.AttentionKind | None = None
  options: BlockConfig | None = None
  num_layers: int | None = None
  use_attention_norm: bool = True
  head_size: int | None = None
  num_key_value_heads: int | None = None
  has_cross_attention: bool = False


class TransformerBlock(_TransformerBlockArguments, base.Layer):
  """Transformer block: self-attention and feed-forward layer, post-norm or not.

  The names of the weights are those of Google's checkpoints:
  attention/self/query/kernel, ..., output/LayerNorm/beta. Keras' implicit mask
  is used and passed on, as in `SelfAttention`.

  Args:
    num_heads: int, N.
    intermediate_size: int, I.
    activation: str, of the feed-forward layer; see `kernels.activation`.
    dropout_rate: float in [0, 1), of both outputs.
    attention_dropout_rate: float in [0, 1), of the attention probabilities.
    layer_norm_eps: float.
    initializer_range: float, standard deviation.
    kind: the kind of attention, as of `SelfAttention`.
    options: `BlockConfig`: norms, gates and biases; None: the defaults.
    num_layers: int, layers of the encoder, for `use_scaled_initializer`.
    use_attention_norm: bool, whether the half with attention has LayerNorm.
    head_size: int, D, as of `SelfAttention`.
    num_key_value_heads: int, the same.
    has_cross_attention: bool, whether a half in between looks at the states of
      another text, the memory: the block of a decoder.
    **kwargs: of `keras.layers.Layer`.

  Source: Vaswani et al. 2017, section 3.1; Devlin et al. 2019, section 3; Xiong
  et al. 2020 for pre-norm.
  """

  supports_masking = True

  def __post_init__(self, kind):
    self.options: BlockConfig = self.options or BlockConfig()
    self.attention = self._inner(
      self_attention.SelfAttention,
      "self",
      dropout_rate=self.attention_dropout_rate,
      kind=kind,
      use_bias=self.options.attention_bias,
    )

  def build(self, hidden_shape, **other_shapes):
    """Creates the weights."""
    with keras.name_scope("attention"):
      self.attention.build(hidden_shape)
      self.attention_output = _residual_output(
        self, self.options.attention_bias, self.use_attention_norm
      )
      context_shape = (*hidden_shape[:-1], self.attention.context_size)
      self.attention_output.build(context_shape, hidden_shape)
    if self.has_cross_attention:
      with keras.name_scope("crossattention"):
        self.cross_attention = self._cross_attention()
        self.cross_attention.build(hidden_shape)
        self.cross_output = _residual_output(self, self.options.attention_bias)
        self.cross_output.build(context_shape, hidden_shape)
    self.feed_forward = self._inner(
      FeedForward,
      inner_dropout_rate=self.dropout_rate * self.options.inner_dropout,
      use_own_scope=False,
    )
    self.feed_forward.build(hidden_shape)

  def _cross_attention(self):
    """Returns the new layer that looks at the memory, without positions."""
    return self._inner(
      self_attention.SelfAttention,
      "self",
      dropout_rate=self.attention_dropout_rate,
      kind=self_attention.FullAttention(
        use_scale=self.attention.kind.use_scale, dtype=self.dtype_policy
      ),
      use_bias=self.options.attention_bias,
      num_key_value_heads=None,
    )

  @dropout.rematerialized
  def call(
    self,
    hidden,
    attention_mask=None,
    mask=None,
    positions=None,
    query_hidden=None,
    memory=None,
    memory_mask=None,
    training=False,
  ):
    """Transforms the hidden states; arguments as of `SelfAttention.call`.

    With `query_hidden` these are transformed instead, by looking at `hidden`.
    A block with `has_cross_attention` takes also `memory`, float [B, S, H], the
    states of another text, and `memory_mask`, int [B, S].

    Returns:
      The hidden states [B, L or R, H].
    """
    looking, query_read = hidden, None
    if query_hidden is not None:
      looking = query_hidden
      query_read = self.attention_output.norm_before(looking, training)
    context = self.attention(
      self.attention_output.norm_before(hidden, training),
      attention_mask,
      mask=mask,
      positions=positions,
      query_hidden=query_read,
      training=training,
    )
    hidden = self.attention_output(context, looking, training=training)
    if self.has_cross_attention:
      context = self.cross_attention(
        memory,
        memory_mask,
        query_hidden=self.cross_output.norm_before(hidden, training),
        training=training,
      )
      hidden = self.cross_output(context, hidden, training=training)
    return self.feed_forward(hidden, training=training)

  def extend(self, hidden, cache, places, positions=None, memory=None):
    """Transforms tokens that follow others; arguments as of `SelfAttention`.

    Args:
      hidden: float [R, Q, H], of the tokens.
      cache: as of `SelfAttention.extend`, like places and positions.
      places: tuple of int [R, Q] and [R, P + Q].
      positions: dict, or None.
      memory: as of `SelfAttention.look`, with `has_cross_attention`.

    Returns:
      Tuple of the hidden states [R, Q, H], and the cache.
    """
    context, cache = self.attention.extend(
      self.attention_output.norm_before(hidden), cache, places, positions
    )
    hidden = self.attention_output(context, hidden)
    if self.has_cross_attention:
      read = self.cross_output.norm_before(hidden)
      context = self.cross_attention.look(read, memory)
      hidden = self.cross_output(context, hidden)
    return self.feed_forward(hidden), cache

  def compute_output_spec(self, hidden, *args, query_hidden=None, **kwargs):
    """Returns the shape and dtype of `call`, which is slow to trace."""
    looking = hidden if query_hidden is None else query_hidden
    return keras.KerasTensor(looking.shape, self.compute_dtype)

  def attention_probs(self, hidden, attention_mask=None, positions=None):
    """Returns the attention probabilities, float [B, N, L, L]; as `call`."""
    hidden = ops.convert_to_tensor(hidden, dtype=self.compute_dtype)
    read = self.attention_output.norm_before(hidden)
    return self.attention.attention_probs(read, attention_mask, positions)

  def cross_attention_probs(self, hidden, memory, memory_mask, positions):
    """Returns how tokens look at the memory, float [B, N, L, S]; as `call`."""
    read = self.attention_output.norm_before(hidden)
    context = self.attention(read, positions=positions)
    hidden = self.attention_output(context, hidden)
    _, probs = self.cross_attention(
      memory,
      memory_mask,
      query_hidden=self.cross_output.norm_before(hidden),
      return_attention_scores=True,
    )
    return probs

  @property
  def kind(self) -> self_attention.AttentionKind:
    """The kind of attention, as of `SelfAttention`."""
    return self.attention.kind
