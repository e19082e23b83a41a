"""The layers of `TransformerEncoder`, as its configuration says."""

from keras_bert_impl import layers
from keras_bert_impl.layers import attention


def embeddings(config, dtype_policy):
  """Returns a new `Embeddings`."""
  return layers.Embeddings(
    vocab_size=config.vocab_size,
    embedding_size=config.embedding_size or config.hidden_size,
    max_position_embeddings=config.max_position_embeddings,
    type_vocab_size=config.type_vocab_size,
    position_embedding_type=config.position_embedding_type,
    position_offset=config.position_offset,
    dropout_rate=config.hidden_dropout_prob,
    layer_norm_eps=config.layer_norm_eps,
    initializer_range=config.initializer_range,
    hidden_size=config.hidden_size if config.clears_padding else None,
    clears_padding=config.clears_padding,
    dtype=dtype_policy,
    name="embeddings",
  )


def position_bias(config, dtype_policy, hidden):
  """Returns what all blocks share of positions, or None.

  It is added to the scores, [1, N, L, L]; or, for disentangled attention, holds
  the embeddings of relative positions.
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


def blocks(config, dtype_policy):
  """Returns the block of each layer; layers of a group share one."""
  num_layers, num_groups = config.num_hidden_layers, config.num_hidden_groups
  stem = "layer" if num_groups is None else "group"
  size = num_groups or num_layers
  blocks = [_block(config, dtype_policy, f"{stem}_{i}") for i in range(size)]
  return [blocks[i * size // num_layers] for i in range(num_layers)]


def _block(config, dtype_policy, name):
  return layers.TransformerBlock(
    num_heads=config.num_attention_heads,
    intermediate_size=config.intermediate_size,
    activation=config.hidden_act,
    dropout_rate=config.hidden_dropout_prob,
    attention_dropout_rate=config.attention_probs_dropout_prob,
    use_causal_mask=config.use_causal_mask,
    layer_norm_eps=config.layer_norm_eps,
    initializer_range=config.initializer_range,
    block_size=attention.block_size(config.max_position_embeddings),
    disentangled=_disentangled(config),
    dtype=dtype_policy,
    name=name,
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
    "max_distance": config.max_position_embeddings,
    "dropout_rate": config.hidden_dropout_prob,
  }


def convolution(config, dtype_policy, use_sequence_ids):
  """Returns the layer beside the first block, or None."""
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
  """Returns a new `Pooler`."""
  return layers.Pooler(
    config.initializer_range,
    config.pooler_act,
    # The first token of a left-to-right model has seen nothing else.
    use_last_token=config.use_causal_mask,
    dropout_rate=config.pooler_dropout,
    dtype=dtype_policy,
    name="pooler",
  )
