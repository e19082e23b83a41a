"""Encoder and decoder: a text is read, and another one is written."""

import keras
from keras import ops

from keras_bert_impl import features, heads, layers
from keras_bert_impl.layers.blocks import decoder as decoder_lib
from keras_bert_impl.models.encoders import encoder_model, transformer_encoder


class EncoderDecoder(encoder_model.EncoderModel):
  """Transformer of an encoder and a decoder, such as BART and T5.

  Called with `input_ids`, `input_mask` (default 1) and `decoder_ids`, int32
  [B, T], the tokens of the other text after the one that begins it, it returns
  `token_logits`, float32 [B, T, V]: of the token that follows each. Padding of
  `decoder_ids` stands at the end.

  Args:
    config: `configs.EncoderConfig` with `num_decoder_layers`.
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.

  Attributes:
    encoder: the `TransformerEncoder`; its symbolic tensors belong to this
      model too.
    decoder_states: list of symbolic tensors [B, T, H]: the embeddings of the
      decoder, then the output of each block; the last one normalized.

  Source: Vaswani et al. 2017; Lewis et al. 2020 (BART); Raffel et al. 2020.
  """

  heads = (heads.TEXT_TO_TEXT,)

  def __init__(self, config, dtype=None, name="encoder_decoder"):
    arguments = dict(locals())
    encoder = transformer_encoder.TransformerEncoder(
      config, dtype, use_pooler=False
    )
    dtype = encoder.dtype_policy

    # Inputs.
    ids = keras.Input((None,), dtype="int32", name=features.DECODER_IDS)
    inputs = {**encoder.input, features.DECODER_IDS: ids}

    # Wiring.
    with keras.name_scope("bert"):
      decoder = decoder_lib.Decoder(config, dtype=dtype, name="decoder")
      states = decoder(
        ids,
        encoder.embedding_table,
        encoder.hidden_states[-1],
        inputs[features.INPUT_MASK],
      )
    head = layers.MaskedLanguageModelHead(
      use_transform=False,
      use_output_bias=config.decoder_bias,
      tie_word_embeddings=config.tie_word_embeddings,
      input_scale=config.hidden_size**-0.5 if config.scale_logits else 1.0,
      initializer_range=config.initializer_range,
      dtype=dtype,
      name="predictions",
    )
    with keras.name_scope("cls"):
      logits = head(states[-1], None, encoder.embedding_table)
    super().__init__(config, dtype, inputs, {"token_logits": logits}, arguments)

    # Attributes.
    self.encoder = encoder
    self.decoder_states = states
    self._decoder, self._head = decoder, head

  def memory(self, input_ids, input_mask):
    """Reads the first text, for `extend`.

    Args:
      input_ids: int32 [B, L].
      input_mask: int32 [B, L].

    Returns:
      dict, as of `layers.Decoder.memory`.
    """
    found = self.encoder(
      {features.INPUT_IDS: input_ids, features.INPUT_MASK: input_mask}
    )
    return self._decoder.memory(found["sequence_output"], input_mask)

  def extend(self, decoder_ids, cache, memory):
    """Reads tokens of the other text that follow those before.

    Args:
      decoder_ids: int32 [R, Q]; R is B or a multiple of it.
      cache: as of `TransformerEncoder.extend`.
      memory: as `memory` returned it, [B, ...].

    Returns:
      Tuple of the logits float32 [R, Q, V], as `token_logits`, and the cache
      with the tokens.
    """
    table = ops.convert_to_tensor(self.encoder.embeddings.word_embeddings)
    hidden, cache = self._decoder.extend(decoder_ids, table, cache, memory)
    return self._head(hidden, None, table), cache
