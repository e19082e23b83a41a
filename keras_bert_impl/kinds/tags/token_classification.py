"""Token classification: named entities, chunks, word segmentation.

`token_classification_rows` makes the rows; `token_classification_scores` scores
the tags and writes the prediction files.

Source: Devlin et al. 2019, section 5.3.
"""

import dataclasses

import numpy as np
from keras import ops

from keras_bert_impl import configs, heads, models, options
from keras_bert_impl import features as features_lib
from keras_bert_impl.layers.heads import crf
from keras_bert_impl.models.heads import feature_models
from keras_bert_impl.tasks.basics import cross_entropy
from keras_bert_impl.tokenizers.graph import token_pieces


@dataclasses.dataclass(frozen=True)
class TokenClassificationTask(cross_entropy.ClassifyingTask):
  """Token classification with IOB2 tags.

  Attributes:
    config: `EncoderConfig`.
    labels: tuple of str, as `token_classification_rows.labels_of` returns them.
    approach: "fine_tuning" trains a linear layer and the encoder; "features" a
      BiLSTM on the frozen encoder; "fine_tuning_bilstm" a BiLSTM and the
      encoder.
    features: layers that the BiLSTM reads, one of `choices.FEATURES`.
    lstm_width: int, units of the BiLSTM per direction.
    use_crf: bool, whether the tags of a sentence are learned together, as a
      conditional random field over its tokens.
  """

  config: configs.EncoderConfig
  labels: tuple[str, ...]
  approach: str = "fine_tuning"
  features: str | None = "last"
  lstm_width: int = 768
  use_crf: bool = False

  head = heads.TOKEN_CLASSIFICATION

  @property
  def has_standard_head(self):
    """Whether other libraries have the head: none with a BiLSTM or CRF."""
    return self.approach == "fine_tuning" and not self.use_crf

  @property
  def taught_outputs(self):
    """The scores of the tags; those of a CRF mean nothing by themselves."""
    return () if self.use_crf else ("logits",)

  @classmethod
  def found_options(cls, configuration, scores, described):
    """Returns what it was trained on; older files have only the unit."""
    usual = token_pieces.trained_on(described.get("token_unit"))
    trained_on = described.get("trained_on", usual)
    options.check_choice("trained_on", trained_on, token_pieces.TRAINED_ON)
    return {"trained_on": trained_on}

  @property
  def has_frozen_encoder(self):
    """Whether the approach is "features"."""
    return self.approach == "features"

  def build_model(self):
    """Returns the model of the approach, with fresh weights."""
    num_classes = len(self.labels)
    if self.approach == "fine_tuning":
      return models.TokenClassifier(
        self.config, num_classes, use_crf=self.use_crf
      )
    return feature_models.FeatureTagger(
      self.config,
      num_classes,
      self.features,
      is_frozen=self.has_frozen_encoder,
      lstm_width=self.lstm_width,
      use_crf=self.use_crf,
    )

  def weights(self, batch):
    """Returns 1 for the first piece of each labelled token, [B, L]."""
    return {"tag": ops.cast(batch[features_lib.LABEL_IDS] >= 0, "float32")}

  def total_denominators(self, data):
    """Returns the number of labelled tokens."""
    labels = data[features_lib.LABEL_IDS]
    return {"tag": float(sum(np.sum(of_row >= 0) for of_row in labels))}

  def predictions(self, batch, outputs):
    """Returns the tags [B, L]."""
    labels = ops.maximum(batch[features_lib.LABEL_IDS], 0)
    return {"tag": cross_entropy.Prediction(outputs["logits"], labels)}

  def losses(self, batch, outputs):
    """Returns the summed cross-entropy of tags or, of a CRF, paths, in nats."""
    if self.use_crf:
      return {"tag": ops.sum(_path_losses(batch, outputs))}
    return super().losses(batch, outputs)

  def metrics(self, batch, outputs):
    """Returns loss, accuracy and the share of padding; of a CRF the last."""
    if self.use_crf:
      return {"padding_share": cross_entropy.padding_share(batch)}
    return super().metrics(batch, outputs)


def _path_losses(batch, outputs):
  """Returns float32 [B], the cross-entropy of each row's path of tags.

  Only tokens with a label are in the path, each following the one before it.
  """
  labels = batch[features_lib.LABEL_IDS]
  lengths, logits, labels = crf.to_front(labels >= 0, outputs["logits"], labels)
  return crf.negative_log_likelihood(
    logits,
    outputs["transitions"][0],
    ops.maximum(labels, 0),
    lengths,
  )
