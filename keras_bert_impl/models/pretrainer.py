"""The encoder with the heads it is pre-trained with."""

import keras

from keras_bert_impl import features, layers
from keras_bert_impl.models import encoder as encoder_lib
from keras_bert_impl.models import task_models


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class PretrainingModel(task_models.HeadModel):
  """`TransformerEncoder` with masked-LM and, if asked for, two more heads.

  Called with the encoder's inputs and `masked_lm_positions`, int32 [B, P], it
  returns a dict of `masked_lm_logits`, float32 [B, P, V];
  `next_sentence_logits`, float32 [B, 2] (sentence order has the same head); and
  `span_boundary_logits`, float32 [B, P, V], for which it takes
  `span_boundaries`, int32 [B, P, 2], too.

  Args:
    config: `configs.EncoderConfig`.
    use_next_sentence: bool. Without it nothing would train the pooler, so the
      encoder has none then.
    use_span_boundary: bool.
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.

  Attributes:
    encoder: the `TransformerEncoder`; its symbolic tensors belong to this
      model too.
    use_next_sentence: as given.

  Source: Devlin et al. 2019, section 3.1; google-research/bert,
  run_pretraining.py; Joshi et al. 2020, section 3.2.
  """

  def __init__(
    self,
    config,
    use_next_sentence=True,
    use_span_boundary=False,
    dtype=None,
    name="pretraining_model",
  ):
    encoder = encoder_lib.TransformerEncoder(
      config, dtype, use_pooler=use_next_sentence
    )

    # Inputs.
    positions = keras.Input(
      (None,), dtype="int32", name=features.MASKED_LM_POSITIONS
    )
    inputs = {**encoder.input, features.MASKED_LM_POSITIONS: positions}

    # Wiring.
    outputs = {
      "masked_lm_logits": task_models.masked_lm_logits(encoder, positions)
    }
    if use_next_sentence:
      outputs["next_sentence_logits"] = task_models.sentence_pair_logits(
        encoder
      )
    if use_span_boundary:
      boundaries = keras.Input(
        (None, 2), dtype="int32", name=features.SPAN_BOUNDARIES
      )
      inputs[features.SPAN_BOUNDARIES] = boundaries
      outputs["span_boundary_logits"] = _span_boundary_logits(
        encoder, positions, boundaries
      )
    super().__init__(
      encoder,
      inputs,
      outputs,
      name,
      use_next_sentence=use_next_sentence,
      use_span_boundary=use_span_boundary,
    )

    # Attributes.
    self.use_next_sentence = use_next_sentence


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
