"""One of several choices."""

import keras
from keras import ops

from keras_bert_impl import features, heads
from keras_bert_impl.layers.attention import global_tokens
from keras_bert_impl.models.encoders import encoder_choice
from keras_bert_impl.models.heads import head_model


class MultipleChoice(head_model.HeadModel):
  """Multiple choice: `logits` [B, choices].

  Its inputs are the encoder's with an axis more, [B, choices, L]: one sequence
  for each choice, any number of them. `encoder.hidden_states` belong to the
  encoder's own inputs, [B * choices, L].

  Args:
    config: `configs.EncoderConfig`.
    dropout_rate: as `SequenceClassifier`.
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.

  Source: Devlin et al. 2019, section 4.4.
  """

  heads = (heads.MULTIPLE_CHOICE,)

  def __init__(
    self, config, dropout_rate=None, dtype=None, name="multiple_choice"
  ):
    arguments = dict(locals())
    encoder = encoder_choice.make(
      config, dtype, global_tokens=global_tokens.CHOICE, use_pooler=True
    )
    inputs = {
      key: keras.Input((None, None), dtype="int32", name=key)
      for key in encoder.input
    }
    rows = {key: _MergeChoices()(value) for key, value in inputs.items()}
    pooled = encoder(rows)["pooled_output"]  # [B * choices, H]
    pooled = head_model.transform(encoder)(pooled)
    pooled = head_model.dropout(encoder, dropout_rate)(pooled)
    logits = head_model.classifier(encoder, 1)(pooled)
    logits = _SplitChoices(dtype="float32")(logits, inputs[features.INPUT_IDS])
    super().__init__(encoder, inputs, {"logits": logits}, arguments)


class _MergeChoices(keras.layers.Layer):
  """[B, choices, L] -> [B * choices, L]."""

  def call(self, x):
    batch, choices, length = ops.shape(x)
    return ops.reshape(x, (batch * choices, length))


class _SplitChoices(keras.layers.Layer):
  """[B * choices, 1] -> [B, choices] of `inputs` [B, choices, L]."""

  def call(self, logits, inputs):
    return ops.reshape(logits, ops.shape(inputs)[:2])

  def compute_output_spec(self, logits, inputs):
    return keras.KerasTensor(inputs.shape[:2], logits.dtype)
