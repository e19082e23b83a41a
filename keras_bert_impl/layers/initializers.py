"""Initializer of embedding tables and kernels."""

import keras

from keras_bert_impl import given_arrays


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
  return _Unwritten() if given_arrays.are_awaited() else initializer


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class _Unwritten(keras.initializers.Zeros):
  """Zeros that take no memory before they are written."""

  def __call__(self, shape, dtype=None):
    """Returns the zeros."""
    return given_arrays.Given(given_arrays.zeros(shape, dtype))
