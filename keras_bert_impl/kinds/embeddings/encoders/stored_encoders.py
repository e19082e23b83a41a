"""Opens encoders of any kind of vectors, by what their folders say."""

import os

from keras_bert_impl import files
from keras_bert_impl.kinds.embeddings import sentence_folder
from keras_bert_impl.kinds.embeddings.encoders import (
  multi_vector_encoder,
  sentence_encoder,
  sparse_encoder,
  static_encoder,
)
from keras_bert_impl.model_folders import trained_models
from keras_bert_impl.sentences import folders

CLASSES = {
  one.head: one
  for one in (
    sentence_encoder.SentenceEncoder,
    sparse_encoder.SparseEncoder,
    multi_vector_encoder.MultiVectorEncoder,
    static_encoder.StaticEncoder,
  )
}


def open_encoder(path, dtype=None):
  """Returns the encoder of a folder; of another checkpoint, a dense one.

  Args:
    path: as of `TextEncoder.from_checkpoint`; of a search, its best run.
    dtype: the same.

  Raises:
    As `TextEncoder.from_checkpoint`.
  """
  path = trained_models.find_folder(os.fspath(path))
  for head, name in sentence_folder.NAMES.items():
    if files.is_folder(os.path.join(path, name)):
      return CLASSES[head].from_checkpoint(path, dtype)
  return CLASSES[folders.read(path).head].from_checkpoint(path, dtype)
