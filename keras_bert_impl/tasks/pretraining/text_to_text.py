"""Objectives whose decoder writes a text; one of them, the next sentence."""

from etils import epy

from keras_bert_impl import choices, features
from keras_bert_impl.tasks.basics import pretraining

with epy.lazy_imports():
  import tensorflow as tf

  from keras_bert_impl import models


class TextToTextTask(pretraining.PretrainingTask):
  """An encoder reads a text, and a decoder writes another one. Abstract.

  Each token of the second text is predicted from those before it and from the
  first text.

  Args:
    config: `EncoderConfig` with a decoder.
    data: as `PretrainingTask`; `start_id` begins what the decoder reads, and
      `masking`, if there is one, makes two texts of a record of one.
    options: `options_class`.

  Attributes:
    objective: str, for messages; of the class.

  Raises:
    ValueError: `config` has no decoder.
  """

  objective = None
  has_target = True

  def __init__(self, config, data=None, options=None):
    super().__init__(config, data, options)
    if not config.num_decoder_layers:
      raise ValueError(
        "num_decoder_layers (0) must be at least 1 in the encoder configuration"
        f" for the objective {self.objective}, whose decoder writes a text."
      )

  @property
  def lengths(self):
    """Lengths of the padded rows of both texts, (int, int)."""
    return 2 * (self.data.max_seq_length,)

  def prepare(self, batch, seed):
    """Pads records of two texts, or makes them; see `PretrainingTask`."""
    num_rows = batch[features.INPUT_IDS].shape[0]
    if features.TARGET_IDS not in batch:
      batch = self.data.masking(batch, seed)
    names = (features.INPUT_IDS, features.TARGET_IDS)
    return self._padded(*(batch[x] for x in names), num_rows, self.lengths)

  def hide(self, ids, is_hidden, mask_id):
    """Returns None: texts are written of other texts, not of nothing."""
    return None

  def build_model(self):
    """Returns an `EncoderDecoder` with fresh weights."""
    return models.EncoderDecoder(self.config)

  def _padded(self, read, written, num_rows, lengths):
    """Returns a batch of two texts.

    Args:
      read: RaggedTensor int [B, (n)].
      written: RaggedTensor int [B, (n)].
      num_rows: int, B.
      lengths: as the attribute.
    """
    (ids, mask), (labels, weights) = (
      (
        tf.cast(
          text.to_tensor(self.data.pad_id, shape=[num_rows, size]), tf.int32
        ),
        tf.ensure_shape(
          tf.sequence_mask(text.row_lengths(), size), [num_rows, size]
        ),
      )
      for text, size in zip((read, written), lengths, strict=True)
    )
    start = tf.fill([num_rows, 1], self.data.start_id)
    return {
      features.INPUT_IDS: ids,
      features.INPUT_MASK: tf.cast(mask, tf.int32),
      features.SEGMENT_IDS: tf.zeros_like(ids),
      features.DECODER_IDS: tf.concat([start, labels[:, :-1]], axis=1),
      features.MASKED_LM_IDS: labels,
      features.MASKED_LM_WEIGHTS: tf.cast(weights, tf.float32),
    }


class NextSentenceWordsTask(TextToTextTask):
  """The encoder reads a sentence; the decoder writes the next one.

  Args: as `TextToTextTask`.

  Source: Kiros et al. 2015 (skip-thought vectors), section 2, of which it is
  the half that writes what follows.
  """

  objective = "next_sentence_words"
  token_loss = "next_sentence_words"
  short_names = {"next_sentence_words": "next sentence"}


NEXT_SENTENCE_WORDS = pretraining.Objective(
  NextSentenceWordsTask,
  packing=choices.FOLLOWING_SENTENCES,
  masking_policy=None,
  servables=("encoder", "generation"),
)
