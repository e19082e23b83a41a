"""Regression of texts or pairs of texts: STS-B and similar data.

`text_rows` makes the rows, `text_scores` scores and files.
"""

import dataclasses

from keras import ops

from keras_bert_impl import configs, features, heads, models
from keras_bert_impl.tasks.basics import cross_entropy, fine_tuning


@dataclasses.dataclass(frozen=True)
class SequenceRegressionTask(fine_tuning.BilstmTask):
  """Scores texts or pairs of texts, by the mean squared error.

  Attributes:
    config: `EncoderConfig`.
    bilstm_width: as `models.SequenceClassifier`.
    mean_score: float, of the training examples: what a new head answers at
      first.
  """

  config: configs.EncoderConfig
  bilstm_width: int | None = None
  mean_score: float = 0.0

  head = heads.REGRESSION
  taught_outputs = ("logits",)
  undescribed = ("mean_score",)  # How the head begins.

  def build_model(self):
    """Returns a `SequenceClassifier` with one output, the score."""
    model = models.SequenceClassifier(
      self.config, 1, bilstm_width=self.bilstm_width
    )
    # Differs from the original, whose bias begins at 0: on STS-B a third of the
    # training went by until the answers had the mean of the scores.
    model.get_layer("classifier").output_bias.assign([self.mean_score])
    return model

  def denominators(self, batch):
    """Returns the number of examples."""
    return {"label": ops.sum(cross_entropy.row_weights(batch))}

  def losses(self, batch, outputs):
    """Returns the sum of the squared errors."""
    return {"label": _squared_error(batch, outputs, batch[features.LABEL_IDS])}

  def soft_losses(self, batch, outputs, taught, temperature):
    """Returns the sum of the squared differences from a teacher's scores.

    Scores have no temperature.
    """
    return {"label": _squared_error(batch, outputs, taught["logits"][:, 0])}

  def metrics(self, batch, outputs):
    """Returns the mean squared error and the padding share."""
    share = {"padding_share": cross_entropy.padding_share(batch)}
    return share | cross_entropy.loss_metrics(self, batch, outputs)


def _squared_error(batch, outputs, scores):
  """Returns the sum of the squared errors from scores [B], float32 scalar."""
  errors = outputs["logits"][:, 0] - scores  # [B]
  weights = cross_entropy.sampled(batch, cross_entropy.row_weights(batch))
  return ops.sum(weights * errors**2)
