"""Locks of files and folders, which end with the process that holds them.

A killed process leaves no lock, at most a file that the next one takes over.
Object stores and some network file systems have no locks: there the functions
that lock an output let every process go on.
"""

import contextlib
import os
import socket


@contextlib.contextmanager
def of_folder(folder):
  """Context in which no other process can lock the output folder `folder`.

  The folder is made; it is removed again if nothing was written into it.

  Raises:
    ValueError: another process has locked it; names it.
    OSError: nothing can be written there.
  """
  folder = os.fspath(folder)
  if _is_remote(folder):
    yield
    return
  is_new = not os.path.exists(folder)
  os.makedirs(folder, exist_ok=True)
  try:
    with _lock_file(os.path.join(folder, ".lock"), folder):
      yield
  finally:
    if is_new:
      with contextlib.suppress(OSError):  # Not empty.
        os.rmdir(folder)


@contextlib.contextmanager
def of_file(path):
  """Context in which no other process can lock the output file `path`.

  Raises:
    As `of_folder`.
  """
  path = os.fspath(path)
  if _is_remote(path):
    yield
    return
  folder, name = os.path.split(path)
  os.makedirs(folder or ".", exist_ok=True)
  with _lock_file(os.path.join(folder, f".{name}.lock"), path):
    yield


@contextlib.contextmanager
def held(path):
  """Context in which this process has locked a file or folder that is there.

  Raises:
    BlockingIOError: another process has.
    OSError: it is not there, or there are no locks.
  """
  descriptor = _open(path)
  try:
    _lock(descriptor)
    yield
  finally:
    os.close(descriptor)


@contextlib.contextmanager
def making(path, make):
  """Context in which this process has locked a file or folder that it makes.

  Args:
    path: str.
    make: callable (path), which makes it.
  """
  while True:
    make(path)
    # Until it is locked, another process can take it for a leftover.
    try:
      descriptor = _open(path)
    except FileNotFoundError:
      continue
    try:
      with contextlib.suppress(OSError):  # No locks here.
        _lock(descriptor, waits=True)
      if _is_at(descriptor, path):
        yield
        return
    finally:
      os.close(descriptor)


@contextlib.contextmanager
def _lock_file(lock, path):
  """Holds the lock file `lock` of an output `path`; removes it at the end."""
  while True:
    try:
      descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
      error.filename = path  # The name that the user knows.
      raise
    try:
      try:
        _lock(descriptor)
      except BlockingIOError:
        holder = os.read(descriptor, 200).decode(errors="replace")
        raise ValueError(
          f"{path} is in use by {holder or 'another process'}: wait until that"
          " has ended, or choose another output."
        ) from None
      except OSError:  # No locks here.
        pass
      if not _is_at(descriptor, lock):
        continue  # Its last holder has just removed it.
      with contextlib.suppress(OSError):  # A full disk.
        os.truncate(descriptor, 0)
        name = f"process {os.getpid()} on {socket.gethostname()}"
        os.write(descriptor, name.encode())
      try:
        yield
      finally:
        with contextlib.suppress(OSError):
          os.remove(lock)
      return
    finally:
      os.close(descriptor)


def _open(path):
  # Network file systems lock only files that can be written.
  return os.open(path, os.O_RDONLY if os.path.isdir(path) else os.O_RDWR)


def _lock(descriptor, waits=False):
  """Locks an open file.

  Raises:
    BlockingIOError: another process has, and `waits` is False.
    OSError: there are no locks.
  """
  try:
    import fcntl  # Late: Windows has none.
  except ImportError as error:
    raise OSError("no locks") from error
  fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))


def _is_at(descriptor, path):
  """Returns whether an open file is the one at `path`."""
  try:
    return os.path.samestat(os.fstat(descriptor), os.stat(path))
  except FileNotFoundError:
    return False


def _is_remote(path):
  return "://" in path
