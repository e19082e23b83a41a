"""XLNet's head for questions: the end of an answer depends on its start."""

import keras

from keras_bert_impl import heads, layers
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
  Padding is not left out, as published.

  Args:
    config: `configs.EncoderConfig`.
    start_n_top: int, S, at most L.
    end_n_top: int, E, at most L.
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.

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
  ):
    encoder = encoders.make(config, dtype, use_pooler=False)
    head = layers.AnswerBeamHead(
      start_n_top,
      end_n_top,
      config.layer_norm_eps,
      config.initializer_range,
      dtype=encoder.dtype_policy,
      name="beam",
    )
    with keras.name_scope("cls"):
      outputs = head(encoder.hidden_states[-1])
    super().__init__(
      encoder,
      encoder.input,
      outputs,
      name,
      start_n_top=start_n_top,
      end_n_top=end_n_top,
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
