"""Imports TensorFlow and Keras for a script: quietly, quickly and whole."""

import contextlib
import importlib
import os
import sys
import tempfile

from keras_bert_impl.training import stopping

LEVEL = "TF_CPP_MIN_LOG_LEVEL"

# Keras imports them where they are installed, the first for its wrappers of
# estimators, which imports SciPy, the second for pictures of data: no script
# uses either, and they take a quarter of the time of importing TensorFlow.
_UNUSED_BY_KERAS = ("sklearn", "matplotlib")


def import_quietly(*names):
  """Imports modules before the work of a script begins.

  A level in the environment that shows messages (0 or 1) shows those of the
  import too. Ctrl-C waits until the import has ended: inside, it may crash the
  process or be lost.

  Args:
    *names: str, such as "keras", which imports TensorFlow too.
  """
  with stopping.postponed(), _stderr_put_aside(), _unused_hidden():
    for name in names:
      importlib.import_module(name)


@contextlib.contextmanager
def _stderr_put_aside():
  """Hides output to stderr, unless an exception follows it.

  The first line of TensorFlow ("WARNING: All log messages before
  absl::InitializeLog() ...") goes to the file descriptor of stderr even with
  TF_CPP_MIN_LOG_LEVEL.
  """
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


@contextlib.contextmanager
def _unused_hidden():
  """Makes modules appear not to be installed while Keras is imported."""
  hidden = [name for name in _UNUSED_BY_KERAS if name not in sys.modules]
  sys.modules.update(dict.fromkeys(hidden))  # As Python documents None there.
  try:
    yield
  finally:
    for name in hidden:
      del sys.modules[name]
