"""The transformer encoder of all families."""

import functools

import keras
from keras import ops

from keras_bert_impl import features, heads, layers
from keras_bert_impl.layers import attention, dense, initializers
from keras_bert_impl.models import base


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class TransformerEncoder(base.EncoderModel):
  """Bidirectional (or causal) transformer encoder.

  Called with a dict of int32 [B, L] tensors `input_ids`, `input_mask` (1 = a
  real token, 0 = padding; default 1) and `segment_ids` (default 0), it returns
  a dict of float32 tensors `sequence_output` [B, L, H] and, with a pooler,
  `pooled_output` [B, H], of the first token or, from left to right, of the
  last one that is no padding. The paths of its variables are the names in
  Google's checkpoints.

  Any inner tensor is the output of some `keras.Model(e.input, tensor)`:

    last_four = keras.Model(encoder.input, encoder.hidden_states[-4:])

  Args:
    config: `configs.EncoderConfig`.
    dtype: None (the global policy), or a dtype policy or its name, such as
      "mixed_bfloat16".
    name: str, also the first part of each variable's path.
    embeddings: `layers.Embeddings` of another encoder to share, as ELECTRA's
      generator does; None makes them.
    use_pooler: bool, whether there is a `pooled_output`.
    use_sequence_ids: bool, whether there is an input `sequence_ids`, of rows
      that hold several texts: see `layers/attention.py`.

  Attributes:
    config: as given.
    embeddings: the layer.
    hidden_states: list of symbolic tensors [B, L, H]: the output of the
      embeddings, then of each layer.
    embedding_table: symbolic tensor [V, E], for heads tied to it.

  Source: Devlin et al. 2019, section 3; google-research/bert, modeling.py; for
  shared layers Lan et al. 2020, section 3.1.
  """

  heads = (heads.ENCODER,)

  def __init__(
    self,
    config,
    dtype=None,
    name="bert",
    embeddings=None,
    use_pooler=True,
    use_sequence_ids=False,
  ):
    dtype = keras.dtype_policies.get(dtype or keras.config.dtype_policy())

    # Inputs.
    keys = features.ENCODER_INPUTS + (features.SEQUENCE_IDS,) * use_sequence_ids
    inputs = {k: keras.Input((None,), dtype="int32", name=k) for k in keys}
    input_ids, mask, segment_ids, *sequence_ids = inputs.values()
    seen, position_ids = attention.structure(mask, *sequence_ids)

    # Wiring.
    with keras.name_scope(name):
      embeddings = embeddings or _embeddings(config, dtype)
      hidden, table = embeddings(input_ids, segment_ids, mask, position_ids)
      with keras.name_scope("encoder"):
        if hidden.shape[-1] != config.hidden_size:
          initial = initializers.truncated_normal(config.initializer_range)
          hidden = dense.Dense(
            config.hidden_size,
            kernel_initializer=initial,
            dtype=dtype,
            name="embedding_hidden_mapping_in",
          )(hidden)
        hidden_states = [hidden]
        blocks = _blocks(config, dtype)
        bias = _position_bias(config, dtype, hidden)
        for block in blocks:
          hidden = block(hidden, seen, position_bias=bias)
          hidden_states.append(hidden)
      outputs = {"sequence_output": ops.cast(hidden, "float32")}
      if use_pooler:
        pooled = layers.Pooler(
          config.initializer_range,
          config.pooler_act,
          # The first token of a left-to-right model has seen nothing else.
          use_last_token=config.use_causal_mask,
          dtype=dtype,
          name="pooler",
        )(hidden, seen)
        outputs["pooled_output"] = ops.cast(pooled, "float32")
    options = {"use_pooler": use_pooler, "use_sequence_ids": use_sequence_ids}
    super().__init__(config, dtype, inputs, outputs, name, **options)

    self.embeddings = embeddings
    self.hidden_states = hidden_states
    self.embedding_table = table
    # Not kept by the blocks: they are large, and few read them.
    self._attention_probs = lambda: [
      block(x, seen, position_bias=bias, only_attention_scores=True)
      for block, x in zip(blocks, hidden_states[:-1], strict=True)
    ]

  @functools.cached_property
  def attention_probs(self):
    """A list of symbolic tensors [B, N, L, L], one of each layer."""
    return self._attention_probs()

  @classmethod
  def of_checkpoint(cls, description, shapes, dtype=None):
    """Returns an encoder, with a pooler if the checkpoint has one."""
    return cls(description.config, dtype, use_pooler=description.use_pooler)


def _embeddings(config, dtype_policy):
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
    dtype=dtype_policy,
    name="embeddings",
  )


def _position_bias(config, dtype_policy, hidden):
  """Returns what all blocks add to their scores, [1, N, L, L], or None."""
  if not config.relative_attention_num_buckets:
    return None
  return layers.RelativePositionBias(
    config.num_attention_heads,
    config.relative_attention_num_buckets,
    config.initializer_range,
    dtype=dtype_policy,
    name="relative_attention_bias",
  )(hidden)


def _blocks(config, dtype_policy):
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
    dtype=dtype_policy,
    name=name,
  )
