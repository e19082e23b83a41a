"""Initializer of embedding tables and kernels."""

import keras


def truncated_normal(stddev):
  """Returns a NEW truncated normal initializer.

  Each weight needs its own: an initializer of Keras 3 returns the same values
  every time it is called, so that a shared one would make the query, key and
  value kernels equal.

  Args:
    stddev: float, `initializer_range` of the configuration.

  Source: google-research/bert, modeling.py, create_initializer.
  """
  return keras.initializers.TruncatedNormal(stddev=stddev)
