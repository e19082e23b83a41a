"""Initializer of embedding tables and kernels."""

import contextlib
import contextvars

import keras

from keras_bert_impl import given_arrays

_are_skipped = contextvars.ContextVar("are_skipped", default=False)


@contextlib.contextmanager
def skipped():
  """Context in which layers get no fresh values, but zeros without memory.

  For models whose weights are all loaded: to draw those of BERT-Large takes
  longer than to read them from a file, and twice the memory.
  """
  token = _are_skipped.set(True)
  try:
    yield
  finally:
    _are_skipped.reset(token)


def truncated_normal(stddev):
  """Returns a NEW truncated normal initializer.

  Each weight needs its own: an initializer of Keras 3 returns the same values
  every time it is called, so that a shared one would make the query, key and
  value kernels equal.

  Args:
    stddev: float, `initializer_range` of the configuration.

  Source: google-research/bert, modeling.py, create_initializer.
  """
  # Made in any case: it counts in the sequence of seeds.
  initializer = keras.initializers.TruncatedNormal(stddev=stddev)
  return _Unwritten() if _are_skipped.get() else initializer


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class _Unwritten(keras.initializers.Zeros):
  """Zeros that take no memory before they are written."""

  def __call__(self, shape, dtype=None):
    """Returns the zeros."""
    return given_arrays.Given(given_arrays.zeros(shape, dtype))
