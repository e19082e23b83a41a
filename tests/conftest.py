"""Settings of the test run."""

import os


def pytest_xdist_auto_num_workers():
  """Returns the number of processes for `-n auto` and `-n logical`.

  Half as many again as there are cores: tests of scripts wait for them.
  """
  cores = len(os.sched_getaffinity(0))
  return cores + cores // 2
