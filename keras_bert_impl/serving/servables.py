"""What a SavedModel of this project answers: encoder and fill-mask.

A servable tracks the variables of its model one by one and keeps the Keras
model itself in a closure. That alone loads everywhere: a tracked Keras 3 model
loads in `tf.saved_model.load` but not in TF Serving ("Could not find
variable"), and `model.export()` stores every weight twice.

Axes: B texts, L ids of the longest text of the batch, H hidden size, M most
masks of a text in the batch, K candidates per mask, V vocabulary.
"""

import tensorflow as tf

from keras_bert_impl import features

_TEXT = tf.TensorSpec([None], tf.string, "text")
_TOKEN_IDS = [
  tf.TensorSpec([None, None], tf.int32, name)
  for name in (features.INPUT_IDS, features.INPUT_MASK, features.SEGMENT_IDS)
]


class Servable(tf.Module):
  """A model with its weights and its preprocessor, ready to be saved.

  Args:
    model: `keras.Model` made outside of any distribution strategy.
    preprocessor: `TextPreprocessor`.
  """

  def __init__(self, model, preprocessor):
    super().__init__(name="servable")
    self.preprocessor = preprocessor
    self.model_weights = [variable.value for variable in model.weights]
    # A function, because an attribute that is a model would be tracked.
    self.run_model = lambda inputs: model(inputs, training=False)


class EncoderServable(Servable):
  """The encoder: raw text or ids to vectors."""

  @tf.function(input_signature=[_TEXT])
  def encode_text(self, text):
    """Encodes texts.

    Args:
      text: string [B], UTF-8.

    Returns:
      sequence_output float32 [B, L, H], pooled_output float32 [B, H] (absent
      from an encoder without a pooler) and input_mask int32 [B, L]: 1 for a
      token, 0 for the padding of a shorter text.
    """
    inputs = self.preprocessor(text)
    return {
      features.INPUT_MASK: inputs[features.INPUT_MASK],
      **self.run_model(inputs),
    }

  @tf.function(input_signature=_TOKEN_IDS)
  def encode_ids(self, input_ids, input_mask, segment_ids):
    """Encodes what a client has tokenized itself.

    Args:
      input_ids: int32 [B, L].
      input_mask: int32 [B, L], 1 for a token, 0 for padding.
      segment_ids: int32 [B, L].

    Returns:
      sequence_output float32 [B, L, H] and pooled_output float32 [B, H].
    """
    return self.run_model(
      {
        features.INPUT_IDS: input_ids,
        features.INPUT_MASK: input_mask,
        features.SEGMENT_IDS: segment_ids,
      }
    )


class FillMaskServable(Servable):
  """The masked language model: text with [MASK] to the likeliest tokens.

  Args:
    model: `PretrainingModel`.
    preprocessor: `TextPreprocessor` that reads masks.
    top_k: int, K.
  """

  def __init__(self, model, preprocessor, top_k):
    super().__init__(model, preprocessor)
    self.top_k = top_k

  @tf.function(input_signature=[_TEXT])
  def fill_masks(self, text):
    """Returns the likeliest tokens for every [MASK] of every text.

    Args:
      text: string [B], UTF-8, with any number of [MASK], or whatever the
        vocabulary calls it.

    Returns:
      num_masks int32 [B]: the masks of the text that were answered. A mask
        beyond the max_seq_length of the model has been cut off with the text
        around it and does not count.
      tokens string [B, M, K]: the masks in the order of the text, the likeliest
        token first, as the tokenizer's `token_texts` shows it: "cat" or "##s"
        of WordPiece, " cat" or "s" of the other kinds. Wherever a text has
        fewer masks than M: "".
      scores float32 [B, M, K]: their probabilities among the whole vocabulary;
        0 where tokens is "".
    """
    tokenizer = self.preprocessor.tokenizer
    inputs = self.preprocessor(text)
    positions, num_masks = _find(
      inputs[features.INPUT_IDS], tokenizer.vocabulary.mask_id
    )
    inputs[features.MASKED_LM_POSITIONS] = positions
    logits = self.run_model(inputs)["masked_lm_logits"]  # [B, M, V]
    scores, ids = tf.math.top_k(tf.nn.softmax(logits), self.top_k)  # [B, M, K]
    token_texts = tf.constant(tokenizer.token_texts, tf.string)  # [V]
    is_mask = tf.sequence_mask(num_masks)[:, :, tf.newaxis]  # [B, M, 1]
    return {
      "num_masks": num_masks,
      "tokens": tf.where(is_mask, tf.gather(token_texts, ids), ""),
      "scores": tf.where(is_mask, scores, 0.0),
    }


def _find(ids, wanted):
  """Returns where `wanted` stands in each row of `ids`.

  Args:
    ids: int32 [B, L].
    wanted: int.

  Returns:
    positions int32 [B, M], ascending, padded with 0, and counts int32 [B].
  """
  found = tf.where(tf.equal(ids, wanted))  # [masks of the batch, 2]
  rows = tf.RaggedTensor.from_value_rowids(
    tf.cast(found[:, 1], tf.int32),
    found[:, 0],
    nrows=tf.shape(ids, tf.int64)[0],
  )
  return rows.to_tensor(), tf.cast(rows.row_lengths(), tf.int32)
