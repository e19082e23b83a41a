"""Measures how long scripts take to start.

  python benchmarks/startup_benchmark.py

Prints the time of `--help` of every script, and the time to the end of the
first step of a training: from the start of the process to the first line of its
log, with a tiny model, so that little but the start is in it. Beside them stand
the import of TensorFlow alone and the least that a training of Keras takes (a
dense layer, Adam, one compiled step). All take turns, each in a process of its
own; printed are the medians of wall clock and of CPU seconds, and their ratios
to the import of TensorFlow. Of every ratio the median over the rounds is taken,
so that other work on the machine matters less; CPU seconds show it least.
Then comes where the CPU seconds go, from one more run of each training.

`--checkout=before=/path/to/worktree` measures the trainings of another state of
this library, too.
"""

import argparse
import collections
import contextlib
import functools
import importlib
import json
import os
import pathlib
import re
import runpy
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).parents[1]
if __name__ == "__main__":
  # The folder of this file holds benchmarks, not packages.
  sys.path[0] = str(ROOT)

_IMPORT = "import tensorflow"
_KERAS = """
import tensorflow as tf, keras
model = keras.Sequential([keras.layers.Dense(2)])
optimizer = keras.optimizers.Adam()
@tf.function(autograph=False)
def step(x):
  with tf.GradientTape() as tape:
    loss = tf.reduce_sum(model(x))
  variables = model.trainable_variables
  optimizer.apply(tape.gradient(loss, variables), variables)
model(tf.ones([8, 4]))
optimizer.build(model.trainable_variables)
step(tf.ones([8, 4]))
"""
_POLL_SECONDS = 0.02
_TRAINING = "keras_bert_impl.training."
# {phase: module and function}, without the phases inside of it.
_PHASES = {
  "building the model": (_TRAINING + "experiment", "Experiment.start"),
  "making the reader": (_TRAINING + "distribution", "distribute"),
  "tracing the step": (_TRAINING + "loop", "TrainingLoop._steps"),
  "optimizing, compiling and running it": (
    _TRAINING + "loop",
    "TrainingLoop.train",
  ),
}
_IMPORTS = "importing TensorFlow and Keras"
_COMPILATION = re.compile(r"Compiled \S+ 1 times, compile time: (\d+) us")


def main():
  parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument(
    "--checkout", action="append", default=[], metavar="NAME=FOLDER"
  )
  parser.add_argument("--rounds", type=int, default=5)
  parser.add_argument("--phases_of", nargs=argparse.REMAINDER, help="internal")
  arguments = parser.parse_args()
  if arguments.phases_of:
    _run_with_phases(arguments.phases_of)
  _print_help_times(arguments.rounds)
  roots = {"": ROOT} | {
    f", {name}": pathlib.Path(folder)
    for name, folder in (item.split("=", 1) for item in arguments.checkout)
  }
  with tempfile.TemporaryDirectory() as folder:
    data = pathlib.Path(folder)
    _write_data(data)
    _print_first_steps(data, roots, arguments.rounds)
    for script, flags in _flags(data).items():
      _print_phases(script, flags)


def _print_help_times(rounds):
  print(f"\n{'--help':42}{'wall s':>8}{'CPU s':>8}")
  for script in sorted((ROOT / "official_tasks").glob("[!_]*.py")):
    times = [
      _measure([sys.executable, str(script), "--help"], ROOT)
      for _ in range(rounds)
    ]
    wall, cpu = map(statistics.median, zip(*times, strict=True))
    print(f"{script.name:42}{wall:8.2f}{cpu:8.2f}", flush=True)


def _print_first_steps(data, roots, rounds):
  """Prints a line for each training and for what they are compared with."""
  ways = {
    name: functools.partial(_measure, [sys.executable, "-c", program], ROOT)
    for name, program in ((_IMPORT, _IMPORT), ("one step of Keras", _KERAS))
  }
  for name, root in roots.items():
    for script, flags in _flags(data).items():
      ways[f"first step of {script}{name}"] = functools.partial(
        _measure_first_step, root, script, flags
      )
  for run in ways.values():
    run()  # Files come from the disk.
  times = {name: [] for name in ways}
  for _ in range(rounds):
    for name, run in ways.items():
      times[name].append(run())
  print(f"\n{'':42}{'wall s':>8}{'CPU s':>8}{'ratio':>8}{'of CPU':>8}")
  for name, measured in times.items():
    columns = [
      *zip(*measured, strict=True),
      *zip(
        *(
          (wall / wall_of_import, cpu / cpu_of_import)
          for (wall, cpu), (wall_of_import, cpu_of_import) in zip(
            measured, times[_IMPORT], strict=True
          )
        ),
        strict=True,
      ),
    ]
    medians = map(statistics.median, columns)
    print(f"{name:42}" + "".join(f"{each:8.2f}" for each in medians))


def _print_phases(script, flags):
  """Prints where the CPU seconds before the end of the first step go."""
  with tempfile.TemporaryDirectory() as folder:
    result = subprocess.run(
      [sys.executable, __file__, "--phases_of"]
      + _command(ROOT, script, {**flags, "output_dir": folder})[1:],
      env=_environment(ROOT)
      | {
        "TF_CPP_MIN_LOG_LEVEL": "0",
        "TF_CPP_VMODULE": "device_compilation_profiler=1",
      },
      capture_output=True,
      text=True,
      check=True,
    )
  print(f"\n{script:42}{'CPU s':>8}")
  seconds = json.loads(result.stdout.splitlines()[-1])
  for phase, value in seconds.items():
    print(f"{phase:42}{value:8.2f}")
  times = [int(time) / 1e6 for time in _COMPILATION.findall(result.stderr)]
  print(f"(XLA: {len(times)} programs, {sum(times):.2f} s of wall clock)")


def _run_with_phases(arguments):
  """Runs a script to its first step; prints {phase: CPU seconds} as JSON."""
  seconds = collections.Counter()
  phases = ["the rest"]
  since = time.process_time()

  def count():
    nonlocal since
    now = time.process_time()
    seconds[phases[-1]] += now - since
    since = now

  @contextlib.contextmanager
  def phase(name):
    count()
    phases.append(name)
    yield
    count()
    phases.pop()

  def finish(*unused_arguments):
    count()
    print(json.dumps(seconds), flush=True)
    os._exit(0)

  importlib.import_module("keras_bert_impl.command_line.program")
  with phase(_IMPORTS):
    importlib.import_module("tensorflow")
  for name, (module, path) in _PHASES.items():
    owner = importlib.import_module(module)
    *outer, function = path.split(".")
    for each in outer:
      owner = getattr(owner, each)
    setattr(owner, function, phase(name)(getattr(owner, function)))
  importlib.import_module(_TRAINING + "run_log").RunLog.write = finish
  sys.argv = arguments
  runpy.run_path(arguments[0], run_name="__main__")


def _write_data(folder):
  """Writes a tiny model, records for pre-training and labelled sentences."""
  # Imported here, so that TensorFlow is not in the way of what is measured.
  program = """
import pathlib, sys
from tests.official_tasks import scripts, test_run_classifier
folder = pathlib.Path(sys.argv[1])
scripts.write_model_files(folder)
scripts.write_records(folder)
test_run_classifier.write_tsv(
  folder / "train.tsv",
  ("sentence", "label"),
  *test_run_classifier.sentences(64),
)
"""
  subprocess.run(
    [sys.executable, "-c", program, str(folder)],
    env=_environment(ROOT),
    check=True,
  )


def _flags(data):
  """Returns {script: {flag: value}} of trainings on these data."""
  model = {
    "bert_config_file": data / "bert_config.json",
    "train_batch_size": 8,
    "do_train": True,
  }
  return {
    "run_pretraining": {
      **model,
      "input_file": data / "records-dynamic-32",
      "max_seq_length": 32,
      "max_predictions_per_seq": 5,
      "num_warmup_steps": 0,
    },
    "run_classifier": {
      **model,
      "task_name": "sst-2",
      "data_dir": data,
      "max_seq_length": 16,
    },
  }


def _measure_first_step(root, script, flags):
  """Returns the wall clock and CPU seconds until a training has a log."""
  with tempfile.TemporaryDirectory() as folder:
    command = _command(root, script, {**flags, "output_dir": folder})
    return _measure(command, root, pathlib.Path(folder) / "train_log.jsonl")


def _command(root, script, flags):
  program = root / "official_tasks" / f"{script}.py"
  values = [f"--{name}={value}" for name, value in flags.items()]
  return [sys.executable, str(program), *values]


def _measure(command, root, log=None):
  """Returns the wall clock and CPU seconds of a process.

  Args:
    command: list of str.
    root: folder of the library.
    log: path of a file; the process is ended as soon as it has content.
  """
  started = time.monotonic()
  process = subprocess.Popen(
    command,
    stdout=subprocess.DEVNULL,
    stderr=subprocess.DEVNULL,
    env=_environment(root),
  )
  if log:
    while process.poll() is None and not _has_content(log):
      time.sleep(_POLL_SECONDS)
    if not _has_content(log):
      raise SystemExit(f"Run it by hand: {' '.join(map(repr, command))}")
    wall = time.monotonic() - started
    process.kill()
  _, _, usage = os.wait4(process.pid, 0)
  wall = wall if log else time.monotonic() - started
  return wall, usage.ru_utime + usage.ru_stime


def _has_content(path):
  return path.exists() and path.stat().st_size > 0


def _environment(root):
  return os.environ | {"PYTHONPATH": str(root), "TF_CPP_MIN_LOG_LEVEL": "3"}


if __name__ == "__main__":
  main()
