"""Signatures of LiteRT and ONNX files, in TensorFlow where they have to be."""

import importlib.util

from etils import epy

from keras_bert_impl.serving.small import file_signatures

with epy.lazy_imports():
  from keras_bert_impl.kinds import file_servables
  from keras_bert_impl.serving.local import saved_models


def load(folder):
  """Returns {name: `signatures.Signature`} of an exported file.

  Raises:
    FileNotFoundError: a file is missing.
    ValueError: what runs it is not installed, or it cannot answer.
  """
  found = file_signatures.load(folder)
  if found is not None:
    return found
  # Some heads need the graph of their SavedModel.
  if importlib.util.find_spec("tensorflow_text") is None:
    raise ValueError(
      "its answers need TensorFlow: pip install tensorflow tensorflow-text"
    )
  return saved_models.of_functions(file_servables.load(folder).signatures)
