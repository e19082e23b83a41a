"""Reads the pickles of `torch.save`, which make nothing but tensors.

A pickle is a program that may call anything. Its instructions are looked
through before the first one is followed: those that no state dict of tensors is
made of are refused by name. What the others call are functions of this module.
"""

import io
import math
import pickle
import pickletools
from typing import NamedTuple

# More than any state dict needs; they bound the memory that a pickle takes.
MOST_BYTES = 4 << 20
_MOST_OPCODES = 1 << 18
_MOST_AXES = 32

_OPCODES = frozenset(
  (
    "APPEND APPENDS BINFLOAT BINGET BININT BININT1 BININT2 BINPERSID BINPUT"
    " BINUNICODE BUILD EMPTY_DICT EMPTY_LIST EMPTY_TUPLE FRAME GLOBAL LONG1"
    " LONG_BINGET LONG_BINPUT MARK MEMOIZE NEWFALSE NEWTRUE NONE PROTO REDUCE"
    " SETITEM SETITEMS SHORT_BINUNICODE STACK_GLOBAL STOP TUPLE TUPLE1 TUPLE2"
    " TUPLE3"
  ).split()
)
# {name of a storage's type: what NumPy calls it}.
_STORAGES = {
  "torch.BFloat16Storage": "bfloat16",
  "torch.BoolStorage": "bool",
  "torch.ByteStorage": "uint8",
  "torch.CharStorage": "int8",
  "torch.DoubleStorage": "float64",
  "torch.FloatStorage": "float32",
  "torch.HalfStorage": "float16",
  "torch.IntStorage": "int32",
  "torch.LongStorage": "int64",
  "torch.ShortStorage": "int16",
}


class Storage(NamedTuple):
  """A run of numbers outside of the pickle.

  Attributes:
    key: str, its name in the file.
    dtype: str, as NumPy calls it.
    size: int, how many numbers.
  """

  key: str
  dtype: str
  size: int


class Tensor(NamedTuple):
  """A view of a storage.

  Attributes:
    storage: `Storage`.
    offset: int, numbers before its first one.
    shape: tuple of int.
    strides: tuple of int, numbers from one to the next along each axis.
  """

  storage: Storage
  offset: int
  shape: tuple
  strides: tuple


class Pickle(NamedTuple):
  """Content of a pickle.

  Attributes:
    value: dicts, lists, tuples, constants and `Tensor`s in each other.
    storages: {key: `Storage`}.
    num_bytes: int, up to its end.
  """

  value: object
  storages: dict
  num_bytes: int


def read(content):
  """Returns the `Pickle` at the beginning of `content`, bytes.

  Raises:
    ValueError: it is cut off, or holds anything else; says what, for the end of
      a sentence.
  """
  for count, instruction in enumerate(pickletools.genops(content)):
    opcode, argument, position = instruction
    if count == _MOST_OPCODES:
      raise ValueError(f"its pickle has more than {count} opcodes")
    if opcode.name not in _OPCODES:
      raise ValueError(f"opcode {opcode.name} is at byte {position}")
    if opcode.name == "GLOBAL":
      _known(*argument.split(" ", 1))
  unpickler = _Unpickler(io.BytesIO(content[: position + 1]))
  try:
    value = unpickler.load()
  except (
    AttributeError,
    EOFError,
    IndexError,
    KeyError,
    TypeError,
    pickle.UnpicklingError,
  ) as error:
    raise ValueError(
      f"an instruction of its pickle lacks what it works on: {error}"
    ) from error
  return Pickle(value, unpickler.storages, position + 1)


class _Dict(dict):
  """Dict that a pickle fills item by item."""

  def __setitem__(self, key, value):
    # The hash of a nested tuple may take forever.
    if type(key) not in (str, int):
      raise ValueError(f"its pickle has a key of type {type(key).__name__}")
    super().__setitem__(key, value)


# The class in Python, whose instructions can be replaced; it is also slower,
# and keeps its memo in a dict, which no index makes large.
class _Unpickler(pickle._Unpickler):
  """Unpickler that knows three functions, which are none of torch's.

  Attributes:
    storages: {key: `Storage`}.
  """

  def __init__(self, file):
    super().__init__(file)
    self.storages = {}

  def find_class(self, module, name):
    return _known(module, name)

  def persistent_load(self, pid):
    """Returns the storage of ("storage", type, key, device, size, view)."""
    if type(pid) is not tuple or len(pid) not in (5, 6) or pid[0] != "storage":
      raise ValueError("its pickle refers to other than a storage")
    if pid[5:] not in ((), (None,)):
      raise ValueError(
        "its pickle has a view of a storage, as before torch 0.4"
      )
    _, dtype, key, _, size, *_ = pid
    if _checked(dtype, str) not in _STORAGES.values():
      raise ValueError(f"its pickle has a storage of type {dtype!r:.100}")
    if not (_checked(key, str).isascii() and key.isdigit()):
      raise ValueError(f"its pickle has a storage named {key!r:.100}")
    storage = Storage(key, dtype, _count(size))
    if self.storages.setdefault(key, storage) != storage:
      raise ValueError(f"its pickle has two storages named {key}")
    return storage

  def load_empty_dictionary(self):
    self.append(_Dict())

  def load_build(self):
    self.stack.pop()  # Attributes of a dict, such as `_metadata`.

  dispatch = pickle._Unpickler.dispatch | {
    pickle.EMPTY_DICT[0]: load_empty_dictionary,
    pickle.BUILD[0]: load_build,
  }


def _known(module, name):
  """Returns the function or type that a name in a pickle stands for."""
  name = f"{module}.{name}"
  if name not in _KNOWN:
    raise ValueError(f"its pickle names {name!r:.100}")
  return _KNOWN[name]


def _checked(value, kind):
  if type(value) is not kind:
    raise ValueError(
      f"its pickle has a {type(value).__name__.lstrip('_')} where a"
      f" {kind.__name__} must be"
    )
  return value


def _count(value):
  """Returns `value`, which must be an int and not negative."""
  if _checked(value, int) < 0:
    raise ValueError("its pickle has a negative size, offset or stride")
  return value


def _ordered_dict():
  return _Dict()


def _tensor(storage, offset, shape, strides, *_):
  """Returns the `Tensor` of `torch._utils._rebuild_tensor_v2`."""
  size = _checked(storage, Storage).size
  shape = tuple(map(_count, _checked(shape, tuple)))
  strides = tuple(map(_count, _checked(strides, tuple)))
  if len(shape) != len(strides) or len(shape) > _MOST_AXES:
    raise ValueError(
      f"its pickle has a tensor of {len(shape)} sizes and {len(strides)}"
      " strides"
    )
  num_values = math.prod(shape)
  steps = [stride * (n - 1) for n, stride in zip(shape, strides, strict=True)]
  last = _count(offset) + sum(steps) if num_values else 0
  # A tensor that repeats values could be far larger than its file.
  if num_values > size or (num_values and last >= size):
    raise ValueError(
      f"its pickle has a tensor that is larger than storage {storage.key}"
    )
  return Tensor(storage, offset, shape, strides)


def _parameter(tensor, *_):
  return _checked(tensor, Tensor)


_KNOWN = _STORAGES | {
  "collections.OrderedDict": _ordered_dict,
  "torch._utils._rebuild_parameter": _parameter,
  "torch._utils._rebuild_tensor_v2": _tensor,
}
