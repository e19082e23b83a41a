"""The op of tensorflow-text that runs a SentencePiece model."""

import hashlib
import sys

import tensorflow as tf
import tensorflow_text as tf_text

_OPS = sys.modules[
  tf_text.SentencepieceTokenizer.__module__
].gen_sentencepiece_tokenizer


class PieceOp(tf.Module):
  """Cuts texts into the pieces of a SentencePiece model.

  Args:
    model: bytes, the file of a model.
    out_type: tf.int32, the ids of pieces, or tf.string.
  """

  def __init__(self, model, out_type):
    super().__init__(name="piece_op")
    self._model = _Model(model)
    self._out_type = out_type

  def tokenize(self, texts):
    """Returns the pieces, RaggedTensor [B, (pieces)], of texts [B]."""
    pieces, row_splits = _OPS.sentencepiece_tokenize_op(
      self._model.resource_handle,
      texts,
      nbest_size=0,
      alpha=1.0,
      add_bos=False,
      add_eos=False,
      reverse=False,
      out_type=self._out_type,
    )
    return tf.RaggedTensor.from_row_splits(pieces, row_splits, validate=False)


class _Model(tf.saved_model.experimental.TrackableResource):
  """Model that lives as long as the process.

  That of `tf_text.SentencepieceTokenizer` lives as long as TensorFlow keeps the
  op that made it: until the next `keras.utils.set_random_seed`.

  Args:
    model: bytes, the file of a model.
  """

  def __init__(self, model):
    super().__init__()
    self._content = model
    # Asking for it makes it.
    _ = self.resource_handle

  def _create_resource(self):
    # Several models can be in one SavedModel, or in one process from several:
    # ops find theirs by this name.
    name = f"sentencepiece_{hashlib.sha256(self._content).hexdigest()}"
    return _OPS.sentencepiece_op(model=self._content, shared_name=name)
