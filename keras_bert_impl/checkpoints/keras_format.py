"""Reads models that Keras saved, `.keras`.

A zip file of the configuration and an HDF5 file of the weights, which lie there
in order, so that each is read on demand. Local files only.
"""

import dataclasses
import json
import pathlib
import tempfile

import h5py
import keras
import numpy as np

from keras_bert_impl import configs, given_arrays, heads
from keras_bert_impl.checkpoints import (
  description,
  h5_format,
  stored_tensors,
  zip_entries,
)

NAME = "keras"

_CONFIG = "config.json"
_WEIGHTS = "model.weights.h5"
_MOST_BYTES = 2**25  # of the directory and of the configuration


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
  except (AttributeError, KeyError, OSError, TypeError, ValueError) as error:
    reason = str(error).strip().partition("\n")[0]
    raise ValueError(
      f"{path} is damaged, or not a model of this library: {reason}"
    ) from error
  _check(model, path)
  declared = declared or description.Description(model.config)
  declared = dataclasses.replace(declared, config=model.config)
  # The only class of models that its weights do not show.
  if type(model).__name__ == "MultipleChoice":
    declared = dataclasses.replace(declared, head=heads.MULTIPLE_CHOICE)
  return stored_tensors.StoredTensors(places), declared


def _open(path):
  """Returns the model, without values, and {name of weight: `Place`}."""
  with zip_entries.GuardedFile(path, _MOST_BYTES) as file:
    entries = zip_entries.entries(file)
    config = json.loads(zip_entries.content(file, entries[_CONFIG]))
    with given_arrays.awaited():
      model = keras.saving.deserialize_keras_object(config)
    names = _names(model)
    start = zip_entries.offset(file, entries[_WEIGHTS])
    places = {}

    def add(name, item):
      if name in names:
        places[names[name]] = h5_format.place(path, name, item, start)

    size = entries[_WEIGHTS].file_size
    h5_format.visit(path, add, zip_entries.Window(file, start, size))
  return model, places


def _check(model, path):
  if not isinstance(getattr(model, "config", None), configs.EncoderConfig):
    raise ValueError(f"{path} holds no model of this library.")
  if any(layer.quantization_mode for layer in model._flatten_layers()):
    raise ValueError(
      f"{path} is quantized: its weights are no longer those of the "
      "architecture. Give the model that it was made from."
    )


def _names(model):
  """Returns {name in Keras' HDF5 file: name of the weight}.

  Keras is asked for it: it saves names instead of values.
  """
  for layer in model._flatten_layers():
    layer.save_own_variables = _saving_names(layer.save_own_variables)
  names = {}

  def add(name, item):
    if isinstance(item, h5py.Dataset):
      names[name] = bytes(item[()]).decode()

  with tempfile.TemporaryDirectory() as folder:
    path = str(pathlib.Path(folder, _WEIGHTS))
    model.save_weights(path)
    h5_format.visit(path, add)
  return names


def _saving_names(save):
  """Returns a `save_own_variables` of a layer, given its own."""

  def save_names(store):
    variables = {}
    save(variables)
    for key, variable in variables.items():
      store[key] = np.frombuffer(variable.path.encode(), "uint8")

  return save_names
