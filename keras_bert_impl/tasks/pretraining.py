"""What the pre-training objectives have in common.

Every objective of the family is a sum of classifications: of masked tokens, of
sentence pairs, of real and replaced tokens. A subclass says which.
"""

import collections

import numpy as np
import tensorflow as tf

from keras_bert_impl import features
from keras_bert_impl.tasks import cross_entropy


class PretrainingTask(cross_entropy.CrossEntropyTask):
  """A weighted sum of classification losses over masked records.

  Args:
    config: `EncoderConfig`.
    masking: `masking.Masking` for clean records; None where every record was
      masked when it was written.

  Attributes:
    token_loss: str, name of the loss whose labels are `masked_lm_ids`; its
      exponential is the perplexity.
  """

  token_loss = "masked_lm"

  def __init__(self, config, masking=None):
    super().__init__(config)
    self.masking = masking

  def prepare(self, batch, seed):
    """Turns a batch of records into a batch of training examples, in tf.data.

    Clean records are masked; those masked at write time stay as they are.

    Args:
      batch: {name: tensor} of B parsed records.
      seed: int32 [2], all that its randomness may depend on.

    Returns:
      {name: tensor} with static shapes [B, ...]; integers as int32.
    """
    if features.MASKED_LM_POSITIONS not in batch:
      batch = self.masking(batch, seed)
    return {
      name: tf.cast(tensor, tf.int32) if tensor.dtype.is_integer else tensor
      for name, tensor in batch.items()
    }


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
