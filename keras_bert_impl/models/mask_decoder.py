"""DeBERTa's decoder of masked tokens, on an encoder."""

from keras_bert_impl import features
from keras_bert_impl.layers import attention
from keras_bert_impl.layers import mask_decoder as layers


def decode(encoder):
  """Returns the states that tell masked tokens, symbolic, [B, L, H].

  Positions come in only here; the last state of the encoder is not read.

  Args:
    encoder: `TransformerEncoder` without positions in its input.

  Raises:
    ValueError: its input has positions.
  """
  config = encoder.config
  kind = config.position_embedding_type
  if kind != "none":
    raise ValueError(
      f"position_embedding_type ({kind!r}) must be 'none' in the encoder"
      " configuration for the objective deberta: positions come in where masked"
      " tokens are predicted."
    )
  last = encoder.block_calls[-1]
  decoder = layers.MaskDecoder(
    last.func,
    config.max_position_embeddings,
    config.initializer_range,
    dtype=encoder.dtype_policy,
    # So that its table is where embeddings have theirs.
    name=encoder.name,
  )
  _, position_ids = attention.structure(
    encoder.input[features.INPUT_MASK],
    encoder.input.get(features.SEQUENCE_IDS),
  )
  return decoder(*last.args, **last.keywords, position_ids=position_ids)
