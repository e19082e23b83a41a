"""XLNet's objective: a language model of permutations of the tokens."""

import dataclasses

from etils import epy

from keras_bert_impl import features, options
from keras_bert_impl.tasks.basics import pretraining

with epy.lazy_imports():
  import numpy as np
  import tensorflow as tf

  from keras_bert_impl.models.pretraining import permutation
  from keras_bert_impl.tasks.masking import masked_tokens

# Every draw names its algorithm: "auto_select" differs between devices.
_CLS_SEGMENT, _PADDING_SEGMENT = 2, 3


@dataclasses.dataclass(frozen=True)
class PermutationOptions:
  """Options of --objective=xlnet."""

  bi_data: bool = options.field(
    False, "Whether XLNet reads every other row backwards."
  )
  mem_len: int = options.field(
    0,
    "Tokens at the beginning of a row that XLNet reads as memory of the others:"
    " without gradient, and nothing is predicted there.",
    interval="[0, 32768]",
  )


class PermutationTask(pretraining.PretrainingTask):
  """Predicts tokens in a random order, each from those before it.

  Of a row, the tokens of `masking` are predicted (partial prediction); all
  others but [SEP] and [CLS] come first in the order and are seen by all. Tokens
  stay as they are. [CLS] moves to the end of the row, as XLNet has it.

  Args:
    config: `EncoderConfig`, as of `models.XLNetEncoder`.
    data: `PretrainingData`, whose `masking` leaves tokens as they are.
    options: `PermutationOptions`.

  Raises:
    ValueError: the configuration is of another encoder, the memory leaves
      nothing of a row, or rows have several lengths.

  Source: Yang et al. 2019, sections 2.2, 2.3 and 3.1; zihangdai/xlnet,
  data_utils.py. Differs from it: the memory is the beginning of the same row,
  not the row of the step before, so that a batch depends on nothing but itself.
  """

  options_class = PermutationOptions
  token_loss = "permutation_lm"
  short_names = {"permutation_lm": "PLM"}

  def __init__(self, config, data=None, options=None):
    super().__init__(config, data, options)
    config.check_positions("transformer_xl", "the objective xlnet")
    mem_len, length = self.options.mem_len, self.data.max_seq_length
    if mem_len >= length:
      raise ValueError(
        f"mem_len ({mem_len}) must be below max_seq_length ({length})."
      )
    if mem_len and self.data.by_length:
      raise ValueError(
        f"mem_len ({mem_len}) needs rows of one length: leave out "
        "bucket_by_length."
      )

  def prepare(self, batch, seed):
    """Chooses what is predicted, and the order; see `PretrainingTask`.

    Raises:
      ValueError: the records were masked when they were written.
    """
    if features.MASKED_LM_POSITIONS in batch:
      raise ValueError(
        "the objective xlnet cannot learn from records that are masked"
        " already: write them with --objective=xlnet and dynamic masking."
      )
    mask_seed, order_seed = masked_tokens.split(seed)
    rows = batch[features.INPUT_IDS]
    rows = tf.concat([rows[:, 1:], rows[:, :1]], axis=1)  # [CLS] at the end
    masked = self.data.masking({features.INPUT_IDS: rows}, mask_seed)
    ids, mask = masked[features.INPUT_IDS], masked[features.INPUT_MASK]
    is_target = self._targets(masked)
    num_rows = ids.shape[0]
    prepared = {features.INPUT_MASK: mask}
    if self.options.bi_data:
      is_reversed = tf.range(num_rows) % 2
      # All but [SEP] and [CLS] at the end.
      lengths = tf.maximum(tf.reduce_sum(mask, axis=1) - 2, 1)
      lengths = tf.where(is_reversed == 1, lengths, 1)
      ids, is_target = (
        tf.reverse_sequence(x, lengths, seq_axis=1) for x in (ids, is_target)
      )
      prepared[features.IS_REVERSED] = is_reversed
    if self.options.mem_len:
      is_target &= tf.range(self.data.max_seq_length) >= self.options.mem_len
    has_pairs = features.NEXT_SENTENCE_LABELS in batch
    return prepared | {
      features.INPUT_IDS: ids,
      features.SEGMENT_IDS: self._segments(ids, mask, has_pairs),
      features.PERMUTATION_ORDER: self._order(ids, mask, is_target, order_seed),
      **self._predictions(ids, is_target),
    }

  def hide(self, ids, is_hidden, mask_id):
    """Returns rows as a batch; see `PretrainingTask`.

    No token sees a hidden one, and each is predicted from all others. The
    memory, where nothing is predicted, would leave out some: None.
    """
    del mask_id
    if self.options.mem_len:
      return None
    ids, is_hidden = (np.roll(x, -1, axis=1) for x in (ids, is_hidden))
    tokens = pretraining.hidden_tokens(ids, is_hidden)
    is_label = tokens[features.MASKED_LM_WEIGHTS] > 0
    positions = np.where(is_label, tokens[features.MASKED_LM_POSITIONS], -1)
    mask = np.ones_like(ids)
    rows = tokens | {
      features.INPUT_IDS: ids,
      features.INPUT_MASK: mask,
      features.SEGMENT_IDS: self._segments(ids, mask, False),
      features.PERMUTATION_ORDER: np.where(is_hidden, 0, -1),
      features.MASKED_LM_POSITIONS: positions,
    }
    if self.options.bi_data:
      rows[features.IS_REVERSED] = np.zeros(len(ids), np.int32)
    return {
      name: tf.constant(x) if x.dtype == np.float32 else tf.cast(x, tf.int32)
      for name, x in rows.items()
    }

  def build_model(self):
    """Returns a `PermutationPretrainingModel` with fresh weights."""
    return permutation.PermutationPretrainingModel(
      self.config, self.options.mem_len, self.options.bi_data
    )

  def _targets(self, masked):
    """Returns bool [B, L], the tokens that `masking` chose."""
    places = tf.where(
      masked[features.MASKED_LM_WEIGHTS] > 0,
      masked[features.MASKED_LM_POSITIONS],
      -1,
    )
    columns = tf.range(self.data.max_seq_length)
    return tf.reduce_any(places[:, :, tf.newaxis] == columns, axis=1)

  def _predictions(self, ids, is_target):
    """Returns the three `masked_lm_` features, with the positions from -1."""
    columns = tf.where(is_target, tf.range(self.data.max_seq_length), -1)
    size = self.data.masking.max_predictions_per_seq
    # The largest first; -1 for none.
    positions = tf.math.top_k(columns, size).values  # [B, P]
    is_prediction = positions >= 0
    labels = tf.gather(ids, tf.maximum(positions, 0), batch_dims=1)
    return {
      features.MASKED_LM_POSITIONS: positions,
      features.MASKED_LM_IDS: tf.where(is_prediction, labels, 0),
      features.MASKED_LM_WEIGHTS: tf.cast(is_prediction, tf.float32),
    }

  def _segments(self, ids, mask, has_pairs):
    """Returns int32 [B, L]: 0 and 1 of the texts, 2 of [CLS], 3 of padding."""
    vocabulary = self.data.masking.vocabulary
    is_sep = tf.cast(ids == vocabulary.sep_id, tf.int32)
    segments = tf.minimum(tf.cumsum(is_sep, axis=1, exclusive=True), 1)
    segments *= int(has_pairs)
    segments = tf.where(ids == vocabulary.cls_id, _CLS_SEGMENT, segments)
    return tf.where(mask > 0, segments, _PADDING_SEGMENT)

  def _order(self, ids, mask, is_target, seed):
    """Returns int32 [B, L]: places in a random order, -1 where all see it."""
    vocabulary = self.data.masking.vocabulary
    is_special = (ids == vocabulary.cls_id) | (ids == vocabulary.sep_id)
    keys = masked_tokens.uniform(ids.shape, seed)
    order = tf.argsort(tf.argsort(keys, axis=1), axis=1)
    return tf.where((is_target | is_special) & (mask > 0), order, -1)


# Yang et al. 2019, section 3.1: K = 6, a sixth of the tokens is predicted.
XLNET = pretraining.Objective(
  PermutationTask,
  packing="full_sentences",
  masking_policy="context",
  masked_lm_prob=1 / 6,
  mask_token_prob=0.0,
  random_token_prob=0.0,
)
