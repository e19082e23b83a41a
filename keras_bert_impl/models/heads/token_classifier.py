"""Classes of tokens."""

from keras_bert_impl import heads
from keras_bert_impl.checkpoints.naming import names
from keras_bert_impl.models.encoders import encoder_choice
from keras_bert_impl.models.heads import feature_models, head_model


class TokenClassifier(head_model.HeadModel):
  """Token classifier: `logits` [B, L, C].

  Args:
    config: `configs.EncoderConfig`.
    num_classes: int, C.
    dropout_rate: as `SequenceClassifier`.
    use_crf: bool, whether tags are chosen together: there is an output
      `transitions` [B, C + 2, C] too, with which `layers.crf` finds them.
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.

  Source: Devlin et al. 2019, figure 4 (d).
  """

  heads = (heads.TOKEN_CLASSIFICATION,)

  def __init__(
    self,
    config,
    num_classes,
    dropout_rate=None,
    use_crf=False,
    dtype=None,
    name="token_classifier",
  ):
    arguments = dict(locals())
    encoder = encoder_choice.make(config, dtype, use_pooler=False)
    hidden = head_model.transform(encoder)(encoder.hidden_states[-1])
    hidden = head_model.dropout(encoder, dropout_rate)(hidden)
    logits = head_model.classifier(encoder, num_classes)(hidden)
    outputs = feature_models.outputs_of_tags(logits, use_crf)
    super().__init__(encoder, encoder.input, outputs, arguments)

  @classmethod
  def of_checkpoint(cls, description, shapes, dtype=None):
    """Returns a model with the classes and the field of the checkpoint."""
    num_classes, use_crf = shapes[names.CLASSIFIER][0], names.CRF in shapes
    return cls(description.config, num_classes, use_crf=use_crf, dtype=dtype)
