"""Reads and writes safetensors files, one or several with an index.

A checkpoint of several files has `model.safetensors.index.json`, which maps
tensors to files. Local folders only.
"""

import contextlib
import json
import math
import os
import pathlib
import re
import stat

import numpy as np
import safetensors
import safetensors.numpy

from keras_bert_impl.checkpoints.formats import (
  stored_tensors,
  transformers_files,
)

NAME = "safetensors"
FILE_NAME = "model.safetensors"
INDEX_NAME = "model.safetensors.index.json"
MAX_SHARD_SIZE = 5_000_000_000

# "I/O error: No space left on device (os error 28)".
_OS_ERROR = re.compile(r"\(os error (\d+)\)")
# {name of a type in a header: NumPy's}.
_DTYPES = {
  "F16": "float16",
  "BF16": "bfloat16",
  "F32": "float32",
  "F64": "float64",
}


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
  sizes = {name: 4 * math.prod(s) for name, s in tensors.shapes.items()}
  shards = _shards(sizes, max_shard_size)
  weight_map, paths = {}, []
  for number, shard in enumerate(shards, 1):
    paths.append(folder / FILE_NAME)
    if len(shards) > 1:
      name = f"model-{number:05d}-of-{len(shards):05d}.safetensors"
      paths[-1] = folder / name
    # Transposed views would be written as they lie in memory.
    arrays = {
      name: np.ascontiguousarray(tensors[name], "float32") for name in shard
    }
    save(arrays, paths[-1])
    weight_map |= dict.fromkeys(shard, paths[-1].name)
  if len(shards) > 1:
    paths.append(folder / INDEX_NAME)
    index = {
      "metadata": {"total_size": sum(sizes.values())},
      "weight_map": weight_map,
    }
    text = json.dumps(index, indent=2) + "\n"
    paths[-1].write_text(text, encoding="utf-8")
  return paths


def open_weights(path, declared):
  """Opens the weights of a model; see `transformers_files.open_weights`."""
  return transformers_files.open_weights(read, path, declared)


def read(path):
  """Opens the `StoredTensors` in the file `path`, which may be an index.

  Raises:
    ValueError: it is damaged, or its index points outside its folder.
    FileNotFoundError: there is no such file, or one of the index is missing.
  """
  places = {}
  for file_path in transformers_files.weight_files(path):
    places |= _places(file_path)
  return stored_tensors.StoredTensors(places)


def save(arrays, path):
  """Writes a file of {name: contiguous array}; fails as `write`."""
  # The library's file is its owner's alone; a usual one shows what is right.
  open(path, "ab").close()
  mode = stat.S_IMODE(os.stat(path).st_mode)
  try:
    # `transformers` asks for this mark.
    safetensors.numpy.save_file(arrays, path, {"format": "pt"})
    with contextlib.suppress(PermissionError):  # Some file systems have none.
      os.chmod(path, mode)
  except safetensors.SafetensorError as error:
    number = _OS_ERROR.search(str(error))
    if not number:
      raise OSError(f"Cannot write {path}: {error}.") from error
    number = int(number[1])
    raise OSError(number, os.strerror(number), str(path)) from error


def _places(path):
  """Returns {name: `Place`} of the tensors in a file."""
  try:
    # The library checks all of the header.
    safetensors.safe_open(path, "np")
  except safetensors.SafetensorError as error:
    raise ValueError(
      f"{path} is damaged, or not a safetensors file: {error}."
    ) from error
  with open(path, "rb") as file:
    size = int.from_bytes(file.read(8), "little")
    header = json.loads(file.read(size))
  header.pop("__metadata__", None)
  return {
    name: stored_tensors.Place(
      path,
      _DTYPES.get(entry["dtype"], entry["dtype"]),
      8 + size + entry["data_offsets"][0],
      tuple(entry["shape"]),
    )
    for name, entry in header.items()
  }


def _shards(sizes, max_shard_size):
  """Groups names in order into shards of at most the allowed size."""
  shards, size = [[]], 0
  for name, bytes_of_it in sizes.items():
    if shards[-1] and size + bytes_of_it > max_shard_size:
      shards.append([])
      size = 0
    shards[-1].append(name)
    size += bytes_of_it
  return shards
