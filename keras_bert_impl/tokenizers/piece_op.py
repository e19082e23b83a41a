"""The op of tensorflow-text that runs a SentencePiece model."""

import hashlib

import tensorflow_text as tf_text


def tokenizer(model, out_type):
  """Returns a `tensorflow_text.SentencepieceTokenizer`.

  Several models can be in one SavedModel, or in one process from several: the
  op finds its model by this name.

  Args:
    model: bytes, the file of a model.
    out_type: tf.int32 or tf.string.
  """
  name = f"sentencepiece_{hashlib.sha256(model).hexdigest()}"
  return tf_text.SentencepieceTokenizer(
    model=model, out_type=out_type, name=name
  )
