"""Masked language model with or without next sentence prediction."""

import collections

import numpy as np
import tensorflow as tf
from keras import ops

from keras_bert_impl import features
from keras_bert_impl.models import pretrainer
from keras_bert_impl.tasks import base


class PretrainingTask(base.Task):
  """BERT's two objectives: masked tokens and next sentence.

  Args:
    config: `EncoderConfig`.
    masking: `masking.Masking` for clean records; None where every record was
      masked when it was written.
    use_next_sentence: bool, False trains the masked language model alone (the
      paper's "No NSP" ablation).

  Source: Devlin et al. 2019, section 3.1; google-research/bert,
  run_pretraining.py.
  """

  def __init__(self, config, masking=None, use_next_sentence=True):
    self.config = config
    self.masking = masking
    self.use_next_sentence = use_next_sentence

  def prepare(self, batch, seed):
    """Masks clean records; records masked at write time stay as they are."""
    if features.MASKED_LM_POSITIONS not in batch:
      batch = self.masking(batch, seed)
    return {
      name: tf.cast(tensor, tf.int32) if tensor.dtype.is_integer else tensor
      for name, tensor in batch.items()
    }

  def build_model(self):
    """Returns a `PretrainingModel` with fresh weights."""
    return pretrainer.PretrainingModel(
      self.config, use_next_sentence=self.use_next_sentence
    )

  def denominators(self, batch):
    """Returns the numbers of masked tokens and of (real) sentence pairs."""
    result = {"masked_lm": ops.sum(batch[features.MASKED_LM_WEIGHTS])}
    if self.use_next_sentence:
      result["next_sentence"] = ops.sum(_row_weights(batch))
    return result

  def losses(self, batch, outputs):
    """Returns the summed cross-entropies in nats."""
    return {
      name: ops.sum(
        weights
        * ops.sparse_categorical_crossentropy(labels, logits, from_logits=True)
      )
      for name, logits, labels, weights in self._predictions(batch, outputs)
    }

  def metrics(self, batch, outputs):
    """Returns loss and accuracy of each objective, and the padding share."""
    mask = ops.cast(batch[features.INPUT_MASK], "float32")
    result = {
      "padding_share": (ops.sum(1.0 - mask), float(np.prod(mask.shape)))
    }
    losses = self.losses(batch, outputs)
    for name, logits, labels, weights in self._predictions(batch, outputs):
      predicted = ops.cast(ops.argmax(logits, axis=-1), "int32")
      correct = ops.cast(ops.equal(predicted, labels), "float32")
      count = ops.sum(weights)
      result[f"{name}_loss"] = (losses[name], count)
      result[f"{name}_accuracy"] = (ops.sum(correct * weights), count)
    return result

  def _predictions(self, batch, outputs):
    """Yields (name, logits [..., C], labels [...], weights [...])."""
    yield (
      "masked_lm",
      outputs["masked_lm_logits"],
      batch[features.MASKED_LM_IDS],
      batch[features.MASKED_LM_WEIGHTS],
    )
    if self.use_next_sentence:
      yield (
        "next_sentence",
        outputs["next_sentence_logits"],
        ops.reshape(batch[features.NEXT_SENTENCE_LABELS], (-1,)),
        _row_weights(batch),
      )


def _row_weights(batch):
  """Returns float32 [B]: 1 for examples, 0 for the padding rows of a batch."""
  return ops.cast(batch[features.INPUT_MASK][:, 0], "float32")


def masked_lm_baseline(batches):
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
