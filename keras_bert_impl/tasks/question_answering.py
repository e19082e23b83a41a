"""Question answering by spans of a text: SQuAD 1.1, 2.0 and similar data.

`question_answering_rows` makes the rows, `answers` finds the answers, and
`question_answering_scores` makes scores and files.

Source: Devlin et al. 2019, sections 4.2 and 4.3; google-research/bert,
run_squad.py.
"""

import dataclasses

from keras import ops

from keras_bert_impl import configs, features, heads, models
from keras_bert_impl.tasks import base, cross_entropy
from keras_bert_impl.tasks import question_answering_rows as rows


@dataclasses.dataclass(frozen=True)
class QuestionAnsweringTask(base.Task):
  """Predicts the first and last piece of an answer, by cross-entropy.

  Attributes:
    config: `EncoderConfig`.
    bilstm_width: as `models.QuestionAnswering`.
  """

  config: configs.EncoderConfig
  bilstm_width: int | None = None

  head = heads.QUESTION_ANSWERING

  @property
  def has_standard_head(self):
    """Whether other programs have such a head: none with a BiLSTM."""
    return self.bilstm_width is None

  def build_model(self):
    """Returns a `QuestionAnswering` model with fresh weights."""
    return models.QuestionAnswering(self.config, self.bilstm_width)

  def denominators(self, batch):
    """Returns the number of rows whose answer is known."""
    return {name: ops.sum(w) for name, w in _weights(batch).items()}

  def losses(self, batch, outputs):
    """Returns half the summed cross-entropies of start and end in nats."""
    sums = cross_entropy.losses(_predictions(batch, outputs), _weights(batch))
    return {name: 0.5 * loss for name, loss in sums.items()}

  def metrics(self, batch, outputs):
    """Returns losses, accuracies and padding share."""
    predictions = _predictions(batch, outputs)
    return cross_entropy.metrics(batch, predictions, _weights(batch))

  def describe(self):
    """Returns as `Task`, with the width of the BiLSTM."""
    return {"labels": None, "bilstm_width": self.bilstm_width}


def _weights(batch):
  """Returns 1 for rows whose answer is known, {loss name: float32 [B]}."""
  weights = cross_entropy.row_weights(batch) * batch[rows.ANSWER_WEIGHTS]
  return {"answer_start": weights, "answer_end": weights}


def _predictions(batch, outputs):
  """Returns start and end, each a choice among the positions of a row."""
  # Padding is no choice.
  padding = 1.0 - ops.cast(batch[features.INPUT_MASK], "float32")
  return {
    f"answer_{side}": cross_entropy.Prediction(
      outputs[f"{side}_logits"] - 1e9 * padding, batch[f"{side}_positions"]
    )
    for side in ("start", "end")
  }
