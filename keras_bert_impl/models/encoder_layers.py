"""The layers of `TransformerEncoder`, as its configuration says."""

from keras_bert_impl import layers
from keras_bert_impl.layers import attention, dense, initializers, layer_norm


def embeddings(config, dtype_policy, make=None):
  """Returns a new `Embeddings`; `make` is called instead of the class."""
  return (make or layers.Embeddings)(
    vocab_size=config.vocab_size,
    embedding_size=config.embedding_size or config.hidden_size,
    max_position_embeddings=config.max_position_embeddings,
    type_vocab_size=config.type_vocab_size,
    position_embedding_type=_added_positions(config),
    position_offset=config.position_offset,
    dropout_rate=config.hidden_dropout_prob,
    layer_norm_eps=config.layer_norm_eps,
    initializer_range=config.initializer_range,
    hidden_size=config.hidden_size if config.clears_padding else None,
    clears_padding=config.clears_padding,
    norm_bias=config.norm_bias,
    dtype=dtype_policy,
    name="embeddings",
  )


def _added_positions(config):
  """Returns the type of the position embeddings that are added to words'."""
  kind = config.position_embedding_type
  return "none" if kind in ("rotary", "recurrent") else kind


def to_hidden_size(config, dtype_policy, hidden):
  """Returns the embeddings [B, L, E] mapped to [B, L, H], if E differs."""
  if hidden.shape[-1] == config.hidden_size:
    return hidden
  initial = initializers.truncated_normal(config.initializer_range)
  return dense.Dense(
    config.hidden_size,
    kernel_initializer=initial,
    dtype=dtype_policy,
    name="embedding_hidden_mapping_in",
  )(hidden)


def positions(config, dtype_policy, hidden, position_ids):
  """Returns the arguments with which each block learns of positions.

  Args:
    config: `configs.EncoderConfig`.
    dtype_policy: of Keras.
    hidden: float [B, L, H], the first hidden states.
    position_ids: int [B, L], or None for the places in the row.

  Returns:
    list of dicts, arguments of `TransformerBlock.call`, one for each layer.
  """
  if config.position_embedding_type != "rotary":
    bias = position_bias(config, dtype_policy, hidden)
    return config.num_hidden_layers * [{"position_bias": bias}]
  bases = [
    config.local_rotary_base if window else config.rotary_base
    for window in windows(config)
  ]
  angles = {
    base: layers.RotaryEmbedding(
      config.hidden_size // config.num_attention_heads,
      base,
      name=f"rotary_{index}",
    )(hidden, position_ids)
    for index, base in enumerate(sorted(set(bases)))
  }
  return [{"rotary": angles[base]} for base in bases]


def position_bias(config, dtype_policy, hidden):
  """Returns the `position_bias` that all blocks share, or None.

  It is a bias of the scores, [1, N, L, L]; or, for disentangled attention, the
  embeddings of relative positions [2 S, H].
  """
  if config.relative_attention:
    return layers.RelativeEmbeddings(
      config.num_relative_positions,
      config.norm_rel_ebd == "layer_norm",
      config.layer_norm_eps,
      config.initializer_range,
      dtype=dtype_policy,
      name="relative",
    )(hidden)
  if not config.relative_attention_num_buckets:
    return None
  return layers.RelativePositionBias(
    config.num_attention_heads,
    config.relative_attention_num_buckets,
    config.initializer_range,
    dtype=dtype_policy,
    name="relative_attention_bias",
  )(hidden)


def causal_direction(config):
  """Returns the direction in which a causal encoder reads; None for others.

  Raises:
    ValueError: the configuration is of a pair of encoders.
  """
  if config.causal_direction == "both":
    raise ValueError(
      "causal_direction ('both') is of models.BidirectionalPair, which"
      " --objective=bidirectional_pair trains: give a direction."
    )
  return config.causal_direction if config.use_causal_mask else None


def windows(config):
  """Returns the window of each layer's attention, None where it sees all."""
  every, size = config.global_attention_every, config.attention_window
  numbers = range(config.num_hidden_layers)
  return [size if size and number % every else None for number in numbers]


def blocks(config, dtype_policy):
  """Returns the block of each layer; layers of a group share one."""
  num_layers, num_groups = config.num_hidden_layers, config.num_hidden_groups
  stem = "layer" if num_groups is None else "group"
  size = num_groups or num_layers
  blocks = [
    _block(config, dtype_policy, index, name=f"{stem}_{index}")
    for index in range(size)
  ]
  return [blocks[i * size // num_layers] for i in range(num_layers)]


def _block(config, dtype_policy, index, name):
  depth = config.num_hidden_layers
  return layers.TransformerBlock(
    num_heads=config.num_attention_heads,
    intermediate_size=config.intermediate_size,
    activation=config.hidden_act,
    dropout_rate=config.hidden_dropout_prob,
    attention_dropout_rate=config.attention_probs_dropout_prob,
    layer_norm_eps=config.layer_norm_eps,
    initializer_range=config.initializer_range,
    attention_options={
      "causal_direction": causal_direction(config),
      "block_size": attention.block_size(config.longest_input),
      "disentangled": _disentangled(config),
      "window": windows(config)[index],
      "use_bias": config.attention_bias,
    },
    feed_forward_options={
      "is_gated": config.gated_feed_forward,
      "use_bias": config.mlp_bias,
    },
    residual_options={
      "norm_first": config.norm_first,
      "norm_bias": config.norm_bias,
      "num_layers": depth if config.use_scaled_initializer else None,
    },
    # With pre-norm, that of the embeddings normalizes the first input.
    use_attention_norm=index > 0 or not config.norm_first,
    dtype=dtype_policy,
    name=name,
  )


def final_norm(config, dtype_policy):
  """Returns a new LayerNorm for the output of the last pre-norm block."""
  return layer_norm.LayerNormalization(
    epsilon=config.layer_norm_eps,
    center=config.norm_bias,
    dtype=dtype_policy,
    name="LayerNorm",
  )


def _disentangled(config):
  """Returns the options of `DisentangledBias`, or None."""
  if not config.clears_padding:
    return None
  return {
    "pos_att_type": config.pos_att_type,
    "share_att_key": config.share_att_key,
    "use_key_bias": config.use_key_bias,
    "position_buckets": config.position_buckets,
    "max_relative_positions": config.max_relative_distance,
    "dropout_rate": config.hidden_dropout_prob,
  }


def convolution(config, dtype_policy, use_sequence_ids):
  """Returns a new `TokenConvolution` beside the first block, or None.

  Raises:
    ValueError: it would join the texts of a row.
  """
  if not config.conv_kernel_size:
    return None
  if use_sequence_ids:
    raise ValueError(
      f"conv_kernel_size ({config.conv_kernel_size}) must be 0 with "
      "use_sequence_ids=True: a convolution would join the texts of a row."
    )
  return layers.TokenConvolution(
    config.conv_kernel_size,
    config.conv_groups,
    config.conv_act,
    config.hidden_dropout_prob,
    config.layer_norm_eps,
    config.initializer_range,
    dtype=dtype_policy,
    name="conv",
  )


def pooler(config, dtype_policy):
  """Returns a new `Pooler`, or `Pooling` where heads have the dense layer."""
  # The first token of a left-to-right model has seen no other.
  use_last_token = causal_direction(config) == "left_to_right"
  if config.classifier_pooling:
    mode = config.classifier_pooling
    if mode == "cls" and use_last_token:
      mode = "lasttoken"
    return layers.Pooling(mode, dtype=dtype_policy, name="pooler")
  return layers.Pooler(
    config.initializer_range,
    config.pooler_act,
    use_last_token=use_last_token,
    dropout_rate=config.pooler_dropout,
    dtype=dtype_policy,
    name="pooler",
  )
