"""Arrays whose memory a variable of TensorFlow takes over.

TensorFlow copies an array that does not begin at a multiple of 64 bytes, or not
lie in order, or that is of NumPy's own type, lest somebody change it.
"""

import numpy as np

_ALIGNMENT = 64


def empty(shape, dtype="float32"):
  """Returns an array to be filled and given.

  Args:
    shape: tuple of int.
    dtype: str, as NumPy calls it.
  """
  return _aligned(shape, dtype, np.empty)


def zeros(shape, dtype="float32"):
  """Returns an array of zeros, which takes no memory before it is written.

  Args:
    shape: tuple of int.
    dtype: str, as NumPy calls it.
  """
  return _aligned(shape, dtype, np.zeros)


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


def _aligned(shape, dtype, allocate):
  dtype = np.dtype(dtype)
  num_bytes = int(np.prod(shape)) * dtype.itemsize
  memory = allocate(num_bytes + _ALIGNMENT, "uint8")
  start = -memory.ctypes.data % _ALIGNMENT
  return memory[start : start + num_bytes].view(dtype).reshape(shape)
