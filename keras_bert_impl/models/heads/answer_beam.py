"""XLNet's head for questions: the end of an answer depends on its start."""

import keras
from keras import ops

from keras_bert_impl import features, heads, layers
from keras_bert_impl.models.encoders import encoder_choice, encoder_model
from keras_bert_impl.models.heads import head_model

_DEFAULT_TOP = 5


class AnswerBeam(head_model.HeadModel):
  """Question answering that searches starts and ends jointly.

  For each of the likeliest starts it finds the likeliest ends. It returns a
  dict, whose names are those of `transformers`:

  - start_top_log_probs: float32 [B, S], probabilities of the starts, in spite
    of the name no logarithms;
  - start_top_index: int32 [B, S], places of the starts;
  - end_top_log_probs: float32 [B, E * S], probabilities of the ends: the
    likeliest end of every start, then the second of every start, ...;
  - end_top_index: int32 [B, E * S], places of the ends;
  - cls_logits: float32 [B], above 0 if there is no answer.

  Args:
    config: `configs.EncoderConfig`.
    start_n_top: int, S.
    end_n_top: int, E.
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.
    use_answer_mask: bool, whether answers are searched for in segment 1 and at
      [CLS] only, as published: not in the question, nor in padding. [CLS] is
      the last token. False, as in `transformers`: they are searched for
      everywhere, and [CLS] is at the last place of the row.
    use_start_positions: bool, for training: whether there is an input
      `start_positions`, int32 [B], of the true starts, and float32 outputs
      `start_logits` [B, L] and, given the true starts, `end_logits` [B, L].

  Source: zihangdai/xlnet, function_builder.py, get_qa_outputs.
  """

  heads = (heads.ANSWER_BEAM,)

  def __init__(
    self,
    config,
    start_n_top=_DEFAULT_TOP,
    end_n_top=_DEFAULT_TOP,
    dtype=None,
    name="answer_beam",
    use_answer_mask=False,
    use_start_positions=False,
  ):
    arguments = dict(locals())
    encoder = encoder_choice.make(config, dtype, use_pooler=False)
    inputs, answer_mask = dict(encoder.input), None
    if use_answer_mask:
      is_text = inputs[features.SEGMENT_IDS] > 0
      answer_mask = ops.logical_and(is_text, inputs[features.INPUT_MASK] > 0)
    if use_start_positions:
      starts = features.START_POSITIONS
      inputs[starts] = encoder_model.make_input(starts, ())
    head = layers.AnswerBeamHead(
      start_n_top,
      end_n_top,
      config.dropout_rate,
      config.layer_norm_eps,
      config.initializer_range,
      dtype=encoder.dtype_policy,
      name="beam",
    )
    with keras.name_scope("cls"):
      outputs = head(
        encoder.hidden_states[-1],
        answer_mask,
        inputs.get(features.START_POSITIONS),
      )
    super().__init__(encoder, inputs, outputs, arguments)

  @classmethod
  def of_checkpoint(cls, description, shapes, dtype=None):
    """Returns a model with the numbers of starts and ends of config.json."""
    numbers = {
      name: description.source[name]
      for name in ("start_n_top", "end_n_top")
      if name in description.source
    }
    return cls(description.config, **numbers, dtype=dtype)
