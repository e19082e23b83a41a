"""Base classes of the pre-training objectives.

Every objective of the family is a sum of classifications: of masked tokens, of
sentence pairs, of real and replaced tokens. The file of an objective holds its
task and, as an `Objective`, its choice of data, options and exports.

Keras and TensorFlow are imported when a task is made; see `objectives`.
"""

import collections
import dataclasses

from etils import epy

from keras_bert_impl import choices, features
from keras_bert_impl.tasks.basics import cross_entropy

with epy.lazy_imports():
  import numpy as np
  import tensorflow as tf


@dataclasses.dataclass(frozen=True)
class PretrainingData:
  """Properties of the records that a pre-training task needs.

  Attributes:
    max_seq_length: int, L.
    masking: `masking.Masking` for clean records; None where nothing is masked,
      or every record was masked when it was written.
    sentence_loss: str, what the labels of sentence pairs tell, one of
      `choices.PAIR_PACKINGS`; None without pairs.
    pad_id: int, of the padding.
    is_packed: bool, whether rows hold several texts, told by `sequence_ids`.
    by_length: bool, whether batches are cut to the longest of their rows.
    start_id: int, with which a decoder begins each text.
  """

  max_seq_length: int = 512
  masking: object = None
  sentence_loss: str | None = None
  pad_id: int = 0
  is_packed: bool = False
  by_length: bool = False
  start_id: int = 0


class PretrainingTask(cross_entropy.ClassifyingTask):
  """A weighted sum of classification losses over masked records.

  Args:
    config: `EncoderConfig`.
    data: `PretrainingData`; None: clean records without pairs.
    options: `options_class`, or None for its defaults.

  Attributes:
    can_pack: bool, whether it learns from rows of several texts.
    has_target: bool, whether it learns from records of two texts.
    options_class: dataclass of the settings that the task alone has, or None;
      the scripts make flags of its fields.
    token_loss: str, name of the loss whose labels are `masked_lm_ids`; its
      exponential is the perplexity. None without one.
    short_names: {loss name: str}, for tables and pictures.
    predicts: str, the tokens of a text that its model predicts: "masked_token",
      "next_token" or "previous_token".
    predicted_by: str, which of its models does so; "" for the only one.

  Raises:
    ValueError: configuration, data and options do not fit together.
  """

  can_pack = False
  has_target = False
  options_class = None
  token_loss = "masked_lm"
  short_names = {"masked_lm": "MLM"}
  predicts = "masked_token"
  predicted_by = ""

  def __init__(self, config, data=None, options=None):
    data = data or PretrainingData()
    if data.is_packed and not self.can_pack:
      raise ValueError(
        f"{type(self).__name__} cannot learn from rows of several texts: write"
        " records without --pack_sequences."
      )
    self.config = config
    self.data = data
    self.options = options or (self.options_class and self.options_class())

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
      batch = self.data.masking(batch, seed)
    if self.data.is_packed:
      # A record that is not packed is a row of one text.
      batch = {features.SEQUENCE_IDS: batch[features.INPUT_MASK], **batch}
    return {
      name: tf.cast(tensor, tf.int32) if tensor.dtype.is_integer else tensor
      for name, tensor in batch.items()
    }

  def hide(self, ids, is_hidden, mask_id):
    """Returns rows as a batch in which the model predicts certain tokens.

    Args:
      ids: int32 array [B, L], full rows of one text, [CLS] A [SEP].
      is_hidden: bool array [B, L], what to predict, from all other tokens; of
        language models, all tokens of the text.
      mask_id: int, of [MASK], which all of them become; None for those that
        mask nothing.

    Returns:
      {name: tensor}, as `prepare`, with the tokens in their order; or None if
      the model cannot predict them.
    """
    rows = {
      features.INPUT_IDS: np.where(is_hidden, mask_id, ids),
      features.INPUT_MASK: np.ones_like(ids),
      features.SEGMENT_IDS: np.zeros_like(ids),
      **hidden_tokens(ids, is_hidden),
    }
    return self.prepare({k: tf.constant(x) for k, x in rows.items()}, None)

  def weights(self, batch):
    """Returns 1 for the tokens to predict."""
    return {self.token_loss: batch[features.MASKED_LM_WEIGHTS]}

  def predictions(self, batch, outputs):
    """Returns the tokens to predict, [B, P]."""
    return {
      self.token_loss: cross_entropy.Prediction(
        outputs["token_logits"], batch[features.MASKED_LM_IDS]
      )
    }

  def guesses(self, evaluation):
    """Returns {loss name: str}, accuracies of answers that ignore the input.

    Args:
      evaluation: {metric: float}, with `<token_loss>_baseline_accuracy`.
    """
    share = evaluation[f"{self.token_loss}_baseline_accuracy"]
    return {self.token_loss: f"{share:.1%} (commonest token)"}


@dataclasses.dataclass(frozen=True)
class Objective:
  """A pre-training objective: its task, and what its paper chose around it.

  Attributes:
    task: subclass of `PretrainingTask`.
    packing: str, how text becomes instances, one of `choices.PACKINGS`.
    masking_policy: str, one of `choices.MASKING_POLICIES` or, where a decoder
      writes what is hidden, of `choices.NOISES`; None where nothing is masked.
    masked_lm_prob: float, share of the tokens to predict.
    max_predictions_per_seq: int, most tokens to predict in a row; the default
      of a flag, for rows of 128 tokens.
    mask_token_prob: float, share of the predictions that become [MASK].
    random_token_prob: float, share that becomes a random token.
    needs_pairs: bool, whether records without sentence pairs are an error;
      else the loss of the pairs is left out.
    servables: tuple of str, the heads that are exported after training.
  """

  task: type
  packing: str
  masking_policy: str | None
  masked_lm_prob: float = 0.15
  max_predictions_per_seq: int = 20
  mask_token_prob: float = 0.8
  random_token_prob: float = 0.1
  needs_pairs: bool = False
  servables: tuple[str, ...] = ("encoder", "fill_mask")

  @property
  def sentence_loss(self):
    """Name of the loss of sentence pairs, None where none is learned."""
    return self.packing if self.packing in choices.PAIR_PACKINGS else None

  @property
  def options(self):
    """Class of the task's options, or None."""
    return self.task.options_class


def hidden_tokens(ids, is_hidden):
  """Returns the three `masked_lm_` features [B, P] of certain tokens.

  Args:
    ids: int32 array [B, L].
    is_hidden: bool array [B, L]; P is the most of them in a row.
  """
  numbers = is_hidden.sum(axis=1, keepdims=True)  # [B, 1]
  is_label = np.arange(numbers.max()) < numbers  # [B, P]
  first = np.argsort(~is_hidden, axis=1, kind="stable")
  positions = np.where(is_label, first[:, : is_label.shape[1]], 0)
  labels = np.take_along_axis(ids, positions, axis=1)
  return {
    features.MASKED_LM_POSITIONS: positions,
    features.MASKED_LM_IDS: np.where(is_label, labels, 0),
    features.MASKED_LM_WEIGHTS: is_label.astype(np.float32),
  }


def commonest_label_share(batches):
  """Returns the accuracy of always predicting the most frequent label.

  Args:
    batches: iterable of batches with `masked_lm_ids` and `masked_lm_weights`.

  Returns:
    (float in [0, 1], int): an upper bound for any predictor that ignores its
    input, and the number of labels.
  """
  counts = collections.Counter()
  for batch in batches:
    labels = np.asarray(batch[features.MASKED_LM_IDS])
    weights = np.asarray(batch[features.MASKED_LM_WEIGHTS])
    ids, numbers = np.unique(labels[weights > 0], return_counts=True)
    counts.update(dict(zip(ids.tolist(), numbers.tolist(), strict=True)))
  total = sum(counts.values())
  return (max(counts.values()) / total if total else 0.0), total
