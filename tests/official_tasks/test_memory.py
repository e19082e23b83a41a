"""What is repeated in one process keeps no memory."""

import os
import subprocess
import sys

import pytest

from tests.official_tasks import memory_of_repetitions


@pytest.mark.slow
@pytest.mark.skipif(
  not sys.platform.startswith("linux"), reason="reads the memory from /proc"
)
@pytest.mark.parametrize("kind", memory_of_repetitions.KINDS)
def test_memory_does_not_grow(kind, tmp_path):
  output = subprocess.run(
    [sys.executable, "-m", memory_of_repetitions.__name__, kind, str(tmp_path)],
    stdout=subprocess.PIPE,
    env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    check=True,
  ).stdout
  _, after_two, *later = map(int, output.split())
  assert len(later) >= 5
  assert max(later) < 1.1 * after_two
