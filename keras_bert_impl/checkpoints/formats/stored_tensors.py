"""Tensors that lie as they are in local files, read on demand."""

import dataclasses
import math

import ml_dtypes  # noqa: F401  (makes bfloat16 known to NumPy)
import numpy as np

from keras_bert_impl import given_arrays
from keras_bert_impl.checkpoints.naming import mappings

# Types that training in any precision leaves; all are read as float32.
FLOATS = ("float16", "bfloat16", "float32", "float64")
# Columns that are copied at once where rows are not in order: as many rows as
# processors keep in their nearest memory.
_NUM_COLUMNS = 64


@dataclasses.dataclass(frozen=True)
class Place:
  """Place of a tensor's values.

  Attributes:
    path: path of the file.
    dtype: str, as NumPy calls it; little-endian.
    offset: int, bytes before the first value.
    shape: tuple of int.
    strides: tuple of int, values from one to the next along each axis, none
      negative; None if they lie in order.
  """

  path: object
  dtype: str
  offset: int
  shape: tuple
  strides: tuple | None = None

  def transposed(self):
    """Returns the same values with their axes swapped."""
    strides = self.strides or _in_order(self.shape)
    return dataclasses.replace(
      self, shape=self.shape[::-1], strides=strides[::-1]
    )


class StoredTensors(mappings.Tensors):
  """Mapping of name -> float32 array, read on demand.

  Args:
    places: {name: `Place`}, each inside of its file.
  """

  def __init__(self, places):
    self._places = dict(sorted(places.items()))
    self.shapes = {name: p.shape for name, p in self._places.items()}

  def renamed(self, origins, transposed):
    """Returns `StoredTensors` of these tensors under other names.

    Args:
      origins: dict of new name -> name here.
      transposed: set of new names whose axes are swapped.
    """
    places = {name: self._places[origin] for name, origin in origins.items()}
    swapped = {name: places[name].transposed() for name in transposed}
    return StoredTensors(places | swapped)

  def differ(self, name, other):
    """Whether two tensors of one shape hold different numbers."""
    one, two = self._places[name], self._places[other]
    # Tied weights of torch lie in one place.
    may_differ = one != two and one.shape == two.shape
    return may_differ and not np.array_equal(self[name], self[other])

  def __getitem__(self, name):
    """Reads one array, which the caller may keep.

    Raises:
      KeyError: no such name.
      ValueError: its values are no floating-point numbers.
    """
    place = self._places[name]
    if place.dtype not in FLOATS:
      raise ValueError(
        f"{name} in {place.path} has values of type {place.dtype}; only "
        f"{', '.join(FLOATS)} can be read: quantised weights must be expanded "
        "first."
      )
    return _read(place)


def _read(place):
  # A copy: the file may be written anew.
  copy = given_arrays.zeros(place.shape)
  if 0 in place.shape:
    return copy
  dtype = np.dtype(place.dtype)
  strides = place.strides or _in_order(place.shape)
  steps = [s * (n - 1) for s, n in zip(strides, place.shape, strict=True)]
  # Mapped anew each time: what was read of a mapping counts as memory of the
  # process for as long as there is the mapping.
  values = np.memmap(place.path, dtype, "r", place.offset, (1 + sum(steps),))
  strides = [stride * dtype.itemsize for stride in strides]
  stored = np.ndarray(place.shape, dtype, values, 0, strides)
  if stored.flags.c_contiguous:
    copy[...] = stored
  else:
    for start in range(0, place.shape[-1], _NUM_COLUMNS):
      columns = np.s_[..., start : start + _NUM_COLUMNS]
      copy[columns] = stored[columns]
  return copy


def _in_order(shape):
  """Returns the strides of values in row-major order."""
  return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
