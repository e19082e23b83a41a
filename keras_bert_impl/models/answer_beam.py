"""XLNet's head for questions: the end of an answer depends on its start."""

import keras
from keras import ops

from keras_bert_impl import features, heads, layers
from keras_bert_impl.models import encoders, task_models

_DEFAULT_TOP = 5


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class AnswerBeam(task_models.HeadModel):
  """Question answering that searches starts and ends jointly.

  For each of the likeliest starts it finds the likeliest ends, and returns,
  under the names of `transformers`,
    start_top_log_probs, start_top_index [B, S], probabilities (no logarithms)
      and places of the starts;
    end_top_log_probs, end_top_index [B, E * S], those of the ends: the
      likeliest of every start, then the second of every start, ...;
    cls_logits [B], above 0 if there is no answer, from the last place of a row.
  By default padding is not left out, as in `transformers`.

  Args:
    config: `configs.EncoderConfig`.
    start_n_top: int, S.
    end_n_top: int, E.
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.
    use_answer_mask: bool, whether the question (segment 0) and padding are left
      out, and the last of the other places is that of [CLS], wherever the
      padding is; as published, in training and for answers.
    use_start_positions: bool, whether there is an input `start_positions`,
      int32 [B], and outputs `start_logits` [B, L] and `end_logits` [B, L], of
      the ends of these starts; for training.

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
    encoder = encoders.make(config, dtype, use_pooler=False)
    inputs, answer_mask = dict(encoder.input), None
    if use_answer_mask:
      is_text = inputs[features.SEGMENT_IDS] > 0
      answer_mask = ops.logical_and(is_text, inputs[features.INPUT_MASK] > 0)
    if use_start_positions:
      inputs[features.START_POSITIONS] = keras.Input(
        (), dtype="int32", name=features.START_POSITIONS
      )
    head = layers.AnswerBeamHead(
      start_n_top,
      end_n_top,
      config.hidden_dropout_prob,
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
    super().__init__(
      encoder,
      inputs,
      outputs,
      name,
      start_n_top=start_n_top,
      end_n_top=end_n_top,
      use_answer_mask=use_answer_mask,
      use_start_positions=use_start_positions,
    )

  @classmethod
  def of_checkpoint(cls, description, shapes, dtype=None):
    """Returns a model that searches as widely as the config.json says."""
    wide = {
      name: description.source[name]
      for name in ("start_n_top", "end_n_top")
      if name in description.source
    }
    return cls(description.config, **wide, dtype=dtype)
