"""The transformer encoder of all families."""

import functools
from typing import NamedTuple

import keras
from keras import ops

from keras_bert_impl import features
from keras_bert_impl.layers.attention import (
  global_tokens,
  scores,
  self_attention,
)
from keras_bert_impl.layers.basics import parts
from keras_bert_impl.layers.blocks import (
  convolution,
  extension,
  transformer_block,
)
from keras_bert_impl.layers.blocks import decoder as decoder_lib
from keras_bert_impl.layers.blocks import (
  embeddings as embeddings_lib,
)
from keras_bert_impl.layers.heads import output_heads, pooling
from keras_bert_impl.models.encoders import encoder_model


class BlockCall(NamedTuple):
  """A block of an encoder and the symbolic tensors that it is called with."""

  block: transformer_block.TransformerBlock
  hidden: keras.KerasTensor
  seen: keras.KerasTensor
  positions: dict

  @property
  def sees_alike(self):
    """Whether all positions see the same others, whichever they are."""
    kind = self.block.kind
    return (
      type(kind) is self_attention.FullAttention
      and kind.causal_direction is None
      and self.positions.keys() <= {"rotary"}
      and len(self.seen.shape) == 2
    )

  def at(self, places):
    """Returns the block's states at places [B, P], computing no others."""
    positions, dtype = dict(self.positions), self.block.dtype_policy
    if positions:
      angles = ops.take(positions["rotary"][0], places, axis=0)
      positions["query_rotary"] = angles
    query_hidden = output_heads.StatesAt(dtype=dtype)(self.hidden, places)
    return self.block(
      self.hidden, self.seen, positions=positions, query_hidden=query_hidden
    )


class TransformerEncoder(encoder_model.BareEncoder):
  """Bidirectional (or causal) transformer encoder.

  Called with a dict of int32 [B, L] tensors `input_ids`, `input_mask` (1 = a
  real token, 0 = padding; default 1) and `segment_ids` (default 0), it returns
  a dict of float32 tensors `sequence_output` [B, L, H] and, with a pooler,
  `pooled_output` [B, H], of the first token or, from left to right, of the
  last one that is no padding. The paths of its variables are the names in
  Google's checkpoints.

  Any inner tensor is the output of some `kb.Model(e.input, tensor)`:

    last_four = kb.Model(encoder.input, encoder.hidden_states[-4:])

  Args:
    config: `configs.EncoderConfig`.
    dtype: a dtype policy of Keras or its name; None means the global one.
    name: str, also the first part of each variable's path.
    embeddings: `layers.Embeddings` of another encoder to share, as ELECTRA's
      generator does; None makes them.
    use_pooler: bool, whether there is a `pooled_output`.
    use_sequence_ids: bool, whether there is an input `sequence_ids`, of rows
      that hold several texts: see `layers/attention/scores.py`.
    use_task_type_ids: bool, whether there is an input `task_type_ids`, of a
      configuration with embeddings of tasks (ERNIE). Weights are the same.
    global_tokens: str, which tokens are global where a row's `input_mask` marks
      none by 2, with `config.use_global_tokens`; see `layers.GlobalTokens`.

  Attributes:
    config: as given.
    embeddings: the layer.
    hidden_states: list of symbolic tensors [B, L, H]: the output of the
      embeddings, then of each layer; the last one normalized.
    embedding_table: symbolic tensor [V, E], for heads tied to it.
    block_calls: list of `BlockCall`, one of each block.

  Source: Devlin et al. 2019, section 3; google-research/bert, modeling.py; for
  shared layers Lan et al. 2020, section 3.1.
  """

  def __init__(
    self,
    config,
    dtype=None,
    name="bert",
    embeddings=None,
    use_pooler=True,
    use_sequence_ids=False,
    use_task_type_ids=False,
    global_tokens=None,
  ):
    arguments = dict(locals())
    dtype = keras.dtype_policies.get(dtype or keras.config.dtype_policy())

    # Inputs.
    inputs = encoder_model.integer_inputs(
      *[features.TASK_TYPE_IDS] * use_task_type_ids,
      use_pooler=use_pooler,
      use_sequence_ids=use_sequence_ids,
    )
    ids, _, segments, *_ = inputs.values()
    seen, mask, position_ids = _structure(config, inputs, global_tokens)

    # Wiring.
    with keras.name_scope(name):
      embeddings = embeddings or embeddings_lib.of_config(config, dtype)
      hidden, table = embeddings(
        ids, segments, mask, position_ids, inputs.get(features.TASK_TYPE_IDS)
      )
      with keras.name_scope("encoder"):
        if hidden.shape[-1] != config.hidden_size:
          hidden = embeddings_lib.to_hidden_size(config, dtype, hidden)
        hidden_states, calls = [hidden], []
        blocks = transformer_block.BlockConfig.blocks(config, dtype)
        tellers, told = _told(config, dtype, hidden, position_ids)
        for index, block in enumerate(blocks):
          positions = told[index] if told else {}
          calls.append(BlockCall(block, hidden, seen, positions))
          hidden = block(hidden, seen, positions=positions)
          if index == 0 and config.conv_kernel_size:
            conv = convolution.of_config(config, dtype, use_sequence_ids)
            hidden = conv(hidden_states[0], hidden, mask)
          hidden_states.append(hidden)
        norm = None
        if config.norm_first:
          norm = transformer_block.final_norm(config, dtype)
          hidden = hidden_states[-1] = norm(hidden)
      outputs = {"sequence_output": ops.cast(hidden, "float32")}
      pooler = pooling.of_config(config, dtype) if use_pooler else None
      if use_pooler:
        read = _read_by_pooler(config, dtype, ids, mask, table, hidden)
        outputs["pooled_output"] = ops.cast(pooler(read, mask), "float32")
    super().__init__(config, dtype, inputs, outputs, arguments)

    # Attributes.
    self.embeddings = embeddings
    self.hidden_states = hidden_states
    self.embedding_table = table
    self.block_calls = calls
    self._norm, self._pooler, self._tellers = norm, pooler, tellers

  def output_at(self, positions=None):
    """Returns the outputs of some positions; as `BareEncoder.output_at`.

    The last block computes no other states, where it can do without.
    """
    if not self._may_leave_out_states:
      return super().output_at(positions)
    places = [] if positions is None else [positions]
    if self._pooler is not None:
      places = [ops.zeros_like(self.input[features.INPUT_IDS][:, :1]), *places]
    states = self.block_calls[-1].at(ops.concatenate(places, axis=1))
    if self._norm is not None:
      states = self._norm(states)
    output = {}
    if self._pooler is not None:
      output["pooled_output"] = self._pooler(states)
      states = states[:, 1:]
    if positions is not None:
      output["sequence_output"] = states
    return {name: ops.cast(x, "float32") for name, x in output.items()}

  def extend(self, input_ids, cache, input_mask=None):
    """Reads tokens that follow others, from left to right.

    Args:
      input_ids: int32 [R, Q], the tokens.
      cache: nested dict of tensors [R, ...], what there is of those before, as
        this returned it; {} for none. Rows may be put in another order.
      input_mask: int32 [R, Q], 1 for a token and 0 for padding, which may stand
        anywhere. None: no padding.

    Returns:
      Tuple of the hidden states of the tokens, float32 [R, Q, H], as
      `sequence_output` has them, and the cache with the tokens.

    Raises:
      ValueError: as `extension.check`.
    """
    extension.check(self.config)
    if input_mask is None:
      input_mask = ops.ones_like(input_ids)
    places = extension.places(cache, input_mask)
    segments = ops.zeros_like(input_ids)
    hidden, _ = self.embeddings(
      input_ids, segments, input_mask, ops.maximum(places[0], 0)
    )
    if hidden.shape[-1] != self.config.hidden_size:
      hidden = self.get_layer("embedding_hidden_mapping_in")(hidden)
    blocks = [call.block for call in self.block_calls]
    hidden, cache = extension.through(
      blocks, self._tellers, hidden, cache, places
    )
    if self._norm is not None:
      hidden = self._norm(hidden)
    return ops.cast(hidden, "float32"), cache

  @property
  def _may_leave_out_states(self):
    """Whether the last block may leave out states that nothing reads."""
    # A convolution may follow the block, and reads neighbours.
    reads_all = getattr(self._pooler, "reads", "token") != "token"
    reads_all |= isinstance(self._pooler, pooling.Pooling)
    reads_all = reads_all or self.config.conv_kernel_size > 0
    return self.block_calls[-1].sees_alike and not reads_all

  @functools.cached_property
  def attention_probs(self):
    """A list of symbolic tensors [B, N, L, L]; large, so made if asked for."""
    return [
      _AttentionProbs(call.block)(call.hidden, call.seen, call.positions)
      for call in self.block_calls
    ]


def _structure(config, inputs, default):
  """Returns what is seen of rows, the mask, and the places of their tokens.

  Args:
    config: `configs.EncoderConfig`.
    inputs: {name: symbolic tensor}.
    default: as of `layers.GlobalTokens`.

  Returns:
    Tuple of what blocks take as attention mask; int [B, L], 1 for a token and 0
    for padding; and int [B, L], or None for those in the row.
  """
  mask = inputs[features.INPUT_MASK]
  if features.SEQUENCE_IDS in inputs:
    seen, places = scores.structure(mask, inputs[features.SEQUENCE_IDS])
    return seen, mask, places
  if not config.use_global_tokens:
    return mask, mask, None
  marked = global_tokens.GlobalTokens(default)(inputs[features.INPUT_IDS], mask)
  return marked, ops.minimum(marked, 1), None


def _told(config, dtype, hidden, position_ids):
  """Returns the layers that tell of positions, and what they or a part tell."""
  tellers = parts.ask("tellers", config, dtype)
  if tellers:
    return tellers, extension.tell(tellers, lambda x: x(hidden, position_ids))
  return None, parts.ask("positions", config, dtype, hidden, position_ids)


def _read_by_pooler(config, dtype, ids, mask, table, hidden):
  """Returns the states [B, L, H] that a pooler reads: `hidden`, or a decoder's.

  The decoder reads the row after the token that the row ends with: that is the
  token with which it begins each text (BART's </s>), whatever its id.
  """
  if config.pooler_reads != "decoder":
    return hidden
  decoder = decoder_lib.Decoder(config, dtype=dtype, name="decoder")
  last = ops.maximum(ops.sum(mask, axis=1, keepdims=True) - 1, 0)
  first = ops.take_along_axis(ids, last, axis=1)
  ids = ops.concatenate([first, ids[:, :-1]], axis=1)
  return decoder(ids, table, hidden, mask)[-1]


class _AttentionProbs(keras.layers.Layer):
  """The attention probabilities of a block, as a layer of a model.

  Args:
    block: `TransformerBlock`, which is built.
  """

  def __init__(self, block):
    super().__init__(dtype=block.dtype_policy)
    self.block = block

  def call(self, hidden, seen, positions):
    """Returns float [B, N, L, L]; as `TransformerBlock.attention_probs`."""
    return self.block.attention_probs(hidden, seen, positions)
