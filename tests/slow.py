"""Parameters of a test: for every run, for slow runs, or for runs by hand."""

import pytest


def all_but(quick, values, by_hand=(), mark=pytest.mark.slow):
  """Returns `values` as parameters of a test.

  Args:
    quick: those for every run.
    values: iterable of parameters.
    by_hand: of the others, those for acceptance: about a minute each.
    mark: of the others that are left.
  """
  return [
    value if value in quick else _marked(value, by_hand, mark)
    for value in values
  ]


def _marked(value, by_hand, mark):
  marks = pytest.mark.acceptance if value in by_hand else mark
  return pytest.param(value, marks=marks)
