"""Raw text to the batch of an encoder, inside the SavedModel.

Axes: B texts, L ids of the longest text of the batch, S stretches of text that
the [MASK] of a batch leave between them.
"""

import tensorflow as tf

from keras_bert_impl import features
from keras_bert_impl.tokenizers import vocabulary


class TextPreprocessor(tf.Module):
  """Turns texts into `[CLS] text [SEP]`, padded to the longest of the batch.

  A text that is too long loses its end. Ragged and string ops of the core are
  used throughout, because TF Serving does not link all of tensorflow-text
  (`RoundRobinTrimmer` is missing from 2.12 to 2.19).

  Args:
    tokenizer: `WordPieceTokenizer`.
    max_seq_length: int >= 3, most ids of a text, [CLS] and [SEP] included.
    reads_masks: bool, True makes the literal [MASK] the mask token, which is a
      word of its own wherever it stands. False leaves it ordinary text, so that
      nobody can pass special tokens off as text.

  Raises:
    ValueError: if max_seq_length leaves no room for text.
  """

  def __init__(self, tokenizer, max_seq_length, reads_masks=False):
    super().__init__(name="preprocessor")
    if max_seq_length < 3:
      raise ValueError(
        f"max_seq_length ({max_seq_length}) must be at least 3: [CLS], one "
        "token and [SEP]."
      )
    self.tokenizer = tokenizer
    self.max_seq_length = max_seq_length
    self.reads_masks = reads_masks

  def __call__(self, text):
    """Returns input_ids, input_mask and segment_ids of texts.

    Args:
      text: string [B], UTF-8; bytes that are not are dropped.

    Returns:
      {name: int32 [B, L]}.
    """
    words = self.tokenizer.vocabulary
    pieces = (
      self._tokenize_around_masks(text)
      if self.reads_masks
      else self.tokenizer.tokenize(text)
    )
    pieces = pieces[:, : self.max_seq_length - 2]  # [B, (pieces)]
    one = tf.ones_like(text, tf.int32)[:, tf.newaxis]  # [B, 1]
    ids = tf.concat([words.cls_id * one, pieces, words.sep_id * one], axis=1)
    input_ids = ids.to_tensor(words.pad_id)  # [B, L]
    return {
      features.INPUT_IDS: input_ids,
      features.INPUT_MASK: tf.sequence_mask(ids.row_lengths(), dtype=tf.int32),
      features.SEGMENT_IDS: tf.zeros_like(input_ids),
    }

  def _tokenize_around_masks(self, text):
    """Returns ragged int32 [B, (pieces)] with the mask id for each [MASK]."""
    stretches = tf.strings.split(text, sep=vocabulary.MASK)  # [B, (stretches)]
    pieces = self.tokenizer.tokenize(stretches.flat_values)  # [S, (pieces)]
    masks = tf.fill(
      [tf.size(stretches.flat_values), 1], self.tokenizer.vocabulary.mask_id
    )
    # A mask before every stretch; the first of a text has none before it.
    pieces = stretches.with_flat_values(tf.concat([masks, pieces], axis=1))
    return pieces.merge_dims(1, 2)[:, 1:]
