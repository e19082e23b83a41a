"""Classes, scores or several labels of a text or a pair."""

from keras_bert_impl import heads
from keras_bert_impl.checkpoints.naming import names
from keras_bert_impl.layers.attention import global_tokens
from keras_bert_impl.models.encoders import encoder_choice
from keras_bert_impl.models.heads import head_model


class SequenceClassifier(head_model.HeadModel):
  """Classifier or regressor of sequences: `logits` [B, C], from the pooler.

  Of several labels at once, each logit's sigmoid is the probability of a label.

  Args:
    config: `configs.EncoderConfig`.
    num_classes: int, C; 1 for regression.
    dropout_rate: float in [0, 1), before the head; None means
      `config.dropout_rate`.
    bilstm_width: int, units of a BiLSTM whose state at the first token replaces
      the pooled output; None for no BiLSTM. The paper uses it on a
      left-to-right encoder (section 5.1).
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.

  Source: Devlin et al. 2019, figure 4 (a, b); google-research/bert,
  run_classifier.py.
  """

  heads = (heads.CLASSIFICATION, heads.REGRESSION, heads.MULTI_LABEL)

  def __init__(
    self,
    config,
    num_classes,
    dropout_rate=None,
    bilstm_width=None,
    dtype=None,
    name="sequence_classifier",
  ):
    arguments = dict(locals())
    encoder = encoder_choice.make(
      config,
      dtype,
      global_tokens=global_tokens.FIRST,
      use_pooler=bilstm_width is None,
    )
    if bilstm_width is None:
      pooled = encoder.output_at()["pooled_output"]
      pooled = head_model.transform(encoder)(pooled)
    else:
      pooled = head_model.last_hidden(encoder, bilstm_width)[:, 0]
    pooled = head_model.dropout(encoder, dropout_rate)(pooled)
    logits = head_model.classifier(encoder, num_classes)(pooled)
    super().__init__(encoder, encoder.input, {"logits": logits}, arguments)

  @classmethod
  def of_checkpoint(cls, description, shapes, dtype=None):
    """Returns a model with as many classes as the stored classifier."""
    num_classes = shapes[names.CLASSIFIER][0]
    return cls(description.config, num_classes, dtype=dtype)
