"""How tests are shared out: to processes, `--dist loadfile`, and to runs."""

import functools
import gc
import os
import pathlib
import zlib

import pytest

_ROOT = pathlib.Path(__file__).parents[1]
_SERVING = "tests/serving/"
# The longest tests come first, so that no process is left with it at the end.
_FIRST = (_SERVING, "tests/official_tasks/", "tests/training/")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
  """Returns the number of processes for `-n auto` and `-n logical`.

  At least two more than there are cores for tests of scripts, which wait for
  them.
  """
  cores = len(os.sched_getaffinity(0))
  waits = "not integration" not in config.option.markexpr
  return cores + waits * max(2, cores // 2)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
  """Returns what keeps the tests of a file together, and all of the exports.

  The tests of serving that have the fixture `exports` have what these answer in
  common, so that one process has them all.
  """
  if config.getvalue("dist") != "loadfile":
    return None
  from xdist import scheduler

  class Scheduling(scheduler.LoadFileScheduling):
    def _split_scope(self, nodeid):
      scope = super()._split_scope(nodeid)
      return _SERVING if _has_exports(scope) else scope

  config.option.loadscopereorder = False
  return Scheduling(config, log)


def pytest_collection_finish():
  """Spares the garbage collector the imported modules, which stay anyway."""
  gc.freeze()


def pytest_addoption(parser):
  parser.addoption(
    "--share",
    metavar="K/N",
    help="of the slow tests every Nth: each is in one of the shares 0 to N - 1",
  )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
  """Leaves the slow tests of the share, and puts those first that take long."""
  share = config.getoption("share")
  if share:
    others = {
      item
      for item in items
      if item.get_closest_marker("slow") and not is_in_share(item.nodeid, share)
    }
    config.hook.pytest_deselected(items=[*others])
    items[:] = [item for item in items if item not in others]
  items.sort(key=lambda item: _rank(item.nodeid))


def is_in_share(name, share):
  """Returns whether a test is in the share "K/N"; K counts modulo N."""
  number, total = map(int, share.split("/"))
  return (zlib.crc32(name.encode()) - number) % total == 0


def _rank(nodeid):
  ranks = (k for k, folder in enumerate(_FIRST) if nodeid.startswith(folder))
  return next(ranks, len(_FIRST))


@functools.cache
def _has_exports(scope):
  path = _ROOT / scope
  return scope.startswith(_SERVING) and "exports" in path.read_text("utf-8")
