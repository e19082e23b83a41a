"""Token classification: named entities, chunks.

`token_classification_rows` makes the rows, `token_classification_scores` scores
and files.

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
  """Classifies tokens, by tags in IOB2.

  Attributes:
    config: `EncoderConfig`.
    labels: tuple of str, of `token_classification_rows.labels_of`.
    approach: "fine_tuning" for a linear layer on the encoder; "features" for a
      BiLSTM on a frozen one; "fine_tuning_bilstm" for both to be trained.
    features: what the BiLSTM reads, one of `choices.FEATURES`.
    lstm_width: int, size of the BiLSTM's state in each direction.
  """

  config: configs.EncoderConfig
  labels: tuple[str, ...]
  approach: str = "fine_tuning"
  features: str = "last"
  lstm_width: int = 768

  head = heads.TOKEN_CLASSIFICATION

  @property
  def has_standard_head(self):
    """Whether other programs have such a head: none with a BiLSTM."""
    return self.approach == "fine_tuning"

  def build_model(self):
    """Returns the model of the approach, with fresh weights."""
    num_classes = len(self.labels)
    if self.approach == "fine_tuning":
      return models.TokenClassifier(self.config, num_classes)
    return feature_models.FeatureTagger(
      self.config,
      num_classes,
      self.features,
      is_frozen=self.approach == "features",
      lstm_width=self.lstm_width,
    )

  def denominators(self, batch):
    """Returns the number of tokens with a label."""
    return {"tag": ops.sum(_weights(batch))}

  def losses(self, batch, outputs):
    """Returns the summed cross-entropy in nats."""
    return cross_entropy.losses(*_predictions(batch, outputs))

  def metrics(self, batch, outputs):
    """Returns loss, accuracy and padding share."""
    return cross_entropy.metrics(batch, *_predictions(batch, outputs))

  def describe(self):
    """Returns as `Task`, with the approach."""
    return {
      "labels": self.labels,
      "approach": self.approach,
      "features": self.features,
      "lstm_width": self.lstm_width,
    }


def _weights(batch):
  """Returns float32 [B, L], 1 at the first pieces of tokens."""
  return ops.cast(batch[features_lib.LABEL_IDS] >= 0, "float32")


def _predictions(batch, outputs):
  """Returns the prediction of the tag, and its weights."""
  labels = ops.maximum(batch[features_lib.LABEL_IDS], 0)
  prediction = cross_entropy.Prediction(outputs["logits"], labels)
  return {"tag": prediction}, {"tag": _weights(batch)}
