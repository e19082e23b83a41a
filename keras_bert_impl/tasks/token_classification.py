"""Token classification: named entities, chunks, word segmentation.

`token_classification_rows` makes the rows; `token_classification_scores` scores
the tags and writes the prediction files.

Source: Devlin et al. 2019, section 5.3.
"""

import dataclasses

from keras import ops

from keras_bert_impl import configs, heads, models
from keras_bert_impl import features as features_lib
from keras_bert_impl.models import feature_models
from keras_bert_impl.tasks import base, cross_entropy


@dataclasses.dataclass(frozen=True)
class TokenClassificationTask(base.Task):
  """Token classification with IOB2 tags.

  Attributes:
    config: `EncoderConfig`.
    labels: tuple of str, as `token_classification_rows.labels_of` returns them.
    approach: "fine_tuning" trains a linear layer and the encoder; "features" a
      BiLSTM on the frozen encoder; "fine_tuning_bilstm" a BiLSTM and the
      encoder.
    features: layers that the BiLSTM reads, one of `choices.FEATURES`.
    lstm_width: int, units of the BiLSTM per direction.
  """

  config: configs.EncoderConfig
  labels: tuple[str, ...]
  approach: str = "fine_tuning"
  features: str = "last"
  lstm_width: int = 768

  head = heads.TOKEN_CLASSIFICATION

  @property
  def has_standard_head(self):
    """Whether other libraries can load the head: False with a BiLSTM."""
    return self.approach == "fine_tuning"

  @property
  def has_frozen_encoder(self):
    """Whether the approach is "features"."""
    return self.approach == "features"

  def build_model(self):
    """Returns the model of the approach, with fresh weights."""
    num_classes = len(self.labels)
    if self.approach == "fine_tuning":
      return models.TokenClassifier(self.config, num_classes)
    return feature_models.FeatureTagger(
      self.config,
      num_classes,
      self.features,
      is_frozen=self.has_frozen_encoder,
      lstm_width=self.lstm_width,
    )

  def denominators(self, batch):
    """Returns the number of tokens with a label."""
    return {"tag": ops.sum(_weights(batch))}

  def losses(self, batch, outputs):
    """Returns the summed cross-entropy, in nats."""
    return cross_entropy.losses(*_predictions(batch, outputs))

  def metrics(self, batch, outputs):
    """Returns loss, accuracy and the share of padding."""
    return cross_entropy.metrics(batch, *_predictions(batch, outputs))

  def describe(self):
    """Returns the entries of `Task`, with the approach and its options."""
    return {
      "labels": self.labels,
      "approach": self.approach,
      "features": self.features,
      "lstm_width": self.lstm_width,
    }


def _weights(batch):
  """Returns float32 [B, L], 1 for the first piece of each labelled token."""
  return ops.cast(batch[features_lib.LABEL_IDS] >= 0, "float32")


def _predictions(batch, outputs):
  """Returns the `Prediction` of the tags and its weights, by loss name."""
  labels = ops.maximum(batch[features_lib.LABEL_IDS], 0)
  prediction = cross_entropy.Prediction(outputs["logits"], labels)
  return {"tag": prediction}, {"tag": _weights(batch)}
