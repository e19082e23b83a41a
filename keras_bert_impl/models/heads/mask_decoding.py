"""DeBERTa's decoder of masked tokens, on an encoder."""

from keras_bert_impl import features
from keras_bert_impl.layers.attention import scores
from keras_bert_impl.layers.blocks import mask_decoder as mask_decoder_lib


def decode(encoder):
  """Returns the states from which masked tokens are predicted.

  Absolute positions are added only here. The decoder reads the input of the
  last block, not the last state of the encoder.

  Args:
    encoder: `TransformerEncoder`, post-norm, without positions in its input.

  Returns:
    symbolic tensor, float [B, L, H].

  Raises:
    ValueError: its input has positions, or it is pre-norm.
  """
  config = encoder.config
  config.check_positions(
    "none",
    "the objective deberta: positions come in where masked tokens are"
    " predicted",
  )
  if config.norm_first:
    raise ValueError(
      f"norm_first ({config.norm_first}) must be False in the encoder"
      " configuration for the objective deberta: its decoder is post-norm."
    )
  last = encoder.block_calls[-1]
  decoder = mask_decoder_lib.MaskDecoder(
    last.block,
    config.max_position_embeddings,
    config.initializer_range,
    dtype=encoder.dtype_policy,
    # The table of positions gets the same name as in other encoders.
    name=encoder.name,
  )
  _, position_ids = scores.structure(
    encoder.input[features.INPUT_MASK],
    encoder.input.get(features.SEQUENCE_IDS),
  )
  return decoder(last.hidden, last.seen, last.positions, position_ids)
