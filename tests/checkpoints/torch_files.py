"""Writes files as `torch.save` does, good and bad ones, without torch.

Parts of pickles are bytes that can be put together: each leaves one value on
the stack.
"""

import struct
import zipfile

import numpy as np

STORAGES = {
  "float32": "FloatStorage",
  "float16": "HalfStorage",
  "int64": "LongStorage",
}
MAGIC = 0x1950A86A20F9469CFC6C


def text(value):
  content = value.encode()
  return b"X" + struct.pack("<I", len(content)) + content


def number(value):
  size = value.bit_length() // 8 + 1
  return b"\x8a" + bytes([size]) + value.to_bytes(size, "little", signed=True)


def sequence(*parts):
  return b"(" + b"".join(parts) + b"t"


def numbers(values):
  return sequence(*map(number, values))


def mention(module, name):
  return f"c{module}\n{name}\n".encode()


def call(module, name, *arguments):
  return mention(module, name) + sequence(*arguments) + b"R"


def storage(key="0", size=6, kind="FloatStorage", *view, kind_part=None):
  return (
    sequence(
      text("storage"),
      kind_part or mention("torch", kind),
      text(key),
      text("cpu"),
      number(size),
      *view,
    )
    + b"Q"
  )


def tensor(values=None, offset=0, shape=(2, 3), strides=(3, 1)):
  return call(
    "torch._utils",
    "_rebuild_tensor_v2",
    storage() if values is None else values,
    number(offset),
    numbers(shape),
    numbers(strides),
    b"\x89",
    call("collections", "OrderedDict"),
  )


def dictionary(items):
  return b"}(" + b"".join(text(k) + v for k, v in items.items()) + b"u"


def pickle(part):
  return b"\x80\x02" + part + b"."


def state_dict(arrays):
  """Returns the part of a dict of float tensors, with their metadata."""
  tensors = {
    name: tensor(
      storage(str(i), array.size, STORAGES[array.dtype.name]),
      0,
      array.shape,
      [stride // array.itemsize for stride in array.strides],
    )
    for i, (name, array) in enumerate(arrays.items())
  }
  metadata = dictionary({"_metadata": call("collections", "OrderedDict")})
  ordered = call("collections", "OrderedDict")
  return ordered + dictionary(tensors)[1:] + metadata + b"b"


def write_zip(
  path, part=None, storages=None, root="model", compressed=(), **entries
):
  """Writes the newer form.

  Args:
    path: path of the file.
    part: bytes, the part of a pickle; default: a dict of one tensor.
    storages: {key: bytes}; default: what `storage` says.
    root: str, what the names of all entries begin with.
    compressed: tuple of names of entries.
    **entries: {name: bytes}, instead of these, None to leave it out.
  """
  part = dictionary({"a": tensor()}) if part is None else part
  storages = {"0": bytes(24)} if storages is None else storages
  content = {"data.pkl": pickle(part), "byteorder": b"little"}
  content |= {f"data/{key}": values for key, values in storages.items()}
  with zipfile.ZipFile(path, "w") as archive:
    for name, values in (content | entries).items():
      if values is not None:
        how = zipfile.ZIP_DEFLATED if name in compressed else zipfile.ZIP_STORED
        archive.writestr(f"{root}/{name}", values, how)
  return path


def write_legacy(path, part=None, storages=None, magic=MAGIC, little=b"\x88"):
  """Writes the older form; see `write_zip`."""
  part = dictionary({"a": tensor()}) if part is None else part
  storages = {"0": bytes(24)} if storages is None else storages
  system = dictionary({"little_endian": little})
  keys = b"](" + b"".join(text(key) for key in storages) + b"e"
  parts = (number(magic), number(1001), system, part, keys)
  content = b"".join(map(pickle, parts))
  for values in storages.values():
    content += struct.pack("<q", len(values) // 4) + values
  path.write_bytes(content)
  return path


def write_arrays(path, arrays, write=write_zip):
  """Writes a state dict of float32 arrays."""
  storages = {
    str(i): np.ravel(array, "K").tobytes()
    for i, array in enumerate(arrays.values())
  }
  return write(path, state_dict(arrays), storages)
