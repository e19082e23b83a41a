"""Files that only look as if `torch.save` had written them."""

import random
import struct
import tracemalloc
import zipfile

import pytest

from keras_bert_impl.checkpoints.formats import torch_format
from tests.checkpoints import torch_files as t

MOST_MEMORY = 150 << 20


def stacked(module, name):
  return t.text(module) + t.text(name) + b"\x93"


def of_tensor(**options):
  return t.dictionary({"a": t.tensor(**options)})


def doubled(levels):
  """A tuple of one tuple twice, and so on."""
  numbers = map(bytes, zip(range(levels)))
  return b")" + b"".join(b"q" + n + b"h" + n + b"\x86" for n in numbers)


TOUCH = t.text("touch executed")
SYSTEM = t.call("os", "system", TOUCH)
VIEW = t.sequence(t.text("1"), t.number(0), t.number(3))
# {what: (part of a pickle, what the message says)}.
PICKLES = {
  "os.system": (SYSTEM, "names 'os.system'"),
  "eval": (t.call("builtins", "eval", TOUCH), "names 'builtins.eval'"),
  "a program of torch": (t.call("torch", "load", TOUCH), "'torch.load'"),
  "stacked global": (stacked("os", "system") + b")R", "names 'os.system'"),
  "path through a global": (
    stacked("torch._utils", "_rebuild_tensor_v2.__globals__"),
    "_rebuild_tensor_v2.__globals__",
  ),
  "stacked global of a number": (
    t.number(1) + t.text("system") + b"\x93",
    "STACK_GLOBAL requires str",
  ),
  "stacked global of a global": (
    t.mention("collections", "OrderedDict") + t.text("x") + b"\x93",
    "STACK_GLOBAL requires str",
  ),
  "call within a call": (
    of_tensor(values=SYSTEM),
    "names 'os.system'",
  ),
  "call of a result": (
    t.call("collections", "OrderedDict") + b")R",
    "'_Dict' object is not callable",
  ),
  "call of a type": (
    t.mention("torch", "FloatStorage") + b")R",
    "'str' object is not callable",
  ),
  "call with the wrong arguments": (
    t.call("torch._utils", "_rebuild_tensor_v2", t.number(1)),
    "_tensor() missing 3 required",
  ),
  "INST": (b"(" + TOUCH + b"ios\nsystem\n", "opcode INST"),
  "OBJ": (b"(cos\nsystem\n" + TOUCH + b"o", "names 'os.system'"),
  "NEWOBJ": (t.mention("torch", "IntStorage") + b")\x81", "opcode NEWOBJ"),
  "extension registry": (b"\x82\x01", "opcode EXT1"),
  "text of a persistent id": (b"Pos.system\n", "opcode PERSID"),
  "persistent id of no storage": (b")Q", "refers to other than a storage"),
  "view of a storage": (
    of_tensor(values=t.storage("0", 6, "FloatStorage", VIEW)),
    "view of a storage",
  ),
  "state for what is no dict": (b"]}b", "holds 0 state dicts"),
  "storage of a path": (
    of_tensor(values=t.storage("../../secret")),
    "storage named '../../secret'",
  ),
  "storage of an unknown type": (
    of_tensor(values=t.storage("0", 6, "QInt8Storage")),
    "names 'torch.QInt8Storage'",
  ),
  "storage of no type": (
    of_tensor(values=t.storage("0", 6, "", kind_part=t.text("float99"))),
    "storage of type 'float99'",
  ),
  "tensor of no storage": (
    of_tensor(values=t.number(1)),
    "has a int where a Storage must be",
  ),
  "huge storage": (of_tensor(values=t.storage("0", 2**62)), "bytes, not"),
  "negative storage": (of_tensor(values=t.storage("0", -1)), "negative size"),
  "one storage of two sizes": (
    of_tensor()[:-1]
    + t.text("b")
    + t.tensor(t.storage("0", 5), 0, (), ())
    + b"u",
    "two storages named 0",
  ),
  "huge tensor": (of_tensor(shape=(2**40, 2**40)), "larger than storage 0"),
  "tensor that repeats its values": (
    of_tensor(shape=(2**40, 2), strides=(0, 0)),
    "larger than storage 0",
  ),
  "strides beyond the storage": (of_tensor(strides=(4, 1)), "larger than"),
  "offset beyond the storage": (of_tensor(offset=1), "larger than storage"),
  "negative offset": (of_tensor(offset=-1), "negative size, offset"),
  "negative stride": (of_tensor(strides=(-3, 1)), "negative size, offset"),
  "strides of another shape": (
    of_tensor(strides=(1,)),
    "2 sizes and 1 strides",
  ),
  "too many axes": (
    of_tensor(shape=40 * (1,), strides=40 * (1,)),
    "40 sizes and 40 strides",
  ),
  "tuples in tuples": (doubled(60), "holds 0 state dicts"),
  "tuples in tuples as a key": (
    b"}" + doubled(60) + b"Ns",
    "key of type tuple",
  ),
  "deep nesting": (b")" + 200_000 * b"\x85", "holds 0 state dicts"),
  "many opcodes": (300_000 * b"]", "more than 262144 opcodes"),
  "huge pickle": (t.text("x" * (5 << 20)), "directory has 524"),
  "huge length of a text": (b"\x8d" + 7 * b"\xff" + b"\x00", "expected"),
  "huge length of a number": (b"\x8b\xff\xff\xff\x7f", "not enough data"),
  "value that was never kept": (b"h\x07", "Memo value not found at index 7"),
  "nothing to take": (b"R", "lacks what it works on"),
  "no mark": (b"t", "lacks what it works on"),
  "two values": (b"))", "holds 0 state dicts"),
  "a key without a value": (b"}(" + TOUCH + b"u", "list index out of range"),
  "no opcode": (b"\xff", "opcode b'\\xff' unknown"),
  "name of a tensor on two lines": (
    t.dictionary({"a\nb": t.tensor()}),
    "characters that none can read",
  ),
  "no tensor": (b"}", "holds 0 state dicts"),
}


def assert_refused(path, message, monkeypatch):
  """Checks for one line, that nothing ran, and the peak of memory.

  Args:
    path: path, the file.
    message: str, words of the line, or after "|" those of later Pythons.
    monkeypatch: fixture.
  """
  monkeypatch.chdir(path.parent)
  tracemalloc.start()
  try:
    with pytest.raises(ValueError) as error:
      torch_format.read(path)
    assert tracemalloc.get_traced_memory()[1] < MOST_MEMORY
  finally:
    tracemalloc.stop()
  line = str(error.value)
  assert any(words in line for words in message.split("|"))
  assert str(path) in line and "torch.save(model.state_dict(), path)" in line
  assert "\n" not in line
  assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("case", PICKLES)
def test_a_hostile_pickle_is_refused_by_name(case, tmp_path, monkeypatch):
  part, message = PICKLES[case]
  storages = None if b"Storage" in part else {}
  path = t.write_zip(tmp_path / "model.bin", part, storages)
  assert_refused(path, message, monkeypatch)


def zipped(message, *args, **options):
  return lambda path: t.write_zip(path, *args, **options), message


def patched(message, name, field, value, find=bytes.rfind, size=46):
  """A zip file with another value in the header of an entry.

  Args:
    message: str, what the error says.
    name: bytes, of the entry.
    field: int, byte of the header.
    value: bytes, the other value.
    find: function, which header: the last is in the directory.
    size: int, bytes of the header.
  """

  def write(path):
    content = bytearray(t.write_zip(path).read_bytes())
    start = find(bytes(content), name) - size + field
    content[start : start + len(value)] = value
    path.write_bytes(content)

  return write, message


def write_twice(path):
  t.write_zip(path)
  with zipfile.ZipFile(path, "a") as archive:
    with pytest.warns(UserWarning):
      archive.writestr("model/data.pkl", t.pickle(SYSTEM))


def write_second(path):
  t.write_zip(path)
  with zipfile.ZipFile(path, "a") as archive:
    archive.writestr("other/data.pkl", t.pickle(SYSTEM))


def write_overlapping(path):
  """Writes a storage within another one."""
  inner = struct.pack("<4s22xHH", b"PK\3\4", 12, 0) + b"model/data/1"
  inner += bytes(26)
  outer = t.tensor(t.storage("0", len(inner) // 4), 0, (), ())
  part = t.dictionary({"a": outer, "b": t.tensor(t.storage("1", 6))})
  t.write_zip(path, part, {"0": inner, "1": bytes(24)})
  content = bytearray(path.read_bytes())
  struct.pack_into(
    "<I", content, content.rfind(b"model/data/1") - 4, content.find(inner)
  )
  path.write_bytes(content)


# {what: (function that writes the file `path`, what the message says)}.
FILES = {
  "compressed pickle": zipped(
    "'model/data.pkl' is compressed",
    t.text(50_000_000 * "x"),
    compressed=["data.pkl"],
  ),
  "compressed storage": zipped(
    "'model/data/0' is compressed",
    of_tensor(values=t.storage("0", 10_000_000)),
    {"0": bytes(40_000_000)},
    compressed=["data/0"],
  ),
  "encrypted": patched("is encrypted", b"model/data.pkl", 8, b"\1"),
  "method of compression": patched(
    "is compressed", b"model/data/0", 10, b"\x63"
  ),
  "overlapping storages": (
    write_overlapping,
    "its entries overlap|Overlapped entries",
  ),
  "two entries of one name": (write_twice, "have one name"),
  "no pickle": zipped("0 entries */data.pkl", **{"data.pkl": None}),
  "two pickles": (write_second, "2 entries */data.pkl"),
  "pickle in a folder": zipped("0 entries", root="model/deeper"),
  "big-endian": zipped("are big-endian", byteorder=b"big"),
  "missing storage": zipped("entry model/data/0 is missing", storages={}),
  "short storage": zipped("has 20 bytes, not 24", storages={"0": bytes(20)}),
  "long storage": zipped("has 28 bytes, not 24", storages={"0": bytes(28)}),
  "other name in the entry": patched(
    "File name in directory",
    b"model/data/0",
    30,
    b"x",
    bytes.find,
    30,
  ),
  "entry beyond the file": patched(
    "Truncated file header", b"model/data/0", 42, b"\xff\xff\xff\x7f"
  ),
  "size beyond the file": patched(
    "entry model/data/0 has", b"model/data/0", 24, b"\xff\xff\xff\x7f"
  ),
  "pickle beyond the file": patched(
    "ends at byte|Overlapped entries",
    b"model/data.pkl",
    20,
    2 * b"\xff\xff\xff\x7f",
  ),
  "huge directory": (
    lambda path: path.write_bytes(
      b"PK\3\4"
      + bytes(5 << 20)
      + struct.pack("<4s8xIIH", b"PK\5\6", 5 << 20, 4, 0)
    ),
    "directory has 5242880 bytes",
  ),
  "empty": (lambda path: path.write_bytes(b""), "pickle exhausted"),
  "text": (lambda path: path.write_bytes(b"<html>"), "opcode"),
  "tar file": (
    lambda path: path.write_bytes(b"storages" + bytes(2000)),
    "opcode",
  ),
  "other magic number": (
    lambda path: t.write_legacy(path, magic=7),
    "not of torch.save",
  ),
  "old form, call": (
    lambda path: t.write_legacy(path, SYSTEM, {}),
    "names 'os.system'",
  ),
  "old form, huge pickle": (
    lambda path: t.write_legacy(path, t.text("x" * (5 << 20)), {}),
    "only 419",
  ),
  "old form, big-endian": (
    lambda path: t.write_legacy(path, little=b"\x89"),
    "are big-endian",
  ),
  "old form, missing storage": (
    lambda path: t.write_legacy(path, storages={}),
    "storage 0 is missing",
  ),
  "old form, storage too many": (
    lambda path: t.write_legacy(path, storages={"0": bytes(24), "1": b""}),
    "a storage that its pickle does not name",
  ),
  "old form, short storage": (
    lambda path: t.write_legacy(path, storages={"0": bytes(20)}),
    "has 5 values there, 6 in the pickle",
  ),
}


@pytest.mark.parametrize("case", FILES)
def test_a_hostile_file_is_refused(case, tmp_path, monkeypatch):
  write, message = FILES[case]
  write(tmp_path / "model.bin")
  assert_refused(tmp_path / "model.bin", message, monkeypatch)


@pytest.mark.parametrize("write", [t.write_zip, t.write_legacy])
def test_a_file_cut_off_anywhere_is_refused(write, tmp_path, monkeypatch):
  path = write(tmp_path / "model.bin")
  content = path.read_bytes()
  for length in range(len(content)):
    path.write_bytes(content[:length])
    assert_refused(path, "is damaged", monkeypatch)


@pytest.mark.parametrize("write", [t.write_zip, t.write_legacy])
def test_any_other_byte_is_read_or_refused_in_one_line(
  write, tmp_path, monkeypatch
):
  monkeypatch.chdir(tmp_path)
  path = write(tmp_path / "model.bin")
  content = path.read_bytes()
  generator = random.Random(0)
  for position in range(len(content)):
    changed = bytearray(content)
    changed[position] = generator.randrange(256)
    path.write_bytes(changed)
    try:
      tensors = torch_format.read(path)
      for name in tensors:
        tensors[name]
    except ValueError as error:
      assert "\n" not in str(error)
  assert list(tmp_path.iterdir()) == [path]
