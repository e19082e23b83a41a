"""Cross-entropy losses: those of pre-training and most other tasks."""

import abc
from typing import NamedTuple

from etils import epy

from keras_bert_impl import features
from keras_bert_impl.tasks import base

with epy.lazy_imports():
  from keras import ops


class Prediction(NamedTuple):
  """One classification: float logits [..., C], int labels [...] below C."""

  logits: object
  labels: object


def losses(predictions, weights):
  """Returns {loss name: float32 scalar}, summed cross-entropies in nats.

  Args:
    predictions: {loss name: `Prediction`}.
    weights: {loss name: float32 [...]}, 1 where there is a prediction.
  """
  return {
    name: ops.sum(
      weights[name]
      * ops.sparse_categorical_crossentropy(
        prediction.labels, prediction.logits, from_logits=True
      )
    )
    for name, prediction in predictions.items()
  }


def metrics(batch, predictions, weights):
  """Returns loss and accuracy of each loss, and the padding share.

  Args:
    batch: {column: [B, ...]}.
    predictions: as `losses`.
    weights: as `losses`.

  Returns:
    {metric name: (sum, count)}, float32 scalars.
  """
  result = {"padding_share": padding_share(batch)}
  sums = losses(predictions, weights)
  for name, prediction in predictions.items():
    predicted = ops.cast(ops.argmax(prediction.logits, axis=-1), "int32")
    correct = ops.cast(ops.equal(predicted, prediction.labels), "float32")
    count = ops.sum(weights[name])
    result[f"{name}_loss"] = (sums[name], count)
    result[f"{name}_accuracy"] = (ops.sum(correct * weights[name]), count)
  return result


def of_rows(batch, outputs):
  """Returns the arguments of `losses` for tasks with a class for each row.

  Args:
    batch: {column: [B, ...]}, of `features.LABEL_IDS` int32 [B].
    outputs: {"logits": float32 [B, C]}.

  Returns:
    ({"label": `Prediction`}, {"label": float32 [B]}).
  """
  prediction = Prediction(outputs["logits"], batch[features.LABEL_IDS])
  return {"label": prediction}, {"label": row_weights(batch)}


class CrossEntropyTask(base.Task):
  """Base class of tasks whose loss is a weighted sum of cross-entropies.

  Args:
    config: `EncoderConfig`.

  Attributes:
    loss_weights: {loss name: float}, factors of the losses other than 1.
  """

  loss_weights = {}

  def __init__(self, config):
    self.config = config

  @abc.abstractmethod
  def weights(self, batch):
    """Returns {loss name: float32 [...]}, 1 where there is a prediction.

    Depends on the labels alone, not on the outputs of the model.
    """

  @abc.abstractmethod
  def predictions(self, batch, outputs):
    """Returns {loss name: Prediction} of the shapes of `weights`."""

  def denominators(self, batch):
    """Returns the numbers of predictions."""
    return {name: ops.sum(w) for name, w in self.weights(batch).items()}

  def losses(self, batch, outputs):
    """Returns the summed cross-entropies in nats, times `loss_weights`."""
    sums = losses(self.predictions(batch, outputs), self.weights(batch))
    return {
      name: self.loss_weights.get(name, 1.0) * loss
      for name, loss in sums.items()
    }

  def metrics(self, batch, outputs):
    """Returns loss and accuracy of each loss, and the padding share."""
    predictions = self.predictions(batch, outputs)
    return metrics(batch, predictions, self.weights(batch))


def padding_share(batch):
  """Returns (positions of padding, positions), float32 scalars."""
  mask = ops.cast(batch[features.INPUT_MASK], "float32")
  return ops.sum(1.0 - mask), ops.sum(ops.ones_like(mask))


def row_weights(batch):
  """Returns float32 [B]: 1 for examples, 0 for the padding rows of a batch."""
  mask = batch[features.INPUT_MASK]  # [B, L] or, of choices, [B, choices, L]
  first = mask[:, 0] if len(mask.shape) == 2 else mask[:, 0, 0]
  return ops.cast(first, "float32")
