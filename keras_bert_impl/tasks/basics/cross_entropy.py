"""Cross-entropy losses: those of pre-training and most other tasks."""

import abc
from typing import NamedTuple

from etils import epy

from keras_bert_impl import features
from keras_bert_impl.tasks.basics import task

with epy.lazy_imports():
  from keras import ops

  from keras_bert_impl.layers.basics import kernels


class Prediction(NamedTuple):
  """One classification: float logits [..., C], int labels [...] below C."""

  logits: object
  labels: object


class ClassifyingTask(task.Task):
  """A task whose loss is a weighted sum of classifications.

  Attributes:
    loss_weights: {loss name: float}, factors of the losses other than 1.
    label_smoothing: float in [0, 1), as `kernels.cross_entropy`.
  """

  loss_weights = {}
  label_smoothing = 0.0

  @abc.abstractmethod
  def weights(self, batch):
    """Returns {loss name: float32 [...]}, 1 where there is a prediction.

    Depends on the labels alone, not on the outputs of the model.
    """

  @abc.abstractmethod
  def predictions(self, batch, outputs):
    """Returns {loss name: `Prediction`} of the shapes of `weights`."""

  def denominators(self, batch):
    """Returns the numbers of predictions."""
    return {name: ops.sum(w) for name, w in self.weights(batch).items()}

  def losses(self, batch, outputs):
    """Returns the summed cross-entropies in nats, times `loss_weights`."""
    weights = self._sampled_weights(batch)
    return {
      name: self.loss_weights.get(name, 1.0)
      * _loss(prediction, weights[name], self.label_smoothing)
      for name, prediction in self.predictions(batch, outputs).items()
    }

  def soft_losses(self, batch, outputs, taught, temperature):
    """Returns the summed divergences from what a teacher predicts."""
    weights = self._sampled_weights(batch)
    taught = self.predictions(batch, taught)
    return {
      name: self.loss_weights.get(name, 1.0)
      * ops.sum(
        weights[name]
        * kernels.divergence(
          taught[name].logits, prediction.logits, temperature
        )
      )
      for name, prediction in self.predictions(batch, outputs).items()
    }

  def _sampled_weights(self, batch):
    """Returns the `weights`, times those of the samples."""
    return {
      name: sampled(batch, weights)
      for name, weights in self.weights(batch).items()
    }

  def metrics(self, batch, outputs):
    """Returns loss and accuracy of each loss, and the padding share.

    Their losses are multiplied neither by `loss_weights` nor by the weights of
    samples, and their labels are not smoothed.
    """
    result = {"padding_share": padding_share(batch)}
    weights = self.weights(batch)
    for name, prediction in self.predictions(batch, outputs).items():
      correct = ops.cast(kernels.is_predicted(*prediction), "float32")
      count = ops.sum(weights[name])
      result[f"{name}_loss"] = (_loss(prediction, weights[name]), count)
      result[f"{name}_accuracy"] = (ops.sum(correct * weights[name]), count)
    return result


class RowClassifyingTask(ClassifyingTask):
  """A task with a class for each row: labels int32 [B], "logits" [B, C]."""

  taught_outputs = ("logits",)

  def weights(self, batch):
    """Returns 1 for examples, 0 for the padding rows of a batch."""
    return {"label": row_weights(batch)}

  def predictions(self, batch, outputs):
    """Returns the classes of the rows."""
    return {"label": Prediction(outputs["logits"], batch[features.LABEL_IDS])}


def binary(scores, labels):
  """Returns the `Prediction` of a yes or no, whose probability is a sigmoid.

  Args:
    scores: float32 [...], above 0 for yes.
    labels: int [...], 1 for yes and 0 for no.
  """
  # The softmax of (0, score) is the sigmoid.
  logits = ops.stack([ops.zeros_like(scores), scores], axis=-1)
  return Prediction(logits, labels)


def _loss(prediction, weights, smoothing=0.0):
  """Returns the summed cross-entropy in nats, float32 scalar."""
  return ops.sum(weights * kernels.cross_entropy(*prediction, smoothing))


def padding_share(batch):
  """Returns (positions of padding, positions), float32 scalars."""
  mask = ops.cast(batch[features.INPUT_MASK], "float32")
  return ops.sum(1.0 - mask), ops.sum(ops.ones_like(mask))


def loss_metrics(task, batch, outputs):
  """Returns {metric: (sum, count)} of each loss of a task, `NAME_loss`."""
  denominators = task.denominators(batch)
  return {
    f"{name}_loss": (loss, denominators[name])
    for name, loss in task.losses(batch, outputs).items()
  }


def sampled(batch, weights):
  """Returns weights [B, ...] times those of the samples, if a batch has any.

  As in `keras.Model.fit`, the numbers that losses are divided by stay: the sum
  over an epoch is that of the weighted losses, however it is cut into batches.
  """
  samples = batch.get(features.SAMPLE_WEIGHTS)  # [B]
  if samples is None:
    return weights
  return weights * ops.reshape(samples, (-1,) + (1,) * (weights.ndim - 1))


def row_weights(batch):
  """Returns float32 [B]: 1 for examples, 0 for the padding rows of a batch."""
  mask = batch[features.INPUT_MASK]  # [B, L] or, of choices, [B, choices, L]
  # Not the first place: XLNet's rows have their padding there.
  return ops.cast(ops.max(mask, axis=range(1, len(mask.shape))), "float32")
