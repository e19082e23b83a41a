"""Initializers of embedding tables and kernels."""

import math

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
  return _Unwritten() if given_arrays.AWAITED.get() else initializer


def residual_stddev(stddev, num_layers):
  """Returns the standard deviation of the last kernel of each half of a block.

  The hidden states are the sum of the outputs of all halves, two for each
  layer: smaller kernels keep this sum from growing with the number of layers.

  Args:
    stddev: float, standard deviation of the other kernels.
    num_layers: int, layers of the encoder; None leaves `stddev` as it is.

  Source: Shoeybi et al. 2019 (Megatron-LM), section 4.2.
  """
  return stddev if num_layers is None else stddev / math.sqrt(2 * num_layers)


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class _Unwritten(keras.initializers.Zeros):
  """Zeros that take no memory before they are written."""

  def __call__(self, shape, dtype=None):
    """Returns the zeros."""
    return given_arrays.Given(given_arrays.zeros(shape, dtype))
