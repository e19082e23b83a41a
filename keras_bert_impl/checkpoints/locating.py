"""Finds the file of weights that a path means, and what reads it."""

import importlib
import os

from keras_bert_impl import files
from keras_bert_impl.checkpoints import hub
from keras_bert_impl.checkpoints.descriptions import keras_hub_config
from keras_bert_impl.checkpoints.formats import safetensors_format

_TORCH = (".bin", ".pt", ".pth", ".pkl")
# What reads a file, by its ending; a TensorFlow checkpoint's prefix has none.
# Late: safetensors must be readable without TensorFlow.
_READERS = {
  ".safetensors": "safetensors_format",
  ".bin.index.json": "torch_format",
  ".index.json": "safetensors_format",
  # Before ".h5"; others of that end are no presets.
  keras_hub_config.WEIGHTS_FILE: "keras_hub_format",
  ".h5": "h5_format",
  ".keras": "keras_format",
  **dict.fromkeys(_TORCH, "torch_format"),
}
# In a folder of several, the first of these counts.
_FILE_NAMES = (
  safetensors_format.FILE_NAME,
  safetensors_format.INDEX_NAME,
  "pytorch_model.bin",
  "pytorch_model.bin.index.json",
  "tf_model.h5",
  keras_hub_config.WEIGHTS_FILE,
)
# What a search says of itself.
_RESULTS_FILE = "results.json"
_RESULT_TYPES = {"best": (dict, type(None))}


def find(path):
  """Finds the file, or the prefix of a TensorFlow checkpoint, of `path`.

  Args:
    path: str, a folder, a file, a prefix or a name; see `hub`.

  Returns:
    (path, module of this package that reads it).

  Raises:
    FileNotFoundError: there is none.
    ValueError: it is of an unknown kind, or a folder has several.
  """
  found = _find(hub.local_path(path, weights=True))
  readers = (name for end, name in _READERS.items() if found.endswith(end))
  name = next(readers, "tf_format")
  return found, importlib.import_module(f"{__package__}.formats.{name}")


def _find(path):
  """Finds the file, or prefix of files, of `path`."""
  if files.is_folder(path):
    return _find_in_folder(path)
  prefix = path.removesuffix(".index")
  if files.exists(f"{prefix}.index"):
    return prefix
  if not files.exists(path):
    raise FileNotFoundError(
      f"There is no checkpoint {path}: no file or folder of that name, and no "
      f"{path}.index."
    )
  if not path.endswith(tuple(_READERS)):
    raise ValueError(
      f"{path} is not a checkpoint of a known kind: .safetensors, .bin, "
      ".h5, .keras, or the prefix of a TensorFlow checkpoint, such as "
      "bert_model.ckpt."
    )
  return path


def _find_in_folder(folder):
  content = files.list_folder(folder)
  for name in _FILE_NAMES:
    if name in content:
      return os.path.join(folder, name)
  if "checkpoint" in content and (newest := _newest(folder)):
    return newest
  for ending in (".safetensors", ".index", ".keras", *_TORCH, ".h5"):
    found = [name for name in content if name.endswith(ending)]
    if len(found) > 1:
      raise ValueError(
        f"{folder} holds several checkpoints ({', '.join(found)}): name one."
      )
    if found:
      return os.path.join(folder, found[0].removesuffix(".index"))
  if hub.OLD_TRANSFORMER in content:
    return _find(os.path.join(folder, hub.OLD_TRANSFORMER))
  best = best_run(folder)
  raise FileNotFoundError(
    f"Folder {folder} holds the runs of a search: give its best run, {best}."
    if best
    else f"Folder {folder} holds no checkpoint: no safetensors, torch, "
    "TensorFlow or Keras file."
  )


def best_run(folder):
  """Returns the folder of the best run of a search, or None for another folder.

  Raises:
    ValueError: the file that says so is damaged.
  """
  path = os.path.join(folder, _RESULTS_FILE)
  best = (files.find_json(path, types=_RESULT_TYPES) or {}).get("best")
  if not best:
    return None
  # By name: the whole folder may have moved.
  return os.path.join(
    folder, "runs", files.field(best, "name", str, f"best in {path}")
  )


def _newest(folder):
  """Returns the prefix that the state file names last, None if it is gone.

  Raises:
    ValueError: the state file is damaged; names it.
  """
  import tensorflow as tf

  try:
    return tf.train.latest_checkpoint(folder)
  except ValueError as error:
    raise ValueError(
      f"{os.path.join(folder, 'checkpoint')} is damaged ({error}): name one of"
      " the folder's checkpoints, or remove that file."
    ) from error
