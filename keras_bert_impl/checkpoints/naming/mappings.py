"""Mappings of names to arrays, with the shapes of the arrays."""

import collections.abc

import numpy as np


class Tensors(collections.abc.Mapping):
  """Mapping of name -> array; subclasses read arrays on demand.

  Attributes:
    shapes: dict of name -> tuple of int, known without reading a value.
  """

  shapes: dict

  def __contains__(self, name):
    # The inherited one would read the array.
    return name in self.shapes

  def __iter__(self):
    return iter(self.shapes)

  def __len__(self):
    return len(self.shapes)


class Renamed(Tensors):
  """Arrays of another mapping under other names, read on demand.

  Args:
    stored: mapping of name -> array, with `shapes`.
    origins: dict of new name -> name in `stored`.
    transposed: set of new names whose arrays are given with their axes swapped.
  """

  def __init__(self, stored, origins, transposed=frozenset()):
    self._stored = stored
    self._origins = origins
    self._transposed = transposed
    self.shapes = {
      name: stored.shapes[origin][:: -1 if name in transposed else 1]
      for name, origin in origins.items()
    }

  def __getitem__(self, name):
    array = self._stored[self._origins[name]]
    return array.T if name in self._transposed else array


class Computed(Tensors):
  """Arrays of another mapping, and some that are made on demand.

  Args:
    stored: mapping of name -> array.
    shapes: dict of name -> tuple of int, of all names that there are to be.
    makers: {name: function that returns the array}.
  """

  def __init__(self, stored, shapes, makers):
    self._stored = stored
    self._makers = makers
    self.shapes = shapes

  def __getitem__(self, name):
    make = self._makers.get(name)
    return make() if make else self._stored[name]


def completed(stored, arrays):
  """Returns the arrays of a checkpoint, and others where it has none.

  Args:
    stored: mapping of name -> array, with `shapes`.
    arrays: {name: array}.
  """
  own = {name: x for name, x in arrays.items() if name not in stored}
  shapes = stored.shapes | {name: x.shape for name, x in own.items()}
  return Computed(stored, shapes, {k: lambda x=x: x for k, x in own.items()})


class Arrays(Tensors):
  """Arrays or variables by name, with the interface of a checkpoint.

  Args:
    arrays: dict of name -> array or variable.
  """

  def __init__(self, arrays):
    self._arrays = arrays
    self.shapes = {name: tuple(a.shape) for name, a in arrays.items()}

  def __getitem__(self, name):
    return np.asarray(self._arrays[name])
