"""The initializer of every table and kernel."""

import keras


def truncated_normal(stddev):
  """Returns a NEW truncated normal initializer.

  A new one for each weight: an initializer of Keras 3 returns the same values
  every time it is called, so that one shared between the query, key and value
  kernels would make the three equal.

  Args:
    stddev: float, `initializer_range` of the configuration.

  Source: google-research/bert, modeling.py, create_initializer.
  """
  return keras.initializers.TruncatedNormal(stddev=stddev)
