"""The encoder with SpanBERT's pre-training heads."""

import collections

import keras

from keras_bert_impl import features, layers
from keras_bert_impl.models.encoders import encoder_model, transformer_encoder
from keras_bert_impl.models.heads import head_model, masked_language_model


class SpanBoundaryModel(head_model.HeadModel):
  """Encoder for pre-training SpanBERT: masked LM and span boundary head.

  Called with the encoder's inputs, `masked_lm_positions`, int32 [B, P], and
  `span_boundaries`, int32 [B, P, 2], it returns a dict of `token_logits` and
  `span_boundary_logits`, both float32 [B, P, V].

  Args:
    config: `configs.EncoderConfig`.
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.
    use_sequence_ids: bool, as `TransformerEncoder`.

  Attributes:
    encoder: the `TransformerEncoder`; its symbolic tensors belong to this
      model too.

  Source: Joshi et al. 2020, section 3.2.
  """

  def __init__(
    self,
    config,
    dtype=None,
    name="span_boundary_model",
    use_sequence_ids=False,
  ):
    arguments = dict(locals())
    encoder = transformer_encoder.TransformerEncoder(
      config, dtype, use_pooler=False, use_sequence_ids=use_sequence_ids
    )

    # Inputs.
    positions = encoder_model.make_input(features.MASKED_LM_POSITIONS)
    boundaries = encoder_model.make_input(features.SPAN_BOUNDARIES, (None, 2))
    inputs = {
      **encoder.input,
      features.MASKED_LM_POSITIONS: positions,
      features.SPAN_BOUNDARIES: boundaries,
    }

    # Wiring. Ordered, as in `PretrainingModel`.
    outputs = collections.OrderedDict(
      token_logits=masked_language_model.token_logits(encoder, positions),
      span_boundary_logits=_span_boundary_logits(
        encoder, positions, boundaries
      ),
    )
    super().__init__(encoder, inputs, outputs, arguments)


def _span_boundary_logits(encoder, positions, boundaries):
  """Returns logits [B, P, V] of a new head, at cls/span_boundary."""
  config = encoder.config
  head = layers.SpanBoundaryHead(
    layer_norm_eps=config.layer_norm_eps,
    initializer_range=config.initializer_range,
    dtype=encoder.dtype_policy,
    name="span_boundary",
  )
  with keras.name_scope("cls"):
    return head(
      encoder.hidden_states[-1], positions, boundaries, encoder.embedding_table
    )
