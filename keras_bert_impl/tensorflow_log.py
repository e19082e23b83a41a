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
_only_one = threading.Lock()


@contextlib.contextmanager
def hidden():
  """Hides what TensorFlow logs while it is imported, and later if it can.

  Its errors come as exceptions too. A level in the environment decides instead,
  and 0 or 1 shows the log of the import. What others write to stderr appears at
  the end; all of it does before an exception.
  """
  is_imported = "tensorflow" in sys.modules
  if is_imported or os.environ.get(LEVEL, "3") in ("0", "1"):
    yield
    return
  is_own = LEVEL not in os.environ
  os.environ.setdefault(LEVEL, "3")
  try:
    with _aside():
      yield
  finally:
    if is_own and "tensorflow" not in sys.modules:
      os.environ.pop(LEVEL, None)


@contextlib.contextmanager
def _aside():
  """Puts the file descriptor of stderr aside, unless another thread does."""
  with contextlib.ExitStack() as stack:
    try:
      is_free = _only_one.acquire(blocking=False)
      if is_free:
        stack.callback(_only_one.release)
        aside = stack.enter_context(tempfile.TemporaryFile())
        stderr = os.dup(2)
    except OSError:  # There is no stderr, or no room.
      is_free = False
    if not is_free:
      yield
      return
    stack.callback(os.close, stderr)
    is_whole = True
    try:
      os.dup2(aside.fileno(), 2)
      yield
      is_whole = False
    finally:
      if sys.stderr:
        sys.stderr.flush()
      os.dup2(stderr, 2)
      aside.seek(0)
      for line in aside:
        if is_whole or not _LINES.match(line):
          os.write(stderr, line)
