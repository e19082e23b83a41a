"""The log that TensorFlow writes to stderr; standard library only."""

import contextlib
import os
import re
import sys
import tempfile
import threading

LEVEL = "TF_CPP_MIN_LOG_LEVEL"

# What its libraries log before they read the level.
_LINES = re.compile(
  rb"WARNING: All log messages before absl|[IWE]0000 "
  rb"|\d{4}-\d\d-\d\d [\d:.]+: [IWE] |To enable the following instructions"
)
_one_at_a_time = threading.Lock()


@contextlib.contextmanager
def hidden():
  """Hides what TensorFlow logs while it is imported, and later if it can.

  Its errors come as exceptions too. A level in the environment decides instead,
  and 0 or 1 shows the log of the import. What others write to stderr appears at
  the end; all of it does before an exception.
  """
  is_shown = "tensorflow" in sys.modules or os.environ.get(LEVEL) in ("0", "1")
  if is_shown or not _one_at_a_time.acquire(blocking=False):
    yield
    return
  is_own = LEVEL not in os.environ
  os.environ.setdefault(LEVEL, "3")
  try:
    with _aside():
      yield
  finally:
    _one_at_a_time.release()
    if is_own and "tensorflow" not in sys.modules:
      os.environ.pop(LEVEL, None)


@contextlib.contextmanager
def _aside():
  """Puts the file descriptor of stderr aside."""
  try:
    aside, stderr = tempfile.TemporaryFile(), os.dup(2)
  except OSError:  # There is no stderr, or no room.
    yield
    return
  is_whole = True
  with aside:
    try:
      os.dup2(aside.fileno(), 2)
      yield
      is_whole = False
    finally:
      if sys.stderr:
        sys.stderr.flush()
      os.dup2(stderr, 2)
      aside.seek(0)
      shown = (x for x in aside if is_whole or not _LINES.match(x))
      with os.fdopen(stderr, "wb") as file:
        file.writelines(shown)
