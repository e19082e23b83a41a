"""The encoder with its pre-training heads."""

import collections

from keras_bert_impl import features
from keras_bert_impl.models.encoders import encoder_model, transformer_encoder
from keras_bert_impl.models.heads import head_model, masked_language_model


class PretrainingModel(head_model.HeadModel):
  """Encoder for pre-training: masked LM head and, optionally, sentence head.

  Called with the encoder's inputs and `masked_lm_positions`, int32 [B, P], it
  returns a dict of `token_logits`, float32 [B, P, V], and `sentence_logits`,
  float32 [B, 2], of the next sentence or of the order of two.

  Args:
    config: `configs.EncoderConfig`.
    use_sentence_head: bool. Without it nothing would train the pooler, so the
      encoder has none then.
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.
    use_sequence_ids: bool, as `TransformerEncoder`; not with a sentence head.
    use_mask_decoder: bool, whether DeBERTa's decoder, which adds absolute
      positions, precedes the masked LM head; see `mask_decoder`.

  Attributes:
    encoder: the `TransformerEncoder`; its symbolic tensors belong to this
      model too.
    use_sentence_head: as given.
    use_mask_decoder: as given.

  Source: Devlin et al. 2019, section 3.1; google-research/bert,
  run_pretraining.py.
  """

  def __init__(
    self,
    config,
    use_sentence_head=True,
    dtype=None,
    name="pretraining_model",
    use_sequence_ids=False,
    use_mask_decoder=False,
  ):
    arguments = dict(locals())
    encoder = transformer_encoder.TransformerEncoder(
      config,
      dtype,
      use_pooler=use_sentence_head,
      use_sequence_ids=use_sequence_ids,
    )

    # Inputs.
    positions = encoder_model.make_input(features.MASKED_LM_POSITIONS)
    inputs = {**encoder.input, features.MASKED_LM_POSITIONS: positions}

    # Wiring. Keras sorts the outputs in a plain dict, and with them the layers,
    # by name; the norm of the gradients is summed in the order of the weights.
    logits, pooled = masked_language_model.masked_logits(
      encoder, positions, use_mask_decoder
    )
    outputs = collections.OrderedDict(token_logits=logits)
    if use_sentence_head:
      logits = masked_language_model.sentence_logits(encoder, pooled)
      outputs["sentence_logits"] = logits
    super().__init__(encoder, inputs, outputs, arguments)

    # Attributes.
    self.use_sentence_head = use_sentence_head
    self.use_mask_decoder = use_mask_decoder
