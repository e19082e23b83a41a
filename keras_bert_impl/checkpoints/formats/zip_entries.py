"""Entries of zip files that are stored without compression."""

import io
import itertools
import os
import struct
import zipfile

_MARK = b"PK\3\4"  # with which each entry begins
# The fields of an entry before its name: at the end the sizes of the name and
# of what comes between it and the content.
_LOCAL_HEADER = struct.Struct("<26xHH")
_ENCRYPTED = 1


class GuardedFile(io.FileIO):
  """A file of which only small pieces can be read.

  Damaged files may claim entries of any size.

  Args:
    path: str.
    most_bytes: int, the largest piece.
  """

  def __init__(self, path, most_bytes):
    super().__init__(path)
    self.num_bytes = os.path.getsize(path)
    self._most_bytes = most_bytes

  def read(self, size=-1):
    """Returns `size` bytes; all that are left by default.

    Raises:
      ValueError: they are more than `most_bytes`.
    """
    if size < 0:
      size = self.num_bytes - self.tell()
    if size > self._most_bytes:
      raise ValueError(
        f"its content or its directory has {size} bytes, more than "
        f"{self._most_bytes}"
      )
    return super().read(size)

  def read_at(self, offset, size):
    """Returns `size` bytes; fewer at the end of the file.

    Raises:
      ValueError: as `read`, or `offset` is not in the file.
    """
    if not 0 <= offset <= self.num_bytes:
      raise ValueError(f"a part is to be at byte {offset} of {self.num_bytes}")
    self.seek(offset)
    return self.read(size)

  def check_inside(self, offset, size, what):
    """Raises ValueError if a part does not end in the file."""
    if offset + size > self.num_bytes:
      raise ValueError(
        f"{what} ends at byte {offset + size} of {self.num_bytes}"
      )


class Window(io.RawIOBase):
  """A part of a file, read as if it were a file of its own.

  Args:
    file: binary file that can seek and `readinto`.
    start: int, byte of the file at which the part begins.
    size: int, bytes of the part.
  """

  def __init__(self, file, start, size):
    super().__init__()
    self._file, self._start, self._size = file, start, size
    self._place = 0

  def seek(self, offset, whence=os.SEEK_SET):
    """Moves to a byte of the part, and returns its number."""
    base = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._size}
    self._place = base[whence] + offset
    return self._place

  def tell(self):
    """Returns the byte of the part that is read next."""
    return self._place

  def seekable(self):
    """Returns True."""
    return True

  def readable(self):
    """Returns True."""
    return True

  def readinto(self, buffer):
    """Reads bytes into a buffer, and returns their number."""
    count = max(min(len(buffer), self._size - self._place), 0)
    self._file.seek(self._start + self._place)
    count = self._file.readinto(memoryview(buffer)[:count])
    self._place += count
    return count


def entries(file):
  """Returns {name: `zipfile.ZipInfo`} of an open zip file.

  Raises:
    ValueError: it is damaged, or two entries have one name.
  """
  try:
    with zipfile.ZipFile(file) as archive:
      infos = archive.infolist()
  except (
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    zipfile.BadZipFile,
  ) as error:
    raise ValueError(str(error)) from error
  found = {info.filename: info for info in infos}
  if len(found) < len(infos):
    raise ValueError("two of its entries have one name")
  return found


def offset(file, info):
  """Returns the byte of the file at which an entry's content begins, int.

  Args:
    file: `GuardedFile`.
    info: `zipfile.ZipInfo`.

  Raises:
    ValueError: it is compressed or encrypted, or not in the file.
  """
  name = info.filename.encode()
  if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & _ENCRYPTED:
    raise ValueError(f"entry {info.filename!r:.100} is compressed or encrypted")
  header = file.read_at(info.header_offset, _LOCAL_HEADER.size + len(name))
  if not header.startswith(_MARK) or header[_LOCAL_HEADER.size :] != name:
    raise ValueError(f"entry {info.filename!r:.100} is not where it must be")
  name_size, extra_size = _LOCAL_HEADER.unpack_from(header)
  begin = info.header_offset + _LOCAL_HEADER.size + name_size + extra_size
  file.check_inside(begin, info.file_size, f"entry {info.filename!r:.100}")
  return begin


def content(file, info):
  """Returns the bytes of an entry; errors as of `offset`."""
  return file.read_at(offset(file, info), info.file_size)


def overlap(infos):
  """Returns whether two of the `zipfile.ZipInfo` share a byte."""
  infos = sorted(infos, key=lambda info: info.header_offset)
  return any(
    info.header_offset + info.file_size > following.header_offset
    for info, following in itertools.pairwise(infos)
  )
