"""Prints what opening a checkpoint takes at its peak; run as a process.

Printed is the ratio of the memory that the process had more at its peak to that
of the weights. Arguments: path of the checkpoint.
"""

import pathlib
import sys

import keras
import numpy as np

from keras_bert_impl import models


def memory(name):
  # Not ru_maxrss, in which a process begins with the peak of its parent.
  for line in pathlib.Path("/proc/self/status").read_text().splitlines():
    if line.startswith(f"{name}:"):
      return 1024 * int(line.split()[1])


def main():
  # The first variable starts TensorFlow.
  keras.Variable(np.ones(1, "float32"))
  before = memory("VmRSS")
  encoder = models.from_checkpoint(sys.argv[1])
  peak = memory("VmHWM") - before
  print(peak / (4 * encoder.count_params()))


if __name__ == "__main__":
  main()
