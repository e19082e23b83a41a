"""Keeps what TensorFlow prints while it is imported off the terminal.

Its first lines ("WARNING: All log messages before absl::InitializeLog() ...")
go to the file descriptor of stderr whatever TF_CPP_MIN_LOG_LEVEL says.
"""

import contextlib
import os
import sys
import tempfile

from keras_bert_impl import import_hooks

LEVEL = "TF_CPP_MIN_LOG_LEVEL"


def install():
  """Imports TensorFlow quietly from now on, in this process.

  A level in the environment that shows messages (0 or 1) shows these too.
  """
  import_hooks.around(("tensorflow", "tensorflow_text"), _stderr_put_aside)


@contextlib.contextmanager
def _stderr_put_aside():
  """Hides what is written to stderr, unless an exception follows it."""
  if os.environ.get(LEVEL, "3") in ("0", "1"):
    yield
    return
  sys.stderr.flush()
  stderr = os.dup(2)
  with tempfile.TemporaryFile() as aside:
    os.dup2(aside.fileno(), 2)
    try:
      yield
    except BaseException:
      aside.seek(0)
      os.write(stderr, aside.read())
      raise
    finally:
      os.dup2(stderr, 2)
      os.close(stderr)
