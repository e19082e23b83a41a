"""Reads what `torch.save` writes of a state dict, without torch.

Two forms: a zip file whose entries, not compressed, are a pickle and the
storages; and the older one, five pickles and then the storages. The pickle runs
nothing of torch or Python: see `pickles`. Local files only.
"""

import struct
import zipfile

import numpy as np

from keras_bert_impl.checkpoints.formats import (
  pickles,
  stored_tensors,
  transformers_files,
  zip_entries,
)

NAME = "torch"
FILE_NAME = "pytorch_model.bin"
INDEX_NAME = "pytorch_model.bin.index.json"

_MAGIC = 0x1950A86A20F9469CFC6C
_LENGTH = struct.Struct("<q")
_ZIP = b"PK\3\4"


def open_weights(path, declared):
  """Opens the weights of a model; see `transformers_files.open_weights`."""
  return transformers_files.open_weights(read, path, declared)


def read(path):
  """Opens the `StoredTensors` in the file `path`, which may be an index.

  Raises:
    ValueError: it is damaged or holds more than tensors, or its index points
      outside its folder.
    FileNotFoundError: there is no such file, or one of the index is missing.
  """
  places = {}
  for file_path in transformers_files.weight_files(path):
    with zip_entries.GuardedFile(file_path, pickles.MOST_BYTES) as file:
      try:
        places |= _places(file_path, file)
      except (*zip_entries.FAULTS, struct.error) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(
          f"{file_path} is damaged, or holds more than a state dict of tensors:"
          f" {reason}. Where you trust it, write it anew with torch: "
          "torch.save(model.state_dict(), path)."
        ) from error
  return stored_tensors.StoredTensors(places)


def _places(path, file):
  """Returns {name: `Place`} of the tensors in a file."""
  is_zip = file.read(4) == _ZIP
  file.seek(0)
  value, offsets = (_open_zip if is_zip else _open_legacy)(file)
  places = {}
  for name, (storage, offset, *view) in _state_dict(value).items():
    offset = offsets[storage.key] + offset * _itemsize(storage)
    places[name] = stored_tensors.Place(path, storage.dtype, offset, *view)
  return places


def _open_zip(file):
  """Returns (value of the pickle, {key of storage: byte offset})."""
  with zipfile.ZipFile(file) as archive:
    entries = zip_entries.entries(archive)
    pickled = [
      n for n in entries if n.count("/") == 1 and n.endswith("/data.pkl")
    ]
    if len(pickled) != 1:
      raise ValueError(f"it has {len(pickled)} entries */data.pkl, not one")
    root = pickled[0].removesuffix("data.pkl")
    if f"{root}byteorder" in entries:
      order = zip_entries.content(archive, entries[f"{root}byteorder"])
      _check_little_endian(order == b"little")
    pickle = pickles.read(zip_entries.content(archive, entries[pickled[0]]))
    used, offsets = [], {}
    for key, storage in pickle.storages.items():
      name = f"{root}data/{key}"
      if name not in entries:
        raise ValueError(f"entry {name} is missing")
      used.append(entries[name])
      size = storage.size * _itemsize(storage)
      if used[-1].file_size != size:
        raise ValueError(
          f"entry {name} has {used[-1].file_size} bytes, not {size}"
        )
      offsets[key] = zip_entries.offset(archive, used[-1])
  if zip_entries.overlap(used):
    raise ValueError("its entries overlap")
  return pickle.value, offsets


def _open_legacy(file):
  """Returns (value of the pickle, {key of storage: byte offset})."""
  content = file.read(min(file.num_bytes, pickles.MOST_BYTES))
  position, found = 0, []
  for _ in range(5):
    found.append(pickles.read(content[position:]))
    position += found[-1].num_bytes
    if found[0].value != _MAGIC:
      raise ValueError("it is not of torch.save, or of torch before 0.4")
  _, _, system, pickle, keys = found
  if not isinstance(system.value, dict) or not isinstance(keys.value, list):
    raise ValueError("its pickles are not those of torch.save")
  _check_little_endian(system.value.get("little_endian") is True)
  offsets = {}
  for key in keys.value:
    storage = pickle.storages.get(key) if isinstance(key, str) else None
    if storage is None:
      raise ValueError("it has a storage that its pickle does not name")
    file.seek(position)
    [size] = _LENGTH.unpack(file.read(_LENGTH.size))
    if size != storage.size:
      raise ValueError(
        f"storage {key} has {size} values there, {storage.size} in the pickle"
      )
    offsets[key] = position + _LENGTH.size
    position = offsets[key] + size * _itemsize(storage)
    file.check_inside(position, f"storage {key}")
  for key in pickle.storages:
    if key not in offsets:
      raise ValueError(f"storage {key} is missing")
  return pickle.value, offsets


def _state_dict(value):
  """Returns the only dict of tensors in what was saved."""
  nested = value.values() if isinstance(value, dict) else ()
  found = list(filter(None, map(_tensors, nested)))
  found = found or list(filter(None, [_tensors(value)]))
  if len(found) != 1:
    raise ValueError(f"it holds {len(found)} state dicts, not one")
  return found[0]


def _tensors(value):
  """Returns the tensors by name in a dict, {} in any other value."""
  if not isinstance(value, dict):
    return {}
  tensors = {
    name: tensor
    for name, tensor in value.items()
    if isinstance(name, str) and isinstance(tensor, pickles.Tensor)
  }
  if not all(name.isprintable() for name in tensors):
    raise ValueError("the name of a tensor has characters that none can read")
  return tensors


def _check_little_endian(is_little):
  if not is_little:
    raise ValueError("its numbers are big-endian")


def _itemsize(storage):
  return np.dtype(storage.dtype).itemsize
