"""Reads models that Keras saved, `.keras`.

The file is a zip file of the configuration and an HDF5 file of the weights.
Neither is compressed, so that each weight is read on demand. Local files only.
"""

import dataclasses
import json
import pathlib
import tempfile
import zipfile

import h5py
import keras
import numpy as np

from keras_bert_impl import configs, given_arrays, heads
from keras_bert_impl.checkpoints.descriptions import description
from keras_bert_impl.checkpoints.formats import (
  h5_format,
  stored_tensors,
  zip_entries,
)
from keras_bert_impl.checkpoints.naming import names
from keras_bert_impl.layers.basics import layer

NAME = "keras"

_CONFIG = "config.json"
_WEIGHTS = "model.weights.h5"
# {class of a model: its head}, where the weights may not show it.
_NOT_SHOWN = {
  "MaskedLanguageModel": heads.FILL_MASK,
  "MultipleChoice": heads.MULTIPLE_CHOICE,
}
_MOST_BYTES = 2**25  # of the zip file's directory, and of the configuration


def open_weights(path, declared):
  """Opens the weights of a `.keras` file.

  Args:
    path: str.
    declared: `description.Description` of the files beside it, or None.

  Returns:
    (mapping of names -> arrays, with `shapes`; `Description`).

  Raises:
    ValueError: it is damaged, quantized, or no model of this library.
  """
  try:
    model, places = _open(path)
  except (
    AttributeError,
    ImportError,  # Layers of another backend, which is not installed.
    KeyError,
    TypeError,
    *zip_entries.FAULTS,
  ) as error:
    reason = str(error).strip().partition("\n")[0]
    raise ValueError(
      f"{path} is damaged, or not a model of this library: {reason}"
    ) from error
  _check(model, path)
  declared = declared or description.Description(model.config)
  head = _NOT_SHOWN.get(type(model).__name__, declared.head)
  declared = dataclasses.replace(declared, config=model.config, head=head)
  return names.completed(stored_tensors.StoredTensors(places)), declared


def _open(path):
  """Returns the model, its weights not read, and {name of weight: `Place`}."""
  with (
    zip_entries.GuardedFile(path, _MOST_BYTES) as file,
    zipfile.ZipFile(file) as archive,
  ):
    entries = zip_entries.entries(archive)
    config = json.loads(zip_entries.content(archive, entries[_CONFIG]))
    # Without its optimizer, whose variables are no weights.
    config.pop("compile_config", None)
    with given_arrays.awaited():
      model = keras.saving.deserialize_keras_object(config)
    weights = _weight_names(model)
    start = zip_entries.offset(archive, entries[_WEIGHTS])
    places = {}

    def add(name, item):
      if name in weights:
        places[weights[name]] = h5_format.place(path, name, item, start)

    size = entries[_WEIGHTS].file_size
    h5_format.visit(path, add, zip_entries.Window(file, start, size))
  return model, places


def _check(model, path):
  if not isinstance(getattr(model, "config", None), configs.EncoderConfig):
    raise ValueError(f"{path} holds no model of this library.")
  if any(inner.quantization_mode for inner in layer.inner_layers(model)):
    raise ValueError(
      f"{path} is quantized: its weights are no longer those of the "
      "architecture. Give the model that it was made from."
    )


def _weight_names(model):
  """Returns {name in Keras' HDF5 file: name of the weight}.

  Keras itself tells them: it saves the model once more, with the path of each
  weight in place of its values.
  """
  for inner in layer.inner_layers(model):
    inner.save_own_variables = _saving_names(inner.save_own_variables)
  found = {}

  def add(name, item):
    if isinstance(item, h5py.Dataset):
      found[name] = bytes(item[()]).decode()

  with tempfile.TemporaryDirectory() as folder:
    path = str(pathlib.Path(folder, _WEIGHTS))
    model.save_weights(path)
    h5_format.visit(path, add)
  return found


def _saving_names(save):
  """Returns a `save_own_variables` that saves paths, given a layer's own."""

  def save_names(store):
    variables = {}
    save(variables)
    for key, variable in variables.items():
      store[key] = np.frombuffer(variable.path.encode(), "uint8")

  return save_names
