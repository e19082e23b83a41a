"""Cross-entropy losses: those of pre-training and most other tasks."""

from typing import NamedTuple

from etils import epy

from keras_bert_impl import features

with epy.lazy_imports():
  from keras import ops

  from keras_bert_impl.layers.basics import kernels


class Prediction(NamedTuple):
  """One classification: float logits [..., C], int labels [...] below C."""

  logits: object
  labels: object


def binary(scores, labels):
  """Returns the `Prediction` of a yes or no, whose probability is a sigmoid.

  Args:
    scores: float32 [...], above 0 for yes.
    labels: int [...], 1 for yes and 0 for no.
  """
  # The softmax of (0, score) is the sigmoid.
  logits = ops.stack([ops.zeros_like(scores), scores], axis=-1)
  return Prediction(logits, labels)


def losses(predictions, weights):
  """Returns {loss name: float32 scalar}, summed cross-entropies in nats.

  Args:
    predictions: {loss name: `Prediction`}.
    weights: {loss name: float32 [...]}, 1 where there is a prediction.
  """
  return {
    name: ops.sum(
      weights[name]
      * kernels.cross_entropy(prediction.logits, prediction.labels)
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
    correct = kernels.is_predicted(prediction.logits, prediction.labels)
    correct = ops.cast(correct, "float32")
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


def padding_share(batch):
  """Returns (positions of padding, positions), float32 scalars."""
  mask = ops.cast(batch[features.INPUT_MASK], "float32")
  return ops.sum(1.0 - mask), ops.sum(ops.ones_like(mask))


def row_weights(batch):
  """Returns float32 [B]: 1 for examples, 0 for the padding rows of a batch."""
  mask = batch[features.INPUT_MASK]  # [B, L] or, of choices, [B, choices, L]
  first = mask[:, 0] if len(mask.shape) == 2 else mask[:, 0, 0]
  return ops.cast(first, "float32")
