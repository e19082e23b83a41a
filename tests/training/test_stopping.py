"""Signals and processes that end: what ends with them."""

import gc
import os
import signal
import subprocess
import sys
import time

import pytest

from keras_bert_impl.training import stopping

START_ANOTHER = """
import multiprocessing, time
from keras_bert_impl.training import stopping

def wait():
  stopping.end_with_parent()
  time.sleep(600)

if __name__ == "__main__":
  process = multiprocessing.get_context("spawn").Process(target=wait)
  process.start()
  print(process.pid, flush=True)
  time.sleep(600)
"""


def is_alive(pid):
  try:
    with open(f"/proc/{pid}/stat") as file:
      return file.read().rpartition(")")[2].split()[0] != "Z"
  except FileNotFoundError:
    return False


def test_a_process_ends_with_its_parent(tmp_path):
  script = tmp_path / "start_another.py"
  script.write_text(START_ANOTHER)
  parent = subprocess.Popen(
    [sys.executable, script], stdout=subprocess.PIPE, text=True
  )
  child = int(parent.stdout.readline())
  time.sleep(0.3)
  assert is_alive(child)
  parent.kill()
  parent.communicate()
  for _ in range(300):
    if not is_alive(child):
      return
    time.sleep(0.1)
  os.kill(child, signal.SIGKILL)
  pytest.fail("The process outlived its parent.")


def test_a_signal_that_comes_while_garbage_is_collected_is_not_lost():
  def send(phase, info):
    gc.callbacks.remove(send)
    signal.raise_signal(signal.SIGINT)

  gc.callbacks.append(send)
  with pytest.raises(KeyboardInterrupt, match="SIGINT"):
    with stopping.interruptible():
      gc.collect()
      time.sleep(60)
