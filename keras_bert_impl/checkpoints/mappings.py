"""Mappings of names to arrays that know the shapes of what they hold.

`tf_format.Checkpoint` and `safetensors_format.Checkpoint` are others.
"""

import collections.abc

import numpy as np


class Renamed(collections.abc.Mapping):
  """Arrays of another mapping under other names, read when asked for.

  Args:
    stored: mapping of name -> array, with `shapes`.
    origins: dict of new name -> name in `stored`.
    transposed: set of new names whose arrays are given with their axes swapped.

  Attributes:
    shapes: dict of new name -> tuple of int.
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

  def __contains__(self, name):
    # The inherited one would read the array.
    return name in self._origins

  def __iter__(self):
    return iter(self._origins)

  def __len__(self):
    return len(self._origins)


class Arrays(collections.abc.Mapping):
  """Arrays or variables by name, as the mapping that a checkpoint has.

  Args:
    arrays: dict of name -> array or variable.

  Attributes:
    shapes: dict of name -> tuple of int.
  """

  def __init__(self, arrays):
    self._arrays = arrays
    self.shapes = {name: tuple(a.shape) for name, a in arrays.items()}

  def __getitem__(self, name):
    return np.asarray(self._arrays[name])

  def __iter__(self):
    return iter(self._arrays)

  def __len__(self):
    return len(self._arrays)
