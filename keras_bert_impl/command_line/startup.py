"""Imports TensorFlow and Keras for a script: quietly, quickly and whole."""

import contextlib
import importlib
import sys

from keras_bert_impl import tensorflow_log
from keras_bert_impl.training import stopping

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
  with stopping.postponed(), tensorflow_log.hidden(), _unused_hidden():
    for name in names:
      importlib.import_module(name)


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
