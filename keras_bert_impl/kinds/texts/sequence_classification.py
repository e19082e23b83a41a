"""Classification of texts or pairs of texts: GLUE and similar data.

`text_rows` makes the rows, `text_scores` scores and files.

Source: Devlin et al. 2019, section 4.1; google-research/bert,
run_classifier.py.
"""

import dataclasses

from keras_bert_impl import configs, heads, models
from keras_bert_impl.tasks.basics import cross_entropy, fine_tuning


@dataclasses.dataclass(frozen=True)
class SequenceClassificationTask(
  fine_tuning.BilstmTask, cross_entropy.RowClassifyingTask
):
  """Classifies texts or pairs of texts, by cross-entropy.

  Attributes:
    config: `EncoderConfig`.
    labels: tuple of str, names of the classes; their order is that of the
      logits.
    bilstm_width: as `models.SequenceClassifier`.

  Raises:
    ValueError: there are fewer than two classes, or one is repeated.
  """

  config: configs.EncoderConfig
  labels: tuple[str, ...]
  bilstm_width: int | None = None

  head = heads.CLASSIFICATION

  def __post_init__(self):
    if len(set(self.labels)) < 2 or len(set(self.labels)) < len(self.labels):
      raise ValueError(
        f"labels ({', '.join(self.labels)}) must be two or more, each once."
      )

  def build_model(self):
    """Returns a `SequenceClassifier` with a logit for each class."""
    return models.SequenceClassifier(
      self.config, len(self.labels), bilstm_width=self.bilstm_width
    )
