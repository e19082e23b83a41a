"""What the pre-training objectives have in common.

Every objective of the family is a sum of classifications: of masked tokens, of
sentence pairs, of real and replaced tokens. A subclass says which.
"""

import abc
import collections
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from keras import ops

from keras_bert_impl import features
from keras_bert_impl.tasks import base


class Prediction(NamedTuple):
  """One classification: float logits [..., C], int labels [...] below C."""

  logits: object
  labels: object


class PretrainingTask(base.Task):
  """A weighted sum of classification losses over masked records.

  Args:
    config: `EncoderConfig`.
    masking: `masking.Masking` for clean records; None where every record was
      masked when it was written.

  Attributes:
    token_loss: str, name of the loss whose labels are `masked_lm_ids`; its
      exponential is the perplexity.
    loss_weights: {loss name: float}, factors of the losses other than 1.
  """

  token_loss = "masked_lm"
  loss_weights = {}

  def __init__(self, config, masking=None):
    self.config = config
    self.masking = masking

  def prepare(self, batch, seed):
    """Masks clean records; records masked at write time stay as they are."""
    if features.MASKED_LM_POSITIONS not in batch:
      batch = self.masking(batch, seed)
    return {
      name: tf.cast(tensor, tf.int32) if tensor.dtype.is_integer else tensor
      for name, tensor in batch.items()
    }

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
    return {
      name: self.loss_weights.get(name, 1.0) * loss
      for name, loss in self._cross_entropies(batch, outputs).items()
    }

  def metrics(self, batch, outputs):
    """Returns loss and accuracy of each objective, and the padding share."""
    mask = ops.cast(batch[features.INPUT_MASK], "float32")
    result = {
      "padding_share": (ops.sum(1.0 - mask), float(np.prod(mask.shape)))
    }
    losses = self._cross_entropies(batch, outputs)
    weights = self.weights(batch)
    for name, prediction in self.predictions(batch, outputs).items():
      predicted = ops.cast(ops.argmax(prediction.logits, axis=-1), "int32")
      correct = ops.cast(ops.equal(predicted, prediction.labels), "float32")
      count = ops.sum(weights[name])
      result[f"{name}_loss"] = (losses[name], count)
      result[f"{name}_accuracy"] = (
        ops.sum(correct * weights[name]),
        count,
      )
    return result

  def _cross_entropies(self, batch, outputs):
    weights = self.weights(batch)
    return {
      name: ops.sum(
        weights[name]
        * ops.sparse_categorical_crossentropy(
          prediction.labels, prediction.logits, from_logits=True
        )
      )
      for name, prediction in self.predictions(batch, outputs).items()
    }


def row_weights(batch):
  """Returns float32 [B]: 1 for examples, 0 for the padding rows of a batch."""
  return ops.cast(batch[features.INPUT_MASK][:, 0], "float32")


def commonest_label_share(batches):
  """Returns the accuracy of always predicting the most frequent label.

  Args:
    batches: iterable of batches with `masked_lm_ids` and `masked_lm_weights`.

  Returns:
    float in [0, 1]: an upper bound for any predictor that ignores its input.
  """
  counts = collections.Counter()
  for batch in batches:
    labels = np.asarray(batch[features.MASKED_LM_IDS])
    weights = np.asarray(batch[features.MASKED_LM_WEIGHTS])
    ids, numbers = np.unique(labels[weights > 0], return_counts=True)
    counts.update(dict(zip(ids.tolist(), numbers.tolist(), strict=True)))
  total = sum(counts.values())
  return max(counts.values()) / total if total else 0.0
