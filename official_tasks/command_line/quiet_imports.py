"""Hides the lines that TensorFlow prints while it is imported.

The first of them ("WARNING: All log messages before absl::InitializeLog() ...")
go to the file descriptor of stderr even with TF_CPP_MIN_LOG_LEVEL.
"""

import contextlib
import os
import sys
import tempfile

from keras_bert_impl import import_hooks

LEVEL = "TF_CPP_MIN_LOG_LEVEL"


def install():
  """Makes later imports of TensorFlow quiet, in this process.

  A level in the environment that shows messages (0 or 1) shows these too.
  """
  import_hooks.around(("tensorflow", "tensorflow_text"), _stderr_put_aside)


@contextlib.contextmanager
def _stderr_put_aside():
  """Hides output to stderr, unless an exception follows it."""
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
