"""Runs code around the import of a module.

Standard library only.
"""

import importlib.abc
import sys


def around(names, context):
  """Executes modules inside a context when they are imported from now on.

  Args:
    names: tuple of str, modules that have not been imported yet.
    context: callable without arguments -> context manager, which is entered
      for each of them.
  """
  sys.meta_path.insert(0, _Finder(names, context))


class _Finder(importlib.abc.MetaPathFinder):
  """Finds modules as the finders after it do; executes them in a context."""

  def __init__(self, names, context):
    self._names = names
    self._context = context

  def find_spec(self, fullname, path=None, target=None):
    """Returns the spec of one of the names; None for all other modules."""
    if fullname not in self._names:
      return None
    # Those before it may be of this class too, and ask this one.
    after = sys.meta_path[sys.meta_path.index(self) + 1 :]
    specs = (finder.find_spec(fullname, path, target) for finder in after)
    spec = next(filter(None, specs), None)
    if spec is not None and spec.loader is not None:
      spec.loader.exec_module = self._within(spec.loader.exec_module)
    return spec

  def _within(self, exec_module):
    def execute(module):
      with self._context():
        exec_module(module)

    return execute
