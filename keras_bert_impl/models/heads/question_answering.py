"""Spans of a text as answers."""

import keras

from keras_bert_impl import heads
from keras_bert_impl.layers.attention import global_tokens
from keras_bert_impl.models.encoders import encoder_choice
from keras_bert_impl.models.heads import head_model


class QuestionAnswering(head_model.HeadModel):
  """Question answering: `start_logits` and `end_logits` of the answer, [B, L].

  Args:
    config: `configs.EncoderConfig`.
    bilstm_width: int, width of a BiLSTM between encoder and head; None for
      none.
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.

  Source: Devlin et al. 2019, section 4.2; google-research/bert, run_squad.py.
  """

  heads = (heads.QUESTION_ANSWERING,)

  def __init__(
    self, config, bilstm_width=None, dtype=None, name="question_answering"
  ):
    arguments = dict(locals())
    encoder = encoder_choice.make(
      config, dtype, global_tokens=global_tokens.QUESTION, use_pooler=False
    )
    hidden = head_model.last_hidden(encoder, bilstm_width)
    if bilstm_width is None:
      hidden = head_model.transform(encoder)(hidden)
    with keras.name_scope("cls"):
      logits = head_model.classifier(encoder, 2, "squad")(hidden)
    outputs = {"start_logits": logits[..., 0], "end_logits": logits[..., 1]}
    super().__init__(encoder, encoder.input, outputs, arguments)
