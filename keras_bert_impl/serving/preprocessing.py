"""Raw text to the batch of an encoder, inside the SavedModel."""

import tensorflow as tf

from keras_bert_impl import features


class TextPreprocessor(tf.Module):
  """Turns texts into `[CLS] text [SEP]`, padded to the longest of the batch.

  A text that is too long loses its end. Ragged and string ops of the core are
  used throughout, because TF Serving does not link all of tensorflow-text
  (`RoundRobinTrimmer` is missing from 2.12 to 2.19).

  Args:
    tokenizer: any tokenizer of `keras_bert_impl.tokenizers`.
    max_seq_length: int >= 3, most ids of a text, [CLS] and [SEP] included.
    reads_masks: bool, True makes the literal [MASK] (<mask>, or whatever the
      vocabulary calls it) the mask token, which is a word of its own wherever
      it stands. False leaves it ordinary text, so that nobody can pass special
      tokens off as text.

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
      text: string [B], UTF-8; WordPiece and SentencePiece drop bytes that are
        not.

    Returns:
      {name: int32 [B, L]}, L the ids of the longest text of the batch.
    """
    pieces = (
      self.tokenizer.tokenize_around_masks(text)
      if self.reads_masks
      else self.tokenizer.tokenize(text)
    )
    inputs = self.tokenizer.assemble(pieces, max_seq_length=self.max_seq_length)
    names = (features.INPUT_IDS, features.INPUT_MASK, features.SEGMENT_IDS)
    return {name: inputs[name] for name in names}
