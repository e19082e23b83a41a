"""Reads `tf_model.h5`, TensorFlow models of `transformers` 4.

A file of `save_weights` of Keras 2: a dataset
"bert/tf_bert_model/bert/pooler/dense/kernel:0" is weight "bert/pooler/dense/
kernel:0" of layer "bert" of a `TFBertModel`. Local files only.
"""

import re

import h5py

from keras_bert_impl import files
from keras_bert_impl.checkpoints.formats import (
  stored_tensors,
  transformers_files,
)

NAME = "h5"
FILE_NAME = "tf_model.h5"

_LEAVES = {
  "beta": "bias",
  "embeddings": "weight",
  "gamma": "weight",
  "kernel": "weight",
}
# The type of bfloat16 in HDF5; Keras writes its name beside it.
_TWO_BYTES = "|V2"
# ALBERT's head adds it in TensorFlow, and has no use for its ".bias".
_DECODER_BIAS = ".decoder.bias"


def open_weights(path, declared):
  """Opens the weights of a model; see `transformers_files.open_weights`."""
  return transformers_files.open_weights(read, path, declared)


def read(path):
  """Opens the `StoredTensors` in the file `path`.

  Names are those of the same model in torch, and kernels [out, in] as there.

  Raises:
    ValueError: it is damaged, or its values are not there in order.
  """
  places = {}

  def add(name, item):
    if isinstance(item, h5py.Dataset) and name.count("/") >= 2:
      stored = place(path, name, item)
      if name.endswith("/kernel:0") and len(stored.shape) == 2:
        stored = stored.transposed()
      places.setdefault(torch_name(name), stored)

  visit(path, add)
  for name in [name for name in places if name.endswith(_DECODER_BIAS)]:
    places[name.replace(_DECODER_BIAS, ".bias")] = places.pop(name)
  return stored_tensors.StoredTensors(places)


def visit(path, function, part=None):
  """Calls `function` with the name and object of all in an HDF5 file.

  Args:
    path: str.
    function: callable.
    part: binary file, the HDF5 file if it is only a part of the file at `path`;
      None: the whole file.

  Raises:
    ValueError: it is damaged.
  """
  try:
    with h5py.File(path if part is None else part, "r") as file:
      # Goes along no link, which could lead to other files.
      file.visititems(function)
  except (OSError, RuntimeError, KeyError, TypeError) as error:
    reason = str(error).partition("\n")[0]
    raise ValueError(
      f"{path} is damaged, or not an HDF5 file: {reason}. Copy it again."
    ) from error


def torch_name(name):
  """Returns the name in torch of a dataset of layer, model and weight.

  Source: huggingface/transformers 4.49, modeling_tf_pytorch_utils.py,
  convert_tf_weight_name_to_pt_weight_name.
  """
  _, _, name = name.removesuffix(":0").split("/", 2)
  name = re.sub(r"(^|/)[^/]*___", r"\1", name)
  *modules, leaf = name.replace("_._", "/").split("/")
  return ".".join([*modules, _LEAVES.get(leaf, leaf)])


def place(path, name, dataset, start=0):
  """Returns the `stored_tensors.Place` of a dataset in the file `path`.

  Args:
    path: str.
    name: str, for messages.
    dataset: `h5py.Dataset`.
    start: int, byte of the file at which the HDF5 file begins.

  Raises:
    ValueError: its values are not there in order.
  """
  offset = 0 if dataset.size == 0 else dataset.id.get_offset()
  if offset is None or dataset.external or dataset.is_virtual:
    raise ValueError(
      f"{name} in {path} is compressed, in pieces or in another file: write it"
      " anew with model.save_weights."
    )
  offset += start
  if offset + dataset.size * dataset.dtype.itemsize > files.size(path):
    raise ValueError(f"{path} is cut off in {name}: copy it again.")
  dtype = str(dataset.dtype)
  if dtype == _TWO_BYTES and dataset.attrs.get("dtype") == "bfloat16":
    dtype = "bfloat16"
  return stored_tensors.Place(path, dtype, offset, dataset.shape)
