"""Encoder and decoder: a text is read, and another one is written."""

import functools

import keras
from keras import ops

from keras_bert_impl import features, heads
from keras_bert_impl.layers.blocks import decoder as decoder_lib
from keras_bert_impl.models.encoders import encoder_model, transformer_encoder
from keras_bert_impl.models.heads import head_model, masked_language_model


class EncoderDecoder(head_model.HeadModel):
  """Transformer of an encoder and a decoder, such as BART and T5.

  Called with `input_ids`, `input_mask` (default 1) and `decoder_ids`, int32
  [B, T], the tokens of the other text after the one that begins it, it returns
  `token_logits`, float32 [B, T, V]: of the token that follows each. Padding of
  `decoder_ids` stands at the end.

    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(
        from_logits=True, ignore_class=-100))
    model.fit({"input_ids": ids, "decoder_ids": decoder_ids}, labels)

  Args:
    config: `configs.EncoderConfig` with `num_decoder_layers`.
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.

  Raises:
    ValueError: the configuration has no decoder.

  Attributes:
    decoder_states: list of symbolic tensors [B, T, H]: the embeddings of the
      decoder, then the output of each block; the last one normalized.

  Source: Vaswani et al. 2017; Lewis et al. 2020 (BART); Raffel et al. 2020.
  """

  heads = (heads.TEXT_TO_TEXT,)

  def __init__(self, config, dtype=None, name="encoder_decoder"):
    arguments = dict(locals())
    if not config.num_decoder_layers:
      raise ValueError(
        f"num_decoder_layers ({config.num_decoder_layers}) must be at least 1"
        " in the configuration of an EncoderDecoder."
      )
    encoder = transformer_encoder.TransformerEncoder(
      config, dtype, use_pooler=False
    )

    # Inputs.
    ids = encoder_model.make_input(features.DECODER_IDS)
    inputs = {**encoder.input, features.DECODER_IDS: ids}

    # Wiring.
    with keras.name_scope("bert"):
      decoder = decoder_lib.Decoder(
        config, dtype=encoder.dtype_policy, name="decoder"
      )
      states = decoder(
        ids,
        encoder.embedding_table,
        encoder.hidden_states[-1],
        inputs[features.INPUT_MASK],
      )
    logits = masked_language_model.token_scorer(encoder, hidden=states[-1])()
    super().__init__(encoder, inputs, {"token_logits": logits}, arguments)

    # Attributes.
    self.decoder_states = states
    self._decoder = decoder

  @functools.cached_property
  def attention_probs(self):
    """Symbolic attention probabilities, made if asked for.

    A dict of lists with one of each block: "encoder" [B, N, L, L], "decoder"
    [B, N, T, T], and "cross" [B, N, T, L], of the decoder to the encoder.
    """
    found = _AttentionProbs(self._decoder)(
      self.decoder_states,
      self.encoder.hidden_states[-1],
      self.input[features.INPUT_MASK],
    )
    own, cross = (list(probs) for probs in zip(*found, strict=True))
    return {
      "encoder": self.encoder.attention_probs,
      "decoder": own,
      "cross": cross,
    }

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
    return self.get_layer("predictions")(hidden, None, table), cache


class _AttentionProbs(keras.layers.Layer):
  """The attention probabilities of a decoder, as a layer of a model.

  Args:
    decoder: `Decoder`, which is built.
  """

  def __init__(self, decoder):
    super().__init__(dtype=decoder.dtype_policy)
    self.decoder = decoder

  def call(self, states, memory, memory_mask):
    """Returns a list of pairs; as `Decoder.attention_probs`."""
    return self.decoder.attention_probs(states, memory, memory_mask)
