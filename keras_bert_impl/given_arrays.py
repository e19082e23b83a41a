"""Arrays whose memory a variable of TensorFlow takes over.

TensorFlow copies an array that does not begin at a multiple of 64 bytes, or not
lie in order, or that is of NumPy's own type, lest somebody change it.
"""

import contextlib
import contextvars
import math
import mmap

import numpy as np

AWAITED = contextvars.ContextVar("awaited", default=False)  # see `awaited`


@contextlib.contextmanager
def awaited():
  """Makes layers built inside start with zeros that take no memory.

  For models whose weights are all loaded afterwards: drawing random weights of
  BERT-Large takes longer than reading them from a file, and doubles the memory.
  """
  token = AWAITED.set(True)
  try:
    yield
  finally:
    AWAITED.reset(token)


def zeros(shape, dtype="float32"):
  """Returns an array of zeros, which takes no memory before it is written.

  Args:
    shape: tuple of int.
    dtype: str, as NumPy calls it.

  Raises:
    MemoryError: there is no room for so many, even if nothing is written.
  """
  dtype, size = np.dtype(dtype), math.prod(shape)
  # Pages of its own: NumPy would ask for huge ones, and wait until there are.
  num_bytes = max(size, 1) * dtype.itemsize
  try:
    memory = mmap.mmap(-1, num_bytes, access=mmap.ACCESS_COPY)
  except (OSError, OverflowError) as error:
    raise MemoryError(
      f"a weight of shape {tuple(shape)} does not fit into memory"
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
