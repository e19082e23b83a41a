"""How a test run is shared out among processes, with `--dist loadgroup`."""

import os

import pytest

# What takes longest comes first, so that no process is left with it at the end.
_EXPORTS = "exports"  # the fixture
_FIRST = (_EXPORTS, "tests/official_tasks/", "tests/training/")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
  """Returns the number of processes for `-n auto` and `-n logical`.

  Half as many again as there are cores: tests of scripts wait for them.
  """
  cores = len(os.sched_getaffinity(0))
  return cores + cores // 2


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
  """Keeps the tests of a file, and all files that need exports, together."""
  exporting = {
    item.path for item in items if _EXPORTS in getattr(item, "fixturenames", ())
  }
  groups = {
    item.path: _EXPORTS if item.path in exporting else str(item.path)
    for item in items
  }
  for item in items:
    item.add_marker(pytest.mark.xdist_group(groups[item.path]))
  items.sort(key=lambda item: _rank(groups[item.path]))


def _rank(group):
  ranks = (k for k, name in enumerate(_FIRST) if name in group)
  return next(ranks, len(_FIRST))
