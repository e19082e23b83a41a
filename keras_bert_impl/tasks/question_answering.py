"""Question answering by spans of a text: SQuAD 1.1, 2.0 and similar data.

`question_answering_rows` makes the rows, `answers` finds the answers, and
`question_answering_scores` scores them and writes the prediction files.

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
  """Question answering: classifies the first and last piece of an answer.

  Attributes:
    config: `EncoderConfig`.
    bilstm_width: as `models.QuestionAnswering`.
  """

  config: configs.EncoderConfig
  bilstm_width: int | None = None

  head = heads.QUESTION_ANSWERING

  @property
  def has_standard_head(self):
    """Whether other libraries can load the head: False with a BiLSTM."""
    return self.bilstm_width is None

  def build_model(self):
    """Returns a `QuestionAnswering` model with fresh weights."""
    return models.QuestionAnswering(self.config, self.bilstm_width)

  def denominators(self, batch):
    """Returns the number of rows whose answer is known."""
    return {name: ops.sum(w) for name, w in _weights(batch).items()}

  def losses(self, batch, outputs):
    """Returns half the summed cross-entropies of start and end, in nats."""
    sums = cross_entropy.losses(_predictions(batch, outputs), _weights(batch))
    return {name: 0.5 * loss for name, loss in sums.items()}

  def metrics(self, batch, outputs):
    """Returns losses, accuracies and the share of padding."""
    predictions = _predictions(batch, outputs)
    return cross_entropy.metrics(batch, predictions, _weights(batch))

  def describe(self):
    """Returns the entries of `Task`, with the width of the BiLSTM."""
    return {"labels": None, "bilstm_width": self.bilstm_width}


def _weights(batch):
  """Returns {loss name: float32 [B]}, 1 for rows whose answer is known."""
  weights = cross_entropy.row_weights(batch) * batch[rows.ANSWER_WEIGHTS]
  return {"answer_start": weights, "answer_end": weights}


def _predictions(batch, outputs):
  """Returns the predictions of start and end, softmax over the positions."""
  # Padding cannot be predicted.
  padding = 1.0 - ops.cast(batch[features.INPUT_MASK], "float32")
  return {
    f"answer_{side}": cross_entropy.Prediction(
      outputs[f"{side}_logits"] - 1e9 * padding, batch[f"{side}_positions"]
    )
    for side in ("start", "end")
  }
