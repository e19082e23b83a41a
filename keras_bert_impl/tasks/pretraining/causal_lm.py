"""Language models of one direction: left to right, BERT's control, and back."""

from etils import epy

from keras_bert_impl import features
from keras_bert_impl.tasks.basics import cross_entropy, pretraining

with epy.lazy_imports():
  import tensorflow as tf

  from keras_bert_impl.models.pretraining import pretrainer


class LeftToRightTask(pretraining.PretrainingTask):
  """Left-to-right language model: predicts the next token ("LTR & No NSP").

  The model is that of the masked language model with every position but the
  last as a prediction of the token after it; nothing is masked.

  Args:
    config: `EncoderConfig` with a causal mask of the same direction.
    max_seq_length: int, L.
    pad_id: int, of the padding.
    is_packed: as `PretrainingTask`; the first token of a text is predicted from
      no other one.

  Raises:
    ValueError: `config` has no causal mask, or one of another direction.

  Source: Devlin et al. 2019, section 5.1.
  """

  objective = direction = "left_to_right"
  token_loss = "language_model"
  short_names = {"language_model": "LM"}

  def __init__(self, config, max_seq_length, pad_id=0, is_packed=False):
    super().__init__(config, is_packed=is_packed)
    _check(config, self.direction, self.objective)
    self.max_seq_length = max_seq_length
    self.pad_id = pad_id

  @classmethod
  def make(cls, config, data, options):
    """Returns the task for some records; see `PretrainingTask.make`."""
    del options  # It has none.
    return cls(config, data.max_seq_length, data.pad_id, data.is_packed)

  def prepare(self, batch, seed):
    """Pads clean records and makes each token the label of its neighbour."""
    del seed  # Nothing is drawn.
    ragged = tf.cast(batch[features.INPUT_IDS], tf.int32)
    shape = [ragged.shape[0], self.max_seq_length]
    ids = ragged.to_tensor(self.pad_id, shape=shape)  # [B, L]
    mask = tf.sequence_mask(ragged.row_lengths(), self.max_seq_length)
    mask = tf.ensure_shape(tf.cast(mask, tf.int32), shape)
    texts = mask
    if features.SEQUENCE_IDS in batch:
      texts = batch[features.SEQUENCE_IDS].to_tensor(shape=shape)
    # A token and the one before it are of one text; 0 is padding.
    are_neighbours = (texts[:, 1:] == texts[:, :-1]) & (texts[:, 1:] > 0)
    prepared = {
      features.INPUT_IDS: ids,
      features.INPUT_MASK: mask,
      features.SEGMENT_IDS: tf.zeros_like(ids),
      **self._predictions(ids, are_neighbours),
    }
    if self.is_packed:
      prepared[features.SEQUENCE_IDS] = tf.cast(texts, tf.int32)
    return prepared

  def _predictions(self, ids, are_neighbours):
    """Returns the three `masked_lm_` features [B, L - 1].

    Args:
      ids: int32 [B, L].
      are_neighbours: bool [B, L - 1], whether a token and the next are of one
        text.
    """
    places = tf.broadcast_to(tf.range(ids.shape[1]), ids.shape)
    before, after = slice(None, -1), slice(1, None)
    if self.direction == "right_to_left":
      before, after = after, before
    return {
      # 0 for none: those of padding may be cut off the row.
      features.MASKED_LM_POSITIONS: tf.where(
        are_neighbours, places[:, before], 0
      ),
      features.MASKED_LM_IDS: ids[:, after],
      features.MASKED_LM_WEIGHTS: tf.cast(are_neighbours, tf.float32),
    }

  def build_model(self):
    """Returns a `PretrainingModel` with fresh weights."""
    return pretrainer.PretrainingModel(
      self.config, use_sentence_head=False, use_sequence_ids=self.is_packed
    )

  def weights(self, batch):
    """Returns 1 for every token but the first that is read of a text."""
    return {"language_model": batch[features.MASKED_LM_WEIGHTS]}

  def predictions(self, batch, outputs):
    """Returns the neighbours to predict, [B, L - 1]."""
    return {
      "language_model": cross_entropy.Prediction(
        outputs["token_logits"], batch[features.MASKED_LM_IDS]
      )
    }


class RightToLeftTask(LeftToRightTask):
  """Right-to-left language model: predicts the token before.

  Source: the mirror image of `LeftToRightTask`; Peters et al. 2018 (ELMo),
  section 3.1, the backward language model.
  """

  objective = direction = "right_to_left"


def _check(config, direction, objective):
  """Raises ValueError unless an encoder reads in a direction."""
  if not config.use_causal_mask:
    raise ValueError(
      "use_causal_mask (False) must be True in the encoder configuration for "
      f"the objective {objective}: every token would see the one it is to "
      "predict."
    )
  if config.causal_direction != direction:
    raise ValueError(
      f"causal_direction ({config.causal_direction!r}) must be {direction!r} in"
      f" the encoder configuration for the objective {objective}."
    )


# Devlin et al. 2019, section 5.1, "LTR & No NSP". A mask cannot be filled from
# what comes before it, or after it.
LEFT_TO_RIGHT = pretraining.Objective(
  LeftToRightTask,
  packing="doc_sentences",
  masking_policy=None,
  servables=("encoder",),
)
RIGHT_TO_LEFT = pretraining.Objective(
  RightToLeftTask,
  packing="doc_sentences",
  masking_policy=None,
  servables=("encoder",),
)
