"""Access to files and folders, local or in object stores (gs://...), and JSON.

TensorFlow is imported only for object stores. Faults of a file's content give
one line that names the file.
"""

import collections
import contextlib
import functools
import glob
import json
import os
import re
import shutil
import tempfile

from keras_bert_impl import locks

# Half a character of UTF-16, as it can be written in JSON.
_SURROGATE = re.compile(
  r"\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|[c-fC-F])"
)
_NAMES = {
  dict: "an object",
  list: "a list",
  str: "a text",
  int: "an integer",
  float: "a number",
  bool: "true or false",
  type(None): "null",
}
_REQUIRED = object()
_ADAPTER = "?adapter="  # after a path, which a name follows
# Deeper than any file that is read here; Python's own limit is a matter of its
# version, and of the function that comes to it first.
_DEEPEST = 100


def exists(path):
  """Whether there is a file or folder `path`."""
  return (_gfile() if is_remote(path) else os.path).exists(path)


def is_folder(path):
  """Whether `path` is an existing folder."""
  return (_gfile() if is_remote(path) else os.path).isdir(path)


def list_folder(path):
  """Returns the sorted names in the folder `path`."""
  if is_remote(path):
    return sorted(name.rstrip("/") for name in _gfile().listdir(path))
  return sorted(os.listdir(path))


def size(path):
  """Returns the size of the file `path` in bytes."""
  if is_remote(path):
    return _gfile().stat(path).length
  return os.path.getsize(path)


def open_binary(path):
  """Returns a binary file object that seeks."""
  return _gfile().GFile(path, "rb") if is_remote(path) else open(path, "rb")


def read_range(path, start, num_bytes):
  """Returns `num_bytes` bytes of a file from byte `start` on."""
  with contextlib.closing(open_binary(path)) as file:
    file.seek(start)
    return file.read(num_bytes)


def matches(name):
  """Returns the sorted paths that match a path, glob pattern or folder.

  Of a folder, the files that are not hidden.

  Raises:
    FileNotFoundError: there is no file of this name.
    ValueError: the name of a file is not UTF-8, which TensorFlow needs.
  """
  if is_remote(name):
    return sorted(_gfile().glob(name))
  found = _local_matches(name)
  for path in found:
    if path.encode("utf-8", "replace") != os.fsencode(path):
      raise ValueError(f"The name of {path!r} is not UTF-8: rename the file.")
  return found


def _local_matches(name):
  """Returns the sorted local paths of `matches`."""
  if os.path.isdir(name):
    entries = (os.path.join(name, entry) for entry in sorted(os.listdir(name)))
    return [
      path
      for path in entries
      if os.path.isfile(path) and not os.path.basename(path).startswith(".")
    ]
  if os.path.exists(name):
    return [name]
  if glob.has_magic(name):
    return sorted(filter(os.path.isfile, glob.glob(name)))
  raise FileNotFoundError(f"Input file {name} does not exist.")


def read_bytes(path, name="File"):
  """Returns the content of the file `path`.

  Raises:
    FileNotFoundError: there is none; the message calls it `name`.
  """
  check_exists(path, name)
  with open_binary(path) as file:
    return file.read()


def read_text(path, name="File"):
  """Returns the text of the file `path`, str; see `decode`.

  Raises:
    FileNotFoundError: there is none; the message calls it `name`.
    ValueError: it is not UTF-8.
  """
  return decode(read_bytes(path, name), path)


def read_lines(path, name="File"):
  """Yields the lines of the file `path` with their ends, str, one in memory.

  Raises: as `read_text`.
  """
  check_exists(path, name)
  with open_binary(path) as file:
    for number, line in enumerate(file):
      yield decode(line, path, number)


def check_exists(path, name="File"):
  """Raises FileNotFoundError, which calls the path `name`, if it is missing."""
  if not exists(path):
    raise FileNotFoundError(f"{name} ({path}) does not exist.")


def decode(content, path, num_before=0):
  """Returns the text of bytes in UTF-8, without a byte-order mark.

  Args:
    content: bytes.
    path: str, of the file.
    num_before: int, its lines before these bytes. Only its first line can begin
      with a byte-order mark.

  Raises:
    ValueError: they are none; names the file and the line.
  """
  try:
    return content.decode("utf-8" if num_before else "utf-8-sig")
  except UnicodeDecodeError as error:
    number = content[: error.start].count(b"\n")
    encoding = _encoding_of(content, number)
    line = num_before + number + 1
    remedy = "convert the file to it, if it is text"
    if encoding:
      remedy = (
        f"it looks like {encoding}; convert it: iconv -f {encoding} -t utf-8"
        " FILE > NEW"
      )
    raise ValueError(f"{path}:{line} is not UTF-8: {remedy}.") from error


def _encoding_of(content, number):
  """Returns the encoding that a line's bytes seem to be in, or None."""
  if content.startswith((b"\xff\xfe", b"\xfe\xff")):
    return "utf-16"
  try:
    text = content.split(b"\n", number + 1)[number].decode("cp949")
  except UnicodeDecodeError:
    return None
  others = [character for character in text if not character.isascii()]
  syllables = sum("\uac00" <= character <= "\ud7a3" for character in others)
  # Bytes of other encodings seldom make Korean words.
  return "cp949" if syllables > 0.8 * len(others) else None


def read_json(path, kind=dict, types=None, name="File"):
  """Returns the value of the JSON file `path`; see `parse_json`.

  Raises:
    FileNotFoundError: there is no such file; the message calls it `name`.
    ValueError: as `parse_json`.
  """
  return parse_json(read_text(path, name), path, kind, types)


def find_json(path, kind=dict, types=None):
  """Returns the value of a JSON file, or None without the file."""
  return read_json(path, kind, types) if exists(path) else None


class Folder(os.PathLike):
  """A folder as one opening of it sees it: nothing in it is read twice.

  It is made where a path comes in, handed on in place of the path, and goes
  with the opening: the next one sees what has changed.

  Args:
    path: str or path of a folder, which need not be there; with
      "?adapter=NAME", for what is to be read with an adapter of its model.

  Attributes:
    path: str, without that.
    adapter: str, the name; "" without one.
  """

  def __init__(self, path):
    self.path, _, self.adapter = os.fspath(path).partition(_ADAPTER)
    self._values = {}

  def __fspath__(self):
    return self.path + self.suffix

  __str__ = __fspath__

  @property
  def suffix(self):
    """What follows the path of a folder that is opened with its adapter."""
    return f"{_ADAPTER}{self.adapter}" if self.adapter else ""

  @functools.cached_property
  def is_there(self):
    """Whether it is an existing folder."""
    return is_folder(self.path)

  @functools.cached_property
  def names(self):
    """Sorted names of what is in it, list of str; [] if it is not there."""
    return list_folder(self.path) if self.is_there else []

  @property
  def parent(self):
    """The `Folder` that it is in."""
    folder = os.path.dirname(self.path) or os.curdir
    return Folder(folder + self.suffix)

  def join(self, *names):
    """Returns the path of a file in it, str."""
    here = "" if self.path == os.curdir else self.path
    return os.path.join(here, *names)

  def of_file(self, path):
    """Returns the `Folder` that a file is in: this one, if it is in it."""
    parent = Folder(os.fspath(path) + self.suffix).parent
    return self if parent.path == self.path else parent

  def has(self, name):
    """Whether there is a file or folder of this name in it."""
    return exists(self.join(name))

  def read_json(self, name, kind=dict, types=None):
    """Returns the value of a JSON file in it, not to be changed.

    Args and errors: as of `files.read_json`.
    """
    path = self.join(name)
    if name not in self._values:
      self._values[name] = read_json(path, object)
    return _checked(self._values[name], kind, types, path)

  def find_json(self, name, kind=dict, types=None):
    """Returns the value of a JSON file in it, or None without the file."""
    is_there = name in self._values or self.has(name)
    return self.read_json(name, kind, types) if is_there else None


def parse_json(text, place, kind=dict, types=None):
  """Returns the value of JSON text.

  Args:
    text: str.
    place: str, the file, or file and line, of the text.
    kind: type or tuple of types, what the value must be.
    types: {name: type or tuple of types}, what those of an object's fields
      must be that are there.

  Raises:
    ValueError: it is no JSON, or not of that kind, an object names a field
      twice, a text is none, or it is nested too deeply; names the place.
  """
  try:
    value = json.loads(text, object_pairs_hook=_to_dict)
    if _is_deep(value):
      raise RecursionError
  except json.JSONDecodeError as error:
    line = f":{error.lineno}" if "\n" in text.strip() else ""
    raise ValueError(
      f"{place}{line} is not JSON ({error.msg}): check that it is the right"
      " file and complete."
    ) from error
  except RecursionError:
    raise ValueError(
      f"{place} is not usable: lists and objects in each other, more than"
      f" {_DEEPEST} deep."
    ) from None
  except ValueError as error:
    raise ValueError(f"{place} is not usable: {error}.") from error
  _check_characters(text, value, place)
  return _checked(value, kind, types, place)


def _checked(value, kind, types, place):
  """Returns a value of `parse_json` if it is of its kind and types."""
  check_type(value, kind, str(place))
  check_fields(value, types or {}, place)
  return value


def check_fields(values, types, place):
  """Checks the types of fields of a JSON object; missing ones pass.

  Args:
    values: dict.
    types: {name: type or tuple of types}.
    place: str, location of the object, for messages.

  Raises:
    ValueError: naming place, field and value.
  """
  for name, kind in types.items():
    if name in values:
      check_type(values[name], kind, f"{name} in {place}")


def field(values, name, kind, place, default=_REQUIRED):
  """Returns a field of a JSON object.

  Args:
    values: the object, which should be a dict.
    name: str.
    kind: type or tuple of types, allowed for the field.
    place: str, location of the object, for messages.
    default: value to return if the field is missing.

  Raises:
    ValueError: `values` is not a dict, or the field is missing or has another
      type.
  """
  check_type(values, dict, place)
  if name in values:
    return check_type(values[name], kind, f"{name} in {place}")
  if default is _REQUIRED:
    found = ", ".join(map(repr, values)) or "nothing"
    raise ValueError(f"{place} has no {name!r}, but {found}.")
  return default


def check_type(value, kind, place):
  """Returns the JSON value `value`.

  Raises:
    ValueError: it is not of type `kind`, or of one of several.
  """
  kinds = kind if isinstance(kind, tuple) else (kind,)
  # True is no number, and an integer is one.
  accepted = (*kinds, int) if float in kinds else kinds
  if object in kinds or type(value) in accepted:
    return value
  names = " or ".join(_NAMES[one] for one in kinds)
  raise ValueError(f"{place} must be {names}, not {shown(value)}.")


def beside(path, name):
  """Returns the path of the file `name` beside the file `path`, which names it.

  Raises:
    ValueError: it is elsewhere, where a stranger's file must not lead us.
  """
  if os.path.basename(name) != name or name in ("", os.curdir, os.pardir):
    raise ValueError(
      f"{path} points outside its folder, to {name!r}: the files that it names"
      " must lie beside it."
    )
  return os.path.join(os.path.dirname(path), name)


def shown(value):
  """Returns `value` as a message shows it, str: its beginning if it is long."""
  text = repr(value)
  return text if len(text) <= 60 else f"{text[:60]}..."


@contextlib.contextmanager
def new_file(path):
  """Context of a new file that appears at `path` when it is complete.

  A reader sees the old file or the new one; after an error nothing is left of
  the new one, and what a killed process left is removed by the next. Folders on
  the way are made.

  Args:
    path: str, local or gs://...

  Yields:
    str, the path to write to, which becomes `path` at the end.
  """
  path = os.fspath(path)
  if not is_remote(path):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    _remove_leftovers(path)
    with _temporary(path, _make_file, os.remove) as temporary:
      yield temporary
    return
  gfile = _gfile()
  gfile.makedirs(os.path.dirname(path))
  temporary = _temporary_path(path)
  try:
    yield temporary
    gfile.rename(temporary, path, overwrite=True)
  finally:
    if gfile.exists(temporary):
      gfile.remove(temporary)


@contextlib.contextmanager
def writing(path):
  """Context of a binary file object that writes a `new_file`."""
  with new_file(path) as temporary:
    if is_remote(path):
      with _gfile().GFile(temporary, "wb") as file:
        yield file
      return
    try:
      with open(temporary, "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    except OSError as error:
      # An error for lack of room does not say where.
      if error.errno is not None and error.filename is None:
        error.filename = path
      raise


def write_atomically(path, content):
  """Writes a file atomically; see `writing`.

  Args:
    path: str, local or gs://...
    content: bytes, or str to be written as UTF-8.
  """
  path = os.fspath(path)
  if isinstance(content, str):
    content = content.encode("utf-8")
  if is_remote(path):
    _gfile().makedirs(os.path.dirname(path))
    # An object store shows an object only when it is complete.
    with _gfile().GFile(path, "wb") as file:
      file.write(content)
    return
  with writing(path) as file:
    file.write(content)


def to_json(content):
  """Returns `content` as indented JSON, str."""
  return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def write_json(path, content):
  """Writes `content` atomically as indented JSON."""
  write_atomically(path, to_json(content))


def check_writable(path):
  """Checks that a file can be written, without leaving one.

  Raises:
    ValueError: `path` is a folder.
    OSError: nothing can be written there; names it.
  """
  if is_folder(path):
    raise ValueError(f"{path} is a folder: name a file.")
  if is_remote(path):
    return
  folder = os.path.dirname(os.path.abspath(path))
  while not os.path.exists(folder):
    folder = os.path.dirname(folder)
  try:
    tempfile.TemporaryFile(dir=folder).close()
    with contextlib.suppress(FileNotFoundError):
      os.lstat(_temporary_path(path))  # The name may be too long.
  except OSError as error:
    raise OSError(
      f"{path} cannot be written: {error.strerror} ({folder}). Choose another"
      " place, or get the right to write there."
    ) from error


def count_lines(path):
  """Returns the number of lines of a text file, without empty last ones."""
  return len(read_bytes(path).rstrip().split(b"\n"))


def parse_pieces(content, place):
  """Returns the pieces of a SentencePiece model, list of str.

  Args:
    content: bytes, the whole file.
    place: str, its path, for messages.

  Raises:
    ValueError: it is damaged, or no such model.
  """
  import sentencepiece  # Late: the other kinds do without.

  try:
    if not content:
      raise RuntimeError("the file is empty")
    processor = sentencepiece.SentencePieceProcessor(model_proto=content)
    return [processor.id_to_piece(i) for i in range(processor.get_piece_size())]
  except (RuntimeError, UnicodeDecodeError) as error:
    raise ValueError(
      f"{place} is not a SentencePiece model, or is incomplete: copy it again."
    ) from error


@contextlib.contextmanager
def new_folder(path):
  """Context of a new local folder that appears at `path` when it is complete.

  Yields:
    str, the folder to write into, which becomes `path` at the end; after an
    error nothing is left of it.

  Raises:
    ValueError: `path` exists and is not an empty folder, another process is
      writing it, or it is not local.
  """
  path = os.fspath(path).rstrip("/")
  if is_remote(path):
    raise ValueError(f"{path} must be a local folder: copy it from there.")
  with locks.of_file(path):
    _check_new(path)
    _remove_leftovers(path)
    with _temporary(path, os.mkdir, _remove_folder) as temporary:
      yield temporary
      _check_new(path)


def _check_new(path):
  """Raises ValueError unless `path` is free for a new folder."""
  if exists(path) and not (is_folder(path) and not list_folder(path)):
    raise ValueError(f"{path} exists already: choose another folder.")


@contextlib.contextmanager
def _temporary(path, make, remove):
  """Context of a local file or folder that is renamed to `path` at the end.

  Args:
    path: str.
    make: callable (path), which makes the temporary one.
    remove: callable (path), which removes it after an error.
  """
  temporary = _temporary_path(path)
  with locks.making(temporary, make):
    try:
      yield temporary
      os.replace(temporary, path)
    finally:
      if os.path.exists(temporary):
        remove(temporary)


def _temporary_path(path):
  return f"{path}.tmp-{os.getpid()}"


def _remove_leftovers(path):
  """Removes what killed processes left of a new local file or folder."""
  folder, name = os.path.split(path)
  remove_unlocked(folder, rf"{re.escape(name)}\.tmp-\d+")


def remove_unlocked(folder, pattern):
  """Removes files and folders of a local folder that no process has locked.

  Args:
    folder: str.
    pattern: str, a regular expression of their names.
  """
  # Whose it is nobody knows without locks, and a folder may hide its names.
  with contextlib.suppress(OSError):
    names = os.listdir(folder or ".")
    for entry in filter(re.compile(pattern).fullmatch, names):
      leftover = os.path.join(folder, entry)
      with contextlib.suppress(BlockingIOError), locks.held(leftover):
        remove = _remove_folder if os.path.isdir(leftover) else os.remove
        remove(leftover)


def _to_dict(pairs):
  """Returns the dict of a JSON object, whose names must be unique."""
  values = dict(pairs)
  if len(values) < len(pairs):
    counts = collections.Counter(name for name, _ in pairs)
    [(name, _)] = counts.most_common(1)
    raise ValueError(f"an object has {name!r} twice")
  return values


def _is_deep(value):
  """Returns whether a JSON value is nested more than `_DEEPEST` deep."""
  level = [value]
  for _ in range(_DEEPEST + 1):
    level = [
      inner
      for outer in level
      if isinstance(outer, (dict, list))
      for inner in (outer.values() if isinstance(outer, dict) else outer)
    ]
    if not level:
      return False
  return True


def _check_characters(text, value, place):
  """Raises ValueError if a JSON value contains half a surrogate pair."""
  found = _SURROGATE.search(text)
  if not found:
    return
  try:
    json.dumps(value, ensure_ascii=False).encode("utf-8")
  except UnicodeEncodeError:
    line = text[: found.start()].count("\n") + 1
    line = f":{line}" if "\n" in text.strip() else ""
    raise ValueError(
      f"{place}{line} holds half a character (a surrogate without the other,"
      f" such as {found.group()}...): write the whole character."
    ) from None


def _make_file(path):
  open(path, "wb").close()


def _remove_folder(path):
  shutil.rmtree(path, ignore_errors=True)


def is_remote(path):
  """Whether `path` is in an object store.

  Raises:
    ValueError: TensorFlow here does not know such paths.
  """
  scheme, separator, _ = os.fspath(path).partition("://")
  if separator and scheme not in _gfile().get_registered_schemes():
    raise ValueError(
      f"{path} cannot be opened: TensorFlow here reads no {scheme}://. Give a"
      " local path (download it first), gs:// on Google Cloud, or the name of a"
      " model on the Hugging Face hub, such as klue/bert-base."
    )
  return bool(separator)


def _gfile():
  import tensorflow as tf

  return tf.io.gfile
