"""Parameters of a test of which only some are quick enough for every run."""

import pytest


def all_but(quick, values):
  """Returns `values` as parameters of a test, slow but those in `quick`."""
  return [
    value if value in quick else pytest.param(value, marks=pytest.mark.slow)
    for value in values
  ]
