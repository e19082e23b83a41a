"""XLNet's encoder: relative positions, memory, and a stream of queries."""

import keras
from keras import ops

from keras_bert_impl import features, layers
from keras_bert_impl.layers.attention import scores
from keras_bert_impl.models.encoders import encoder_model


class XLNetEncoder(encoder_model.BareEncoder):
  """Transformer encoder with the relative positions of Transformer-XL.

  Called as `TransformerEncoder`, it returns the same: `sequence_output`
  [B, L, H] and, with a pooler, `pooled_output` [B, H]. That reads the last
  place of a row, as published: rows are to be padded on the left.

  Args:
    config: `configs.EncoderConfig` with positions of Transformer-XL. With
      `bi_data` there is an input `is_reversed`, int32
      [B], 1 for a row whose text runs backwards; by default those of the second
      half of the batch.
    dtype: as `TransformerEncoder`.
    name: str, also the first part of each variable's path.
    use_pooler: bool, whether there is a `pooled_output`.
    use_sequence_ids: bool, as `TransformerEncoder`.
    use_queries: bool, whether there is a second stream, of queries. It needs
      the inputs `perm_mask`, float32 [B, L, L], above 0 where a token does not
      see another (default: it sees all), and `target_mapping`, float32
      [B, P, L], 1 at the place of each query; and there is an output
      `query_output` [B, P, H].
    use_mems: bool, whether there is an input `mems`, float32 [B, layers, M, H],
      states of the tokens before, and an output `mems` for the row after: of
      the last `config.mem_len` tokens of both, or of all.

  Attributes:
    config: as given.
    embeddings: the layer.
    hidden_states: list of symbolic tensors [B, L, H], as `TransformerEncoder`.
    query_states: list of symbolic tensors [B, P, H]; empty without queries.
    embedding_table: symbolic tensor [V, H], for heads tied to it.

  Source: Yang et al. 2019; zihangdai/xlnet, modeling.py.
  """

  def __init__(
    self,
    config,
    dtype=None,
    name="bert",
    use_pooler=True,
    use_sequence_ids=False,
    use_queries=False,
    use_mems=False,
  ):
    arguments = dict(locals())
    dtype = keras.dtype_policies.get(dtype or keras.config.dtype_policy())

    # Inputs.
    inputs = encoder_model.integer_inputs(
      use_pooler=use_pooler, use_sequence_ids=use_sequence_ids
    )
    inputs |= _other_inputs(config, use_queries, use_mems)

    # Wiring.
    with keras.name_scope(name):
      embeddings = _embeddings(config, dtype)
      hidden, table, *query = embeddings(
        inputs[features.INPUT_IDS],
        inputs[features.SEGMENT_IDS],
        inputs.get(features.TARGET_MAPPING),
      )
      with keras.name_scope("encoder"):
        hidden_states, query_states = [hidden], query
        _run_blocks(config, dtype, inputs, hidden_states, query_states)
      outputs = {"sequence_output": ops.cast(hidden_states[-1], "float32")}
      if use_queries:
        outputs["query_output"] = ops.cast(query_states[-1], "float32")
      if use_mems:
        remember = _Remember(config.mem_len, config.reuse_len, name="remember")
        found = ops.cast(ops.stack(hidden_states[:-1], axis=1), "float32")
        outputs[features.MEMS] = remember(inputs[features.MEMS], found)
      if use_pooler:
        pooled = _summary(config, dtype)(hidden_states[-1])
        outputs["pooled_output"] = ops.cast(pooled, "float32")
    super().__init__(config, dtype, inputs, outputs, arguments)

    # Attributes.
    self.embeddings = embeddings
    self.hidden_states = hidden_states
    self.query_states = query_states
    self.embedding_table = table


def _other_inputs(config, use_queries, use_mems):
  """Returns the symbolic inputs that only XLNet's encoder has, by name."""
  forms = {}
  if config.bi_data:
    forms[features.IS_REVERSED] = (), "int32"
  for name in (features.PERM_MASK, features.TARGET_MAPPING) * use_queries:
    forms[name] = (None, None), "float32"
  if use_mems:
    shape = (config.num_hidden_layers, None, config.hidden_size)
    forms[features.MEMS] = shape, "float32"
  return {k: encoder_model.make_input(k, *form) for k, form in forms.items()}


def _run_blocks(config, dtype, inputs, hidden_states, query_states):
  """Appends the states of each layer to those of the embeddings."""
  seen, _ = scores.structure(
    inputs[features.INPUT_MASK], inputs.get(features.SEQUENCE_IDS)
  )
  mems = inputs.get(features.MEMS)
  structure = layers.RelativeStructure(
    config.hidden_size,
    config.reading_direction is not None,
    config.same_length,
    config.clamp_len,
    dtype="float32",
    name="structure",
  )(
    seen,
    inputs[features.SEGMENT_IDS],
    perm_mask=inputs.get(features.PERM_MASK),
    memory=mems,
    is_reversed=inputs.get(features.IS_REVERSED),
  )
  for index in range(config.num_hidden_layers):
    block = layers.TwoStreamBlock(
      **config.block_options, dtype=dtype, name=f"layer_{index}"
    )
    hidden, *query = block(
      hidden_states[-1],
      structure,
      query_hidden=query_states[-1] if query_states else None,
      target_mapping=inputs.get(features.TARGET_MAPPING),
      memory=None if mems is None else mems[:, index],
    )
    hidden_states.append(hidden)
    query_states.extend(query)


def _embeddings(config, dtype_policy):
  return layers.TokenEmbeddings(
    config.vocab_size,
    config.hidden_size,
    config.num_ids[features.SEGMENT_IDS],
    dropout_rate=config.dropout_rate,
    initializer_range=config.initializer_range,
    dtype=dtype_policy,
    name="embeddings",
  )


def _summary(config, dtype_policy):
  return layers.SequenceSummary(
    config.summary_type,
    config.summary_use_proj,
    config.pooler_act,
    config.dropout_rate,
    config.initializer_range,
    dtype=dtype_policy,
    name="pooler",
  )


class _Remember(keras.layers.Layer):
  """Joins memory and new states; keeps the last ones, without gradient."""

  def __init__(self, mem_len, reuse_len, **kwargs):
    super().__init__(dtype="float32", **kwargs)
    self.mem_len = mem_len
    self.reuse_len = reuse_len

  def call(self, mems, states):
    """[B, layers, M, H] and [B, layers, L, H] -> [B, layers, up to both, H]."""
    if self.reuse_len:
      states = states[:, :, : self.reuse_len]
    mems = ops.concatenate([mems, states], axis=2)
    return ops.stop_gradient(mems[:, :, -(self.mem_len or 0) :])
