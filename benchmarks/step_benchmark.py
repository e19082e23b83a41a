"""Measures the pre-training step and the forward pass beside other libraries.

  python benchmarks/step_benchmark.py --output=step.json \
    --python="Model Garden=/path/to/venv/bin/python" \
    --python="KerasHub=/path/to/venv/bin/python" \
    --python="transformers=/path/to/venv/bin/python"
  python benchmarks/make_table.py step.json docs/speed.md

The environments of the others hold tf-models-official and tf_keras; keras-hub;
torch and transformers. `--checkout=before=/path/to/worktree` adds another state
of this library. Without these flags only ours is measured.

Each contestant lives in a process of its own. They take turns, a few steps
each, so that whatever else the machine does hits all of them; the peak of the
matrix product is measured in the same turns. Printed are medians over the
rounds, but of the peak the best round; its share counts matrix products only,
as the peak does. Ratios are of the clock and of CPU seconds, which other work
on the machine lengthens less. Compare within one run only. The objectives
"bart", "t5" and "gpt" are measured beside transformers alone. On a CPU without
AVX512_VNNI TensorFlow uses oneDNN only with TF_ENABLE_ONEDNN_OPTS=1 in the
environment, which is set here, as every script does, and XLA_FLAGS; a forward
pass in bfloat16 has TF_ONEDNN_ASSUME_FROZEN_WEIGHTS=1, whoever's it is.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import statistics
import sys

if __name__ == "__main__":
  # The folder of this file holds benchmarks, not packages.
  sys.path[0] = str(pathlib.Path(__file__).parents[1])

from benchmarks import asked_process, contestants

ROOT = pathlib.Path(__file__).parents[1]
# What every script sets in the environment.
AS_SCRIPTS = {
  "TF_ENABLE_ONEDNN_OPTS": "1",
  "XLA_FLAGS": "--xla_cpu_prefer_vector_width=512",
}
DTYPES = ("float32", "mixed_bfloat16", "bfloat16")
_TINY = {"num_layers": 2, "hidden_size": 128}
# {name of a line: `Case` but for the dtype}.
LINES = {
  "step, 8 x 128": {},
  "step, 32 x 128": {"batch_size": 32},
  "step, 2 x 512": {"batch_size": 2, "seq_length": 512},
  "step, 2 layers of 128, 32 x 128": {"batch_size": 32, **_TINY},
  "forward, 8 x 128": {"mode": "forward"},
  **{
    f"{mode}, 4 layers of 256, 32 x 128": {
      "mode": mode,
      "batch_size": 32,
      "num_layers": 4,
      "hidden_size": 256,
    }
    for mode in contestants.DECODERS
  },
}


class Contestant:
  """One contestant in a process of its own."""

  def __init__(self, name, contestant, python, root, case, jit_compile=False):
    self.name = name
    program = ROOT / "benchmarks" / "contestants.py"
    command = [python, str(program), contestant]
    command += [json.dumps(dataclasses.asdict(case))]
    command += ["--jit_compile"] * jit_compile
    environment = os.environ | {
      "TF_CPP_MIN_LOG_LEVEL": "3",
      **{name: os.environ.get(name, AS_SCRIPTS[name]) for name in AS_SCRIPTS},
      "PYTHONPATH": str(root),
    }
    if case.mode == "forward" and case.dtype != "float32":
      environment["TF_ONEDNN_ASSUME_FROZEN_WEIGHTS"] = "1"
    if contestant == "Model Garden":
      environment["TF_USE_LEGACY_KERAS"] = "1"
    self.process = asked_process.AskedProcess(command, environment)
    self.seconds, self.cpu_seconds = [], []

  def run(self, num_steps):
    """Measures the seconds of one step, the mean of `num_steps`."""
    seconds, cpu_seconds = self.process.ask(num_steps)
    self.seconds.append(seconds / num_steps)
    self.cpu_seconds.append(cpu_seconds / num_steps)

  def stop(self):
    """Ends the process."""
    self.process.stop()


def measure(case, arguments):
  """Returns seconds of one step: those of the clock, and of the processor.

  Returns:
    Two dicts {contestant: [float, a round each]}.
  """
  pythons = dict(item.rsplit("=", 1) for item in arguments.python)
  checkouts = dict(item.split("=", 1) for item in arguments.checkout)
  entries = [("ours", "ours", sys.executable, ROOT)]
  entries += [(k, "ours", sys.executable, v) for k, v in checkouts.items()]
  if arguments.jit_compile:
    entries += [("ours, XLA", "ours", sys.executable, ROOT)]
  entries += [
    (name, name, python, "")
    for name, python in pythons.items()
    if case.mode not in contestants.DECODERS or name == "transformers"
  ]
  entries += [("peak", "peak", sys.executable, "")]
  running = [
    Contestant(*entry, case, entry[0] == "ours, XLA") for entry in entries
  ]
  for _ in range(arguments.rounds):
    for contestant in running:
      contestant.run(arguments.steps)
  for contestant in running:
    contestant.stop()
  return (
    {contestant.name: contestant.seconds for contestant in running},
    {contestant.name: contestant.cpu_seconds for contestant in running},
  )


def _ratio(seconds, name):
  """Returns the median of the rounds' ratios of a contestant to ours."""
  pairs = zip(seconds["ours"], seconds[name], strict=True)
  return statistics.median(it / ours for ours, it in pairs)


def report(line, case, seconds, cpu_seconds):
  """Prints the table of one line."""
  peak = contestants.PEAK_FLOPS / min(seconds["peak"]) / 1e9
  print(f"\n{line}, {case.dtype}; products at most {peak:.0f} GFLOP/s")
  print(
    f"{'':14}{'examples/s':>12}{'of peak':>9}{'ours / it':>11}"
    f"{'of CPU s':>10}  by round"
  )
  for name, rounds in seconds.items():
    if name == "peak":
      continue
    step = statistics.median(rounds)
    print(
      f"{name:14}{case.batch_size / step:12.2f}"
      f"{case.flops / step / 1e9 / peak:9.0%}{_ratio(seconds, name):11.2f}"
      f"{_ratio(cpu_seconds, name):10.2f}  "
      + " ".join(f"{case.batch_size / s:.2f}" for s in rounds),
      flush=True,
    )


def machine():
  """Returns the CPU's name, its cores here, and what it has for products."""
  text = pathlib.Path("/proc/cpuinfo").read_text()
  fields = dict(
    map(str.strip, line.split(":", 1))
    for line in text.splitlines()
    if ":" in line
  )
  found = set(fields.get("flags", "").split())
  wanted = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")
  extensions = " ".join(name for name in wanted if name in found)
  cores = len(os.sched_getaffinity(0))
  return f"{fields.get('model name', '?')}, {cores} cores, {extensions}"


def main():
  parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument(
    "--python", action="append", default=[], metavar="NAME=PATH"
  )
  parser.add_argument(
    "--checkout", action="append", default=[], metavar="NAME=FOLDER"
  )
  parser.add_argument("--lines", nargs="*", choices=LINES, default=[*LINES])
  parser.add_argument("--dtypes", nargs="*", choices=DTYPES, default=DTYPES)
  parser.add_argument("--rounds", type=int, default=5)
  parser.add_argument("--steps", type=int, default=2, help="per round")
  parser.add_argument(
    "--jit_compile", action="store_true", help="ours as one XLA program too"
  )
  parser.add_argument("--output", type=pathlib.Path, help="JSON, added to")
  arguments = parser.parse_args()
  print(machine())
  for line in arguments.lines:
    for dtype in arguments.dtypes:
      case = contestants.Case(dtype=dtype, **LINES[line])
      if case.mode == "step" and dtype == "bfloat16":
        continue  # Nothing is trained with weights in bfloat16.
      seconds, cpu_seconds = measure(case, arguments)
      report(line, case, seconds, cpu_seconds)
      if arguments.output:
        _add(arguments.output, line, case, seconds, cpu_seconds)


def _add(path, line, case, seconds, cpu_seconds):
  """Adds a line's measurement to a file of JSON lines."""
  entry = {
    "machine": machine(),
    "line": line,
    "case": dataclasses.asdict(case),
    "seconds": seconds,
    "cpu_seconds": cpu_seconds,
  }
  with path.open("a") as file:
    file.write(json.dumps(entry) + "\n")


if __name__ == "__main__":
  main()
