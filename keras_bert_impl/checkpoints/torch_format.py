"""Reads what `torch.save` writes of a state dict, without torch.

Two forms: a zip file whose entries, not compressed, are a pickle and the
storages; and the older one, five pickles and then the storages. The pickle is
never run: see `pickles`. Local files only.
"""

import io
import itertools
import os
import struct
import zipfile

import numpy as np

from keras_bert_impl.checkpoints import (
  pickles,
  stored_tensors,
  transformers_files,
)

NAME = "torch"
FILE_NAME = "pytorch_model.bin"
INDEX_NAME = "pytorch_model.bin.index.json"

_MAGIC = 0x1950A86A20F9469CFC6C
# Of a file in a zip file, before its name.
_LOCAL_HEADER = struct.Struct("<4s22xHH")
_LENGTH = struct.Struct("<q")
_ENCRYPTED = 1


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
    try:
      places |= _places(file_path)
    except (ValueError, zipfile.BadZipFile, struct.error) as error:
      reason = str(error).partition("\n")[0]
      raise ValueError(
        f"{file_path} is damaged, or holds more than a state dict of tensors: "
        f"{reason}. Where you trust it, write it anew with torch: "
        "torch.save(model.state_dict(), path)."
      ) from error
  return stored_tensors.StoredTensors(places)


def _places(path):
  """Returns {name: `Place`} of the tensors in a file."""
  with _File(path) as file:
    is_zip = file.read(4) == b"PK\3\4"
    value, offsets = (_open_zip if is_zip else _open_legacy)(file)
  places = {}
  for name, tensor in _state_dict(value).items():
    storage = tensor.storage
    offset = offsets[storage.key] + tensor.offset * _itemsize(storage)
    places[name] = stored_tensors.Place(
      path, storage.dtype, offset, tensor.shape, tensor.strides
    )
  return places


class _File(io.FileIO):
  """A file that refuses to be read in pieces of more than a few MB."""

  def __init__(self, path):
    super().__init__(path)
    self.num_bytes = os.path.getsize(path)

  def read(self, size=-1):
    if size < 0:
      size = self.num_bytes - self.tell()
    if size > pickles.MOST_BYTES:
      raise ValueError(f"its pickle or its directory has {size} bytes")
    return super().read(size)

  def read_at(self, offset, size):
    """Returns `size` bytes; fewer at the end of the file."""
    if not 0 <= offset <= self.num_bytes:
      raise ValueError(f"a part is to be at byte {offset} of {self.num_bytes}")
    self.seek(offset)
    return self.read(size)

  def check_inside(self, offset, size, what):
    if offset + size > self.num_bytes:
      raise ValueError(
        f"{what} ends at byte {offset + size} of {self.num_bytes}"
      )


def _open_zip(file):
  """Returns (value of the pickle, {key of storage: byte offset})."""
  entries = _entries(file)
  pickled = [
    n for n in entries if n.count("/") == 1 and n.endswith("/data.pkl")
  ]
  if len(pickled) != 1:
    raise ValueError(f"it has {len(pickled)} entries */data.pkl, not one")
  root = pickled[0].removesuffix("data.pkl")
  if f"{root}byteorder" in entries:
    order = _read_entry(file, entries[f"{root}byteorder"])
    _check_little_endian(order == b"little")
  pickle = pickles.read(_read_entry(file, entries[pickled[0]]))
  used, offsets = [], {}
  for key, storage in pickle.storages.items():
    name = f"{root}data/{key}"
    if name not in entries:
      raise ValueError(f"entry {name} is missing")
    size = storage.size * _itemsize(storage)
    if entries[name].file_size != size:
      raise ValueError(
        f"entry {name} has {entries[name].file_size} bytes, not {size}"
      )
    used.append(entries[name])
    offsets[key] = _offset(file, entries[name])
  if _overlap(used):
    raise ValueError("its entries overlap")
  return pickle.value, offsets


def _entries(file):
  """Returns {name: `zipfile.ZipInfo`}."""
  try:
    with zipfile.ZipFile(file) as archive:
      infos = archive.infolist()
  except (NotImplementedError, OSError, OverflowError, RuntimeError) as error:
    raise ValueError(str(error)) from error
  entries = {info.filename: info for info in infos}
  if len(entries) < len(infos):
    raise ValueError("two of its entries have one name")
  return entries


def _read_entry(file, info):
  return file.read_at(_offset(file, info), info.file_size)


def _offset(file, info):
  """Returns the byte at which the content of an entry begins."""
  name = info.filename.encode()
  if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & _ENCRYPTED:
    raise ValueError(f"entry {info.filename!r:.100} is compressed or encrypted")
  header = file.read_at(info.header_offset, _LOCAL_HEADER.size + len(name))
  mark, name_size, extra_size = _LOCAL_HEADER.unpack_from(header)
  if (mark, header[_LOCAL_HEADER.size :]) != (b"PK\3\4", name):
    raise ValueError(f"entry {info.filename!r:.100} is not where it must be")
  offset = info.header_offset + _LOCAL_HEADER.size + name_size + extra_size
  file.check_inside(offset, info.file_size, f"entry {info.filename!r:.100}")
  return offset


def _overlap(infos):
  """Returns whether two entries have a byte in common."""
  infos = sorted(infos, key=lambda info: info.header_offset)
  return any(
    info.header_offset + info.file_size > following.header_offset
    for info, following in itertools.pairwise(infos)
  )


def _open_legacy(file):
  """Returns (value of the pickle, {key of storage: byte offset})."""
  content = file.read_at(0, min(file.num_bytes, pickles.MOST_BYTES))
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
    [size] = _LENGTH.unpack(file.read_at(position, _LENGTH.size))
    if size != storage.size:
      raise ValueError(
        f"storage {key} has {size} values there, {storage.size} in the pickle"
      )
    offsets[key] = position + _LENGTH.size
    position = offsets[key] + size * _itemsize(storage)
    file.check_inside(position, 0, f"storage {key}")
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
