"""ELMo's encoder: LSTMs of both directions over word pieces."""

import keras
from keras import ops

from keras_bert_impl import layers
from keras_bert_impl.layers.blocks import embeddings as embeddings_lib
from keras_bert_impl.models.encoders import encoder_model


class ElmoEncoder(encoder_model.BareEncoder):
  """Two-directional LSTM encoder: neither direction sees what the other does.

  Called as `TransformerEncoder`, it returns `sequence_output` [B, L, 2 H] and,
  with a pooler, `pooled_output` [B, 2 H], of the state of the last token from
  left to right and of the first from right to left.

  Args:
    config: `configs.EncoderConfig` of an encoder that `is_recurrent`.
    dtype: as `TransformerEncoder`; the LSTMs compute in float32.
    name: str, also the first part of each variable's path.
    use_pooler: bool, whether there is a `pooled_output`.

  Attributes:
    config: as given.
    embeddings: the layer.
    directions: two symbolic tensors [B, L, H], the last states of each.
    hidden_states: list of symbolic tensors [B, L, 2 H]: the embeddings, twice,
      then the output of each layer.
    embedding_table: symbolic tensor [V, H], for heads tied to it.

  Source: Peters et al. 2018, section 3. Differs from it: words are pieces with
  a table, normalized, instead of convolutions of their characters.
  """

  def __init__(self, config, dtype=None, name="bert", use_pooler=True):
    arguments = dict(locals())
    dtype = keras.dtype_policies.get(dtype or keras.config.dtype_policy())

    # Inputs.
    inputs = encoder_model.integer_inputs()
    input_ids, mask, segment_ids = inputs.values()

    # Wiring.
    with keras.name_scope(name):
      embeddings = embeddings_lib.of_config(config, dtype)
      hidden, table = embeddings(input_ids, segment_ids, mask)
      directions, hidden_states = (hidden, hidden), [_join(hidden, hidden)]
      with keras.name_scope("encoder"):
        for index in range(config.num_hidden_layers):
          directions = layers.BidirectionalBlock(
            config.intermediate_size,
            index > 0,
            config.dropout_rate,
            config.initializer_range,
            dtype=dtype,
            name=f"layer_{index}",
          )(*directions, mask)
          hidden_states.append(_join(*directions))
      outputs = {"sequence_output": ops.cast(hidden_states[-1], "float32")}
      if use_pooler:
        pooled = _pool(config, dtype, *directions, mask)
        outputs["pooled_output"] = ops.cast(pooled, "float32")
    super().__init__(config, dtype, inputs, outputs, arguments)

    # Attributes.
    self.embeddings = embeddings
    self.directions = directions
    self.hidden_states = hidden_states
    self.embedding_table = table


def _join(forward, backward):
  return ops.concatenate([forward, backward], axis=-1)


def _pool(config, dtype, forward, backward, mask):
  """Returns [B, 2 H] of what each direction has read at its end."""
  last = layers.Pooling("lasttoken", dtype=dtype)(forward, mask)
  both = _join(last, backward[:, 0])
  return layers.Pooler(
    config.initializer_range, config.pooler_act, dtype=dtype, name="pooler"
  )(both[:, None])
