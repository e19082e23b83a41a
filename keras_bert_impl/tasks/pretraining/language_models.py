"""Language models: left to right, BERT's control; back; and both, as ELMo."""

import dataclasses

from etils import epy

from keras_bert_impl import choices, features, options
from keras_bert_impl.tasks.basics import cross_entropy, pretraining

with epy.lazy_imports():
  import numpy as np
  import tensorflow as tf
  from keras import ops

  from keras_bert_impl.models.pretraining import bidirectional_lm, pretrainer


@dataclasses.dataclass(frozen=True)
class BidirectionalPairOptions:
  """Options of --objective=bidirectional_pair."""

  share_pair_embeddings: bool = options.field(
    False,
    "Whether both encoders of bidirectional_pair learn one layer of"
    " embeddings; after pre-training each has its own.",
  )


class LeftToRightTask(pretraining.PretrainingTask):
  """Left-to-right language model: predicts the next token ("LTR & No NSP").

  The model is that of the masked language model with every position but the
  last as a prediction of the token after it; nothing is masked.

  Args:
    config: `EncoderConfig` with a causal mask of the same direction.
    data: as `PretrainingTask`; of packed rows, the first token of a text is
      predicted from no other one.

  Raises:
    ValueError: `config` has no causal mask, or one of another direction.

  Source: Devlin et al. 2019, section 5.1.
  """

  objective = direction = "left_to_right"
  can_pack = True
  token_loss = "language_model"
  short_names = {"language_model": "LM"}
  predicts = "next_token"

  def __init__(self, config, data=None, options=None):
    super().__init__(config, data, options)
    config.check_direction(
      self.direction,
      f"in the encoder configuration for the objective {self.objective}: no"
      " token is to see the one that it predicts",
    )

  def prepare(self, batch, seed):
    """Pads clean records and makes each token the label of its neighbour."""
    ragged = tf.cast(batch[features.INPUT_IDS], tf.int32)
    shape = [ragged.shape[0], self.data.max_seq_length]
    ids = ragged.to_tensor(self.data.pad_id, shape=shape)  # [B, L]
    mask = tf.sequence_mask(ragged.row_lengths(), self.data.max_seq_length)
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
    if self.data.is_packed:
      prepared[features.SEQUENCE_IDS] = tf.cast(texts, tf.int32)
    return prepared

  def hide(self, ids, is_hidden, mask_id):
    """Returns rows as a batch; see `PretrainingTask`. Nothing is masked."""
    del mask_id
    rows = {features.INPUT_IDS: tf.RaggedTensor.from_tensor(ids)}
    is_back = self.direction == "right_to_left"
    labels = is_hidden[:, :-1] if is_back else is_hidden[:, 1:]
    weights = tf.constant(labels, tf.float32)
    return self.prepare(rows, None) | {features.MASKED_LM_WEIGHTS: weights}

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
      self.config,
      use_sentence_head=False,
      use_sequence_ids=self.data.is_packed,
    )


class DocumentsTask(LeftToRightTask):
  """Left-to-right language model of documents that follow each other: GPT-2's.

  Args: as `LeftToRightTask`.

  Source: Radford et al. 2019, section 2.
  """

  objective = "gpt"

  def hide(self, ids, is_hidden, mask_id):
    """Returns rows as a batch; see `PretrainingTask`.

    Each begins with the end of the document before, in place of [CLS].
    """
    ids = np.concatenate([ids[:, -1:], ids[:, 1:]], axis=1)
    return super().hide(ids, is_hidden, mask_id)


class RightToLeftTask(LeftToRightTask):
  """Right-to-left language model: predicts the token before.

  Source: the mirror image of `LeftToRightTask`; Peters et al. 2018 (ELMo),
  section 3.1, the backward language model.
  """

  objective = direction = "right_to_left"
  predicts = "previous_token"


class BidirectionalPairTask(LeftToRightTask):
  """A left-to-right and a right-to-left language model.

  The loss is the sum of both: of the next token, from those before it, and of
  the previous token, from those after it.

  Args:
    config: `EncoderConfig` of either encoder, which `is_pair`.
    data: as `LeftToRightTask`.
    options: `BidirectionalPairOptions`.

  Raises:
    ValueError: as `LeftToRightTask`.

  Source: Devlin et al. 2019, section 5.1; Peters et al. 2018 (ELMo), section
  3.1, for the sum.
  """

  objective = "bidirectional_pair"
  direction = "both"
  options_class = BidirectionalPairOptions
  short_names = {
    "language_model": "LM",
    "backward_language_model": "backward LM",
  }

  def build_model(self):
    """Returns a `BidirectionalLanguageModel` with fresh weights."""
    return bidirectional_lm.BidirectionalLanguageModel(
      self.config,
      use_sequence_ids=self.data.is_packed,
      shares_embeddings=self.options.share_pair_embeddings,
    )

  def weights(self, batch):
    """Returns 1 where a token has a neighbour to predict, [B, L] both."""
    length = ops.shape(batch[features.INPUT_IDS])[1]
    # Weights of a token and the next one, for rows with less padding or none.
    weights = batch[features.MASKED_LM_WEIGHTS]
    return {
      name: ops.pad(weights, [[0, 0], [place, length]])[:, :length]
      for place, name in enumerate(self.short_names)
    }

  def predictions(self, batch, outputs):
    """Returns the next and the previous tokens, [B, L]."""
    ids = batch[features.INPUT_IDS]
    return {
      "language_model": cross_entropy.Prediction(
        outputs["token_logits"], ops.roll(ids, -1, axis=1)
      ),
      "backward_language_model": cross_entropy.Prediction(
        outputs["backward_token_logits"], ops.roll(ids, 1, axis=1)
      ),
    }


class ElmoTask(BidirectionalPairTask):
  """Predicts the next and the previous token, by LSTMs and one softmax.

  Args:
    config: `EncoderConfig`, as of `models.ElmoEncoder`.
    data: as `PretrainingTask`.

  Raises:
    ValueError: the configuration is of another encoder.

  Source: Peters et al. 2018, section 3.1. Differs from it: the state begins
  anew in each row.
  """

  can_pack = False
  objective = "elmo"
  options_class = None

  def __init__(self, config, data=None, options=None):
    config.check_positions("recurrent", "the objective elmo")
    super().__init__(config, data, options)

  def build_model(self):
    """Returns an `ElmoLanguageModel` with fresh weights."""
    return bidirectional_lm.ElmoLanguageModel(self.config)


# Devlin et al. 2019, section 5.1, "LTR & No NSP". A mask cannot be filled from
# what comes before it, or after it.
LEFT_TO_RIGHT = pretraining.Objective(
  LeftToRightTask,
  packing="doc_sentences",
  masking_policy=None,
  servables=("encoder",),
)
# Radford et al. 2019: rows cut of all text, and a generator.
GPT = pretraining.Objective(
  DocumentsTask,
  packing=choices.DOCUMENTS,
  masking_policy=None,
  servables=("encoder", "generation"),
)
RIGHT_TO_LEFT = dataclasses.replace(LEFT_TO_RIGHT, task=RightToLeftTask)
BIDIRECTIONAL_PAIR = dataclasses.replace(
  LEFT_TO_RIGHT, task=BidirectionalPairTask
)
ELMO = dataclasses.replace(LEFT_TO_RIGHT, task=ElmoTask)
