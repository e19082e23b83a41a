"""One line for what the file system refuses: the path, why, and a remedy."""

import errno
import os
import re

_PLACE = "choose another place, or get the right to write there"
_ROOM = "make room there, or choose another place"
# {number of the error: (what could not be done, remedy)}.
_MEANINGS = {
  errno.EACCES: ("opened", "get the right to it, or choose another place"),
  errno.EDQUOT: ("written", _ROOM),
  errno.EEXIST: ("made", "a file of this name is in the way: choose another"),
  errno.EFBIG: (
    "written",
    "raise the limit of file sizes (ulimit -f), or choose another place",
  ),
  errno.EIO: ("read or written", "the disk or network fails: choose another"),
  errno.EISDIR: ("opened", "it is a folder: name a file"),
  errno.ELOOP: ("opened", "its links lead back to themselves: name the file"),
  errno.EMFILE: ("opened", "raise the limit of open files (ulimit -n)"),
  errno.ENAMETOOLONG: (
    "opened",
    "choose a shorter name; 255 bytes at most, of which a file takes some more"
    " while it is written",
  ),
  errno.ENFILE: ("opened", "end other programs, which hold too many files"),
  errno.ENODEV: ("opened", "name a file"),
  errno.ENOENT: ("found", "check the path"),
  errno.ENOSPC: ("written", _ROOM),
  errno.ENOTDIR: ("opened", "a part of the path is a file: check the path"),
  errno.ENOTEMPTY: ("replaced", "it is not empty: choose another folder"),
  errno.EPERM: ("written", _PLACE),
  errno.EROFS: ("written", _PLACE),
  errno.ESTALE: ("opened", "the network file system has lost it: try again"),
}
_NUMBERS = {os.strerror(number): number for number in _MEANINGS}
# TensorFlow reports "/a/b; No space left on device [Op:SaveV2] name: ".
_TENSORFLOW = re.compile(
  rf"(?:.*\}}\}} )?(?P<path>[^;]*?); (?P<reason>{'|'.join(_NUMBERS)})\b.*"
)
# Names of files, and of folders of versions, while they are written.
_TEMPORARY = re.compile(
  r"\.tmp-\d+(?=/|$)|\.tempstate\d+$|\.tmp[0-9a-f]{32}$|(?<=/)tmp-\d+-\w+/"
)


def explained(error):
  """Returns the line about the file that an exception is about.

  Args:
    error: Exception.

  Returns:
    str; None if it is none of the file system, or its message is a line of our
    own.
  """
  number, path = _parse(error)
  if number not in _MEANINGS:
    return None
  done, remedy = _MEANINGS[number]
  path = _TEMPORARY.sub("", path) or "A file without a name"
  return f"{path} cannot be {done} ({os.strerror(number)}): {remedy}."


def as_os_error(error):
  """Returns the OSError of such an exception, which says its line, or None."""
  line, number = explained(error), _parse(error)[0]
  # The number decides the class, such as FileNotFoundError.
  return line and type(OSError(number, ""))(line)


def reason(error):
  """Returns why the file system refused, str, without the path."""
  number, _ = _parse(error)
  return os.strerror(number) if number else str(error)


def remedy(error):
  """Returns the remedy for an exception of the file system, str."""
  number, _ = _parse(error)
  return _MEANINGS.get(number, (None, "fix the cause"))[1]


def _parse(error):
  """Returns (number of an error of the file system or None, path)."""
  if isinstance(error, OSError):
    return error.errno, os.fsdecode(error.filename or "")
  found = _TENSORFLOW.fullmatch(" ".join(str(error).split()))
  return (_NUMBERS[found["reason"]], found["path"]) if found else (None, "")
