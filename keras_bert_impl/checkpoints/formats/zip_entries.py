"""Entries of zip files that are stored without compression."""

import io
import itertools
import os
import zipfile

# Errors of `zipfile` and of these functions for damaged files.
FAULTS = (
  NotImplementedError,
  OSError,
  OverflowError,
  RuntimeError,
  ValueError,
  zipfile.BadZipFile,
)


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

  def check_inside(self, end, what):
    """Raises ValueError if a part ends beyond the file."""
    if end > self.num_bytes:
      raise ValueError(f"{what} ends at byte {end} of {self.num_bytes}")


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

  def readinto(self, buffer):
    """Reads bytes into a buffer, and returns their number."""
    count = max(min(len(buffer), self._size - self._place), 0)
    self._file.seek(self._start + self._place)
    count = self._file.readinto(memoryview(buffer)[:count])
    self._place += count
    return count


def entries(archive):
  """Returns {name: `zipfile.ZipInfo`} of an open `zipfile.ZipFile`.

  Raises:
    ValueError: two entries have one name.
  """
  found = archive.NameToInfo
  if len(found) < len(archive.infolist()):
    raise ValueError("two of its entries have one name")
  return found


def offset(archive, info):
  """Returns the byte of the file at which an entry's content begins, int.

  Args:
    archive: `zipfile.ZipFile` of a `GuardedFile`.
    info: `zipfile.ZipInfo`.

  Raises:
    ValueError: the entry is compressed, or not in the file.
    Others of `FAULTS`: it is encrypted, or not where it must be.
  """
  if info.compress_type != zipfile.ZIP_STORED:
    raise ValueError(f"entry {info.filename!r:.100} is compressed")
  with archive.open(info):
    begin = archive.fp.tell()
  archive.fp.check_inside(
    begin + info.file_size, f"entry {info.filename!r:.100}"
  )
  return begin


def content(archive, info):
  """Returns the bytes of an entry; errors as of `offset`."""
  offset(archive, info)
  return archive.read(info)


def overlap(infos):
  """Returns whether two of the `zipfile.ZipInfo` share a byte."""
  infos = sorted(infos, key=lambda info: info.header_offset)
  return any(
    info.header_offset + info.file_size > following.header_offset
    for info, following in itertools.pairwise(infos)
  )
