"""Reads the pickles of `torch.save` without running them.

A pickle is a program that may call anything. This interpreter knows the
instructions that a state dict of tensors is made of, calls nothing but
functions of its own, and refuses all else by name.
"""

import dataclasses
import io
import math
import pickletools
from typing import NamedTuple

# More than any state dict needs; they bound the memory that a pickle takes.
MOST_BYTES = 4 << 20
_MOST_OPCODES = 1 << 18
_MOST_AXES = 32

_STORAGES = {
  "torch BFloat16Storage": "bfloat16",
  "torch BoolStorage": "bool",
  "torch ByteStorage": "uint8",
  "torch CharStorage": "int8",
  "torch DoubleStorage": "float64",
  "torch FloatStorage": "float32",
  "torch HalfStorage": "float16",
  "torch IntStorage": "int32",
  "torch LongStorage": "int64",
  "torch ShortStorage": "int16",
}


@dataclasses.dataclass(frozen=True)
class Storage:
  """A run of numbers outside of the pickle.

  Attributes:
    key: str, its name in the file.
    dtype: str, as NumPy calls it.
    size: int, how many numbers.
  """

  key: str
  dtype: str
  size: int


@dataclasses.dataclass(frozen=True)
class Tensor:
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
  """What a pickle holds.

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
  machine = _Machine()
  opcodes = pickletools.genops(io.BytesIO(content))
  for count, (opcode, argument, position) in enumerate(opcodes):
    if opcode.name == "STOP":
      break
    if count == _MOST_OPCODES:
      raise ValueError(f"its pickle has more than {count} opcodes")
    if opcode.name not in _OPCODES:
      raise ValueError(f"opcode {opcode.name} is at byte {position}")
    try:
      _OPCODES[opcode.name](machine, argument)
    except (IndexError, KeyError, TypeError) as error:
      raise ValueError(
        f"opcode {opcode.name} at byte {position} lacks what it works on"
      ) from error
  [frame] = machine.frames if len(machine.frames) == 1 else [[]]
  if len(frame) != 1:
    raise ValueError("its pickle ends with other than one value")
  return Pickle(frame[0], machine.storages, position + 1)


class _Machine:
  """State of the interpreter.

  Attributes:
    frames: list of lists, the stack, with a list for each mark.
    memo: {int: value}.
    storages: {key: `Storage`}.
  """

  def __init__(self):
    self.frames = [[]]
    self.memo = {}
    self.storages = {}

  def push(self, value):
    self.frames[-1].append(value)

  def pop(self):
    return self.frames[-1].pop()

  def pop_to_mark(self):
    values = self.frames.pop()
    self.frames[-1]  # An IndexError without a mark.
    return values

  def top(self):
    return self.frames[-1][-1]


class _Global(NamedTuple):
  """A name that a pickle may mention."""

  name: str


def _checked(value, kind):
  if type(value) is not kind:
    raise ValueError(
      f"its pickle has a {type(value).__name__.lstrip('_')} where a"
      f" {kind.__name__.lstrip('_')} must be"
    )
  return value


def _count(value):
  """Returns `value`, which must be an int and not negative."""
  if _checked(value, int) < 0:
    raise ValueError("its pickle has a negative size, offset or stride")
  return value


def _mention(machine, name):
  if name not in _FUNCTIONS and name not in _STORAGES:
    raise ValueError(f"its pickle names {name.replace(' ', '.')!r:.100}")
  machine.push(_Global(name))


def _mention_stacked(machine, _):
  name, module = machine.pop(), machine.pop()
  _mention(machine, f"{_checked(module, str)} {_checked(name, str)}")


def _call(machine, _):
  arguments, function = machine.pop(), machine.pop()
  name = _checked(function, _Global).name
  if name not in _FUNCTIONS:
    raise ValueError(f"its pickle calls {name.replace(' ', '.')}")
  machine.push(_FUNCTIONS[name](*_checked(arguments, tuple)))


def _set_items(machine, values):
  target = _checked(machine.top(), dict)
  if len(values) % 2:
    raise ValueError("its pickle has a key without a value")
  for key, value in zip(values[::2], values[1::2], strict=True):
    # Of a nested tuple the hash may take forever.
    if type(key) not in (str, int):
      raise ValueError(f"its pickle has a key of type {type(key).__name__}")
    target[key] = value


def _set_item(machine, _):
  value, key = machine.pop(), machine.pop()
  _set_items(machine, [key, value])


def _append(machine, values):
  _checked(machine.top(), list).extend(values)


def _set_state(machine, _):
  """Leaves out the attributes of a dict, such as `_metadata`."""
  machine.pop()
  _checked(machine.top(), dict)


def _push_tuple(machine, length):
  machine.push(tuple([machine.pop() for _ in range(length)][::-1]))


def _push_storage(machine, _):
  """Pushes the storage of ("storage", type, key, device, size, view)."""
  values = _checked(machine.pop(), tuple)
  if len(values) not in (5, 6) or values[0] != "storage":
    raise ValueError("its pickle refers to other than a storage")
  if values[5:] not in ((), (None,)):
    raise ValueError("its pickle has a view of a storage, as before torch 0.4")
  kind = _checked(values[1], _Global).name
  if kind not in _STORAGES:
    raise ValueError(f"its pickle has a storage of type {kind}")
  key = _checked(values[2], str)
  if not (key.isascii() and key.isdigit()):
    raise ValueError(f"its pickle has a storage named {key!r:.100}")
  storage = Storage(key, _STORAGES[kind], _count(values[4]))
  if machine.storages.setdefault(key, storage) != storage:
    raise ValueError(f"its pickle has two storages named {key}")
  machine.push(storage)


def _ordered_dict(*items):
  if items:
    raise ValueError("its pickle makes an OrderedDict of items")
  return {}


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
  # One that repeats values could be far larger than its file.
  if num_values > size or (num_values and last >= size):
    raise ValueError(
      f"its pickle has a tensor that is larger than storage {storage.key}"
    )
  return Tensor(storage, offset, shape, strides)


def _parameter(tensor, *_):
  return _checked(tensor, Tensor)


_FUNCTIONS = {
  "collections OrderedDict": _ordered_dict,
  "torch._utils _rebuild_parameter": _parameter,
  "torch._utils _rebuild_tensor_v2": _tensor,
}
_NOTHING = ("PROTO", "FRAME")
_VALUES = (
  "BINFLOAT",
  "BININT",
  "BININT1",
  "BININT2",
  "BINUNICODE",
  "LONG1",
  "SHORT_BINUNICODE",
)
_PUTS = ("BINPUT", "LONG_BINPUT")
_GETS = ("BINGET", "LONG_BINGET")
# {opcode: function of the machine and the opcode's argument}.
_OPCODES = {
  **dict.fromkeys(_NOTHING, lambda m, value: None),
  **dict.fromkeys(_VALUES, lambda m, value: m.push(value)),
  **dict.fromkeys(_PUTS, lambda m, i: m.memo.update({i: m.top()})),
  **dict.fromkeys(_GETS, lambda m, i: m.push(m.memo[i])),
  "NONE": lambda m, _: m.push(None),
  "NEWTRUE": lambda m, _: m.push(True),
  "NEWFALSE": lambda m, _: m.push(False),
  "EMPTY_DICT": lambda m, _: m.push({}),
  "EMPTY_LIST": lambda m, _: m.push([]),
  "EMPTY_TUPLE": lambda m, _: m.push(()),
  "TUPLE1": lambda m, _: _push_tuple(m, 1),
  "TUPLE2": lambda m, _: _push_tuple(m, 2),
  "TUPLE3": lambda m, _: _push_tuple(m, 3),
  "TUPLE": lambda m, _: m.push(tuple(m.pop_to_mark())),
  "MARK": lambda m, _: m.frames.append([]),
  "MEMOIZE": lambda m, _: m.memo.update({len(m.memo): m.top()}),
  "APPEND": lambda m, _: _append(m, [m.pop()]),
  "APPENDS": lambda m, _: _append(m, m.pop_to_mark()),
  "SETITEM": _set_item,
  "SETITEMS": lambda m, _: _set_items(m, m.pop_to_mark()),
  "GLOBAL": _mention,
  "STACK_GLOBAL": _mention_stacked,
  "REDUCE": _call,
  "BUILD": _set_state,
  "BINPERSID": _push_storage,
}
