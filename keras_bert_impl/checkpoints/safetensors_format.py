"""Reads and writes safetensors files, one or several with an index.

A checkpoint of several files has `model.safetensors.index.json`, which maps
tensors to files. Local folders only.
"""

import json
import pathlib

import ml_dtypes  # noqa: F401  (makes bfloat16 known to NumPy)
import numpy as np
import safetensors
import safetensors.numpy

from keras_bert_impl import files
from keras_bert_impl.checkpoints import config_json, mappings, names

NAME = "safetensors"
FILE_NAME = "model.safetensors"
INDEX_NAME = "model.safetensors.index.json"
MAX_SHARD_SIZE = 5_000_000_000

# What training in half precision leaves; the library reads all as its NumPy
# namesake.
_FLOATS = ("F16", "BF16", "F32", "F64")


def write(folder, tensors, max_shard_size=MAX_SHARD_SIZE):
  """Writes float32 tensors as one file, or as several with an index.

  Args:
    folder: path of an existing folder.
    tensors: mapping of name -> array with a dict `shapes` of name -> tuple;
      arrays are asked for one file at a time.
    max_shard_size: int, bytes that no file of several tensors exceeds.

  Returns:
    List of the paths written.

  Raises:
    OSError: the file system refuses, for instance a full disk.
  """
  folder = pathlib.Path(folder)
  shards = _shards(tensors.shapes, max_shard_size)
  file_names = [FILE_NAME]
  if len(shards) > 1:
    file_names = [
      f"model-{number:05d}-of-{len(shards):05d}.safetensors"
      for number in range(1, len(shards) + 1)
    ]
  for file_name, shard in zip(file_names, shards, strict=True):
    # Transposed views would be written as they lie in memory.
    arrays = {
      name: np.ascontiguousarray(tensors[name], "float32") for name in shard
    }
    _save(arrays, folder / file_name)
  if len(shards) > 1:
    _write_index(
      folder / INDEX_NAME,
      dict(zip(file_names, shards, strict=True)),
      tensors.shapes,
    )
    file_names.append(INDEX_NAME)
  return [folder / name for name in file_names]


def open_weights(path, declared):
  """Opens the weights of a model of `transformers`, under our names.

  Args:
    path: str, as for `read`.
    declared: `description.Description` of the files beside it, or None.

  Returns:
    (mapping of names -> arrays, with `shapes`; `declared`).

  Raises:
    FileNotFoundError: nothing is declared: names differ between families.
    ValueError: as `read`.
  """
  if declared is None:
    raise FileNotFoundError(
      f"There is no {config_json.FILE_NAME} beside {path}: it says what the "
      "weights are."
    )
  stored = read(path)
  origins = {}
  for name in stored:
    ours = names.from_transformers(name, declared.config.family)
    if ours is not None:
      origins.setdefault(ours, name)
  transposed = {name for name in origins if names.is_transposed(name)}
  return mappings.Renamed(stored, origins, transposed), declared


def read(path):
  """Opens the `StoredTensors` in the file `path`, which may be an index.

  Raises:
    ValueError: it is damaged, or its index points outside its folder.
    FileNotFoundError: there is no such file, or one of the index is missing.
  """
  path = pathlib.Path(path)
  return StoredTensors(_files(path) if path.suffix == ".json" else [path])


class StoredTensors(mappings.Tensors):
  """Mapping of name -> float32 array, read on demand.

  Args:
    paths: list of the files.
  """

  def __init__(self, paths):
    self._files = {}
    self.shapes = {}
    for path in paths:
      file = _open(path)
      for name in file.keys():
        self._files[name] = (path, file)
        self.shapes[name] = tuple(file.get_slice(name).get_shape())
    self.shapes = dict(sorted(self.shapes.items()))

  def __getitem__(self, name):
    """Reads one array.

    Raises:
      KeyError: no such name.
      ValueError: its values are no floating-point numbers.
    """
    path, file = self._files[name]
    dtype = file.get_slice(name).get_dtype()
    if dtype not in _FLOATS:
      raise ValueError(
        f"{name} in {path} has values of type {dtype}; only "
        f"{', '.join(_FLOATS)} can be read: quantised weights must be expanded "
        "first."
      )
    return file.get_tensor(name).astype("float32", copy=False)


def _save(arrays, path):
  try:
    # `transformers` asks for this mark.
    safetensors.numpy.save_file(arrays, path, {"format": "pt"})
  except safetensors.SafetensorError as error:
    raise OSError(f"Cannot write {path}: {error}.") from error


def _open(path):
  if not path.is_file():
    raise FileNotFoundError(f"There is no file {path}.")
  try:
    return safetensors.safe_open(path, "np")
  except safetensors.SafetensorError as error:
    raise ValueError(
      f"{path} is damaged, or not a safetensors file: {error}."
    ) from error


def _files(index_path):
  """Returns the files of an index, in its folder."""
  index = files.read_json(index_path)
  weight_map = files.field(index, "weight_map", dict, index_path)
  files.check_fields(weight_map, dict.fromkeys(weight_map, str), index_path)
  file_names = set(weight_map.values())
  for name in file_names:
    # What a stranger wrote must not make us read anywhere else.
    if pathlib.PurePath(name).name != name or name == "..":
      raise ValueError(
        f"{index_path} points outside its folder, to {name!r}: the files of a "
        "checkpoint must lie beside their index."
      )
  return [index_path.parent / name for name in sorted(file_names)]


def _shards(shapes, max_shard_size):
  """Groups names in order into shards of at most the allowed size."""
  shards, size = [[]], 0
  for name, shape in shapes.items():
    bytes_of_it = 4 * int(np.prod(shape))
    if shards[-1] and size + bytes_of_it > max_shard_size:
      shards.append([])
      size = 0
    shards[-1].append(name)
    size += bytes_of_it
  return shards


def _write_index(path, shards, shapes):
  index = {
    "metadata": {
      "total_size": sum(4 * int(np.prod(shape)) for shape in shapes.values())
    },
    "weight_map": {
      name: file_name for file_name, shard in shards.items() for name in shard
    },
  }
  path.write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")
