"""Initial values of weights: random, or given later from a file.

TensorFlow copies an array that does not begin at a multiple of 64 bytes, or not
lie in order, or that is of NumPy's own type, lest somebody change it.
"""

import contextlib
import contextvars
import math
import mmap

import keras
import numpy as np

_awaited = contextvars.ContextVar("awaited", default=False)


@contextlib.contextmanager
def awaited():
  """Makes layers built inside start with zeros that take no memory.

  For models whose weights are all loaded afterwards: drawing random weights of
  BERT-Large takes longer than reading them from a file, and doubles the memory.
  """
  token = _awaited.set(True)
  try:
    yield
  finally:
    _awaited.reset(token)


def are_awaited():
  """Returns whether this is inside of `awaited`."""
  return _awaited.get()


def zeros(shape, dtype="float32"):
  """Returns an array of zeros, which takes no memory before it is written.

  Args:
    shape: tuple of int.
    dtype: str, as NumPy calls it.

  Raises:
    ValueError: there is no room for so many, even if nothing is written.
  """
  dtype, size = np.dtype(dtype), math.prod(shape)
  # Pages of its own: NumPy would ask for huge ones, and wait until there are.
  num_bytes = max(size, 1) * dtype.itemsize
  try:
    memory = mmap.mmap(-1, num_bytes, access=mmap.ACCESS_COPY)
  except (OSError, OverflowError) as error:
    raise ValueError(
      f"A weight of shape {tuple(shape)} does not fit into memory: see the"
      " sizes in the model's configuration."
    ) from error
  return np.frombuffer(memory, dtype, size).reshape(shape)


class Given:
  """Array for a variable, which nothing else will read or change.

  Args:
    array: of NumPy.
  """

  def __init__(self, array):
    self._array = array
    self.shape = array.shape
    self.dtype = array.dtype

  def __array__(self, dtype=None, copy=None):
    return self._array if dtype is None else self._array.astype(dtype)


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
  return _Unwritten() if are_awaited() else initializer


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
    return Given(zeros(shape, dtype))
