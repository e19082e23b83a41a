"""Makes the imports of TensorFlow and Keras quiet, quick and whole."""

import contextlib
import os
import sys
import tempfile

from keras_bert_impl import import_hooks
from keras_bert_impl.training import stopping

LEVEL = "TF_CPP_MIN_LOG_LEVEL"

# Keras imports them where they are installed, the first for its wrappers of
# estimators, which imports SciPy, the second for pictures of data: no script
# uses either, and they take a quarter of the time of importing TensorFlow.
_UNUSED_BY_KERAS = ("sklearn", "matplotlib")


def install():
  """Makes later imports of TensorFlow and Keras quiet, quick and whole.

  In this process. A level in the environment that shows messages (0 or 1) shows
  those of the import too. Ctrl-C waits until the import has ended: inside, it
  may crash the process or be lost.
  """
  names = ("tensorflow", "tensorflow_text", "keras")
  import_hooks.around(names, stopping.postponed)
  import_hooks.around(("tensorflow", "tensorflow_text"), _stderr_put_aside)
  import_hooks.around(("keras",), _unused_hidden)


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
