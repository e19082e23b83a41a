"""Measures a step of BERT-Base beside its matrix products, and its parts.

  python benchmarks/step_parts_benchmark.py

The limit is TensorFlow's own product of two matrices [4096, 4096], measured in
the same turns: a pre-training step and a forward pass, 8 x 128, are shares of
its GFLOP/s, with the operations of their matrix products alone.

Other work on the machine lengthens what a clock shows, so that times are CPU
seconds of one thread, the least of the rounds. Each case has a process of its
own. The parts of a step are shares of the time of its kernels, by TensorFlow's
profiler in further steps, times those seconds: what interrupts a kernel falls
on all of them alike, in proportion to their time.
"""

import argparse
import collections
import concurrent.futures
import multiprocessing
import os
import pathlib
import re
import sys
import tempfile
import time

if __name__ == "__main__":
  # The folder of this file holds benchmarks, not packages.
  sys.path[0] = str(pathlib.Path(__file__).parents[1])

from benchmarks import contestants, step_benchmark

SIZE = 4096
CASES = {
  "step": ("float32", "mixed_bfloat16"),
  "forward": ("float32", "bfloat16"),
}
# {part: what its kernels are called}; the first that fits counts. A kernel of
# a program of XLA is called as the program's function.
PARTS = {
  "update of the weights": r"_update_|global_norm",
  "dropout": r"_drop_|StatelessRandom",
  "normalisation": r"_normalize_|_MklLayerNorm$",
  "GELU": r"_activate_",
  "loss and accuracy": r"_loss_|_are_predicted_",
  "products": r"MatMul\w*$",
  "gradients of biases": r"BiasAddGrad$",
  "casts": r":Cast$",
  "softmax": r"/self(_\d+)?/.*:(_MklSoftmax|Softmax|Sum|Sub|Mul|AddV2)$",
  "transpositions": r"Transpose$",
}


def measure(mode, dtype, rounds):
  """Returns GFLOP/s and CPU seconds of a case, and the shares of its parts.

  Args:
    mode, dtype: as of `contestants.Case`.
    rounds: int, of products and of what is measured, in turns.

  Returns:
    (float, GFLOP/s of the product; float, those of the case; float, its CPU
    seconds; {part: share of the time}).
  """
  os.environ.update(step_benchmark.AS_SCRIPTS | os.environ)
  if mode == "forward" and dtype != "float32":
    os.environ["TF_ONEDNN_ASSUME_FROZEN_WEIGHTS"] = "1"
  import tensorflow as tf

  tf.config.threading.set_intra_op_parallelism_threads(1)
  tf.config.threading.set_inter_op_parallelism_threads(1)
  case = contestants.Case(mode=mode, dtype=dtype)
  run = contestants.ours(case, jit_compile=False)
  product = tf.function(tf.linalg.matmul)
  matrix = tf.ones((SIZE, SIZE), dtype.removeprefix("mixed_"))
  turns = [lambda: product(matrix, matrix).numpy(), lambda: run(1)]
  for turn in turns:
    turn()  # Traces.
  of_product, seconds = map(
    min,
    zip(*[[*map(_cpu_seconds, turns)] for _ in range(rounds)], strict=True),
  )
  with tempfile.TemporaryDirectory() as folder:
    tf.profiler.experimental.start(folder)
    run(rounds)
    tf.profiler.experimental.stop()
    [path] = pathlib.Path(folder).rglob("*.xplane.pb")
    shares = _shares(path.read_bytes())
  limit = 2 * SIZE**3 / of_product / 1e9
  return limit, case.flops / seconds / 1e9, seconds, shares


def _cpu_seconds(function):
  start = time.process_time()
  function()
  return time.process_time() - start


def _shares(profile):
  """Returns {part: share of the time} of the bytes of a profile."""
  from tensorflow.tsl.profiler.protobuf import xplane_pb2

  planes = xplane_pb2.XSpace.FromString(profile).planes
  plane = next(plane for plane in planes if plane.name == "/host:CPU")
  line = max(plane.lines, key=lambda line: len(line.events))
  events = sorted(line.events, key=lambda e: (e.offset_ps, -e.duration_ps))
  times = collections.Counter()
  outer = []  # (end, part) of the events that hold the next one.
  for event in events:
    while outer and outer[-1][0] <= event.offset_ps:
      outer.pop()
    part = _part(plane, event)
    if outer:
      times[outer[-1][1]] -= event.duration_ps
    times[part] += event.duration_ps
    outer.append((event.offset_ps + event.duration_ps, part))
  total = sum(times.values())
  return {part: time / total for part, time in times.items()}


def _part(plane, event):
  """Returns the part of a step that an event of a plane belongs to."""
  name = plane.event_metadata[event.metadata_id].name
  for stat in event.stats:  # Of a kernel of XLA.
    if plane.stat_metadata[stat.metadata_id].name == "hlo_module":
      name = stat.str_value or plane.stat_metadata[stat.ref_value].name
  fits = (part for part, names in PARTS.items() if re.search(names, name))
  return next(fits, "the rest")


def report(found):
  """Prints two tables of {(mode, dtype): what `measure` returns}."""
  print(f"\n| | product of {SIZE:,} squared | GFLOP/s | share |")
  print("|---" * 4 + "|")
  for (mode, dtype), (limit, rate, seconds, _) in found.items():
    print(
      f"| {mode}, {dtype}, {seconds:.2f} s | {limit:.0f} | {rate:.0f}"
      f" | {rate / limit:.0%} |"
    )
  print(f"\n| ms | {' | '.join(map(', '.join, found))} |")
  print("|---" * (len(found) + 1) + "|")
  for part in [*PARTS, "the rest"]:
    print(f"| {part} |", end="")
    for _, _, seconds, shares in found.values():
      share = shares.get(part, 0.0)
      print(f" {1000 * share * seconds:.0f} ({share:.1%}) |", end="")
    print()


def main():
  parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument("--modes", nargs="*", choices=CASES, default=[*CASES])
  parser.add_argument("--rounds", type=int, default=10)
  arguments = parser.parse_args()
  print(step_benchmark.machine(), flush=True)
  found = {}
  for mode in arguments.modes:
    for dtype in CASES[mode]:
      # What TensorFlow reads from the environment holds for a process.
      with concurrent.futures.ProcessPoolExecutor(
        1, multiprocessing.get_context("spawn")
      ) as process:
        case = process.submit(measure, mode, dtype, arguments.rounds)
        found[mode, dtype] = case.result()
  report(found)


if __name__ == "__main__":
  main()
