"""Measures opening BERT-Base beside transformers: from the file to an output.

  python benchmarks/opening_benchmark.py \
    --python="transformers=/path/to/venv/bin/python"

The environment of the other holds torch and transformers.
`--checkout=before=/path/to/worktree` adds another state of this library.

A model.safetensors of BERT-Base with random weights is made in a temporary
folder. Each time a fresh process imports its library, opens the file and gives
the output for one sentence; contestants take turns. Printed are medians over
the rounds, and ratios to the first of the others within a round. The file is in
the memory of the system by then, for all of them. Outputs must agree.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

if __name__ == "__main__":
  # The folder of this file holds benchmarks, not packages.
  sys.path[0] = str(pathlib.Path(__file__).parents[1])

ROOT = pathlib.Path(__file__).parents[1]
STAGES = ("start and imports", "opening", "first output")
_NUM_TOKENS = 32
_TOLERANCE = 1e-4


def ours(folder):
  """Yields after imports and opening; last the output."""
  import numpy as np

  from keras_bert_impl import models

  yield
  encoder = models.from_checkpoint(folder)
  yield
  ids = np.arange(_NUM_TOKENS)[np.newaxis]
  yield np.asarray(encoder({"input_ids": ids})["sequence_output"])


def transformers(folder):
  """Yields after imports and opening; last the output."""
  import torch
  from transformers import BertModel  # Imports what opening would.

  torch.set_num_threads(len(os.sched_getaffinity(0)))
  yield
  model = BertModel.from_pretrained(folder)
  yield
  with torch.inference_mode():
    ids = torch.arange(_NUM_TOKENS)[None]
    yield model(ids).last_hidden_state.numpy()


CONTESTANTS = {"ours": ours, "transformers": transformers}


def run(name, folder):
  """Prints the clock after each stage, and an excerpt of the output."""
  clocks = []
  for output in CONTESTANTS[name](folder):  # noqa: B007
    clocks.append(time.time())
  print("ANSWER", json.dumps([clocks, output[0, :, 0].tolist()]), flush=True)
  # Calls that end then belong to none of the stages.
  os._exit(0)


def make(folder):
  """Writes BERT-Base with random weights as transformers does."""
  from keras_bert_impl import configs, models
  from keras_bert_impl.checkpoints import writing
  from keras_bert_impl.checkpoints.descriptions import description
  from keras_bert_impl.checkpoints.naming import mappings

  config = configs.EncoderConfig(vocab_size=30522)
  encoder = models.TransformerEncoder(config)
  tensors = mappings.Arrays({weight.path: weight for weight in encoder.weights})
  described = description.Description(config)
  writing.write_safetensors(folder, tensors, described, 10**10)


def call(python, root, *arguments):
  """Runs this file in a fresh process; returns (start, its answer)."""
  command = [python, __file__, *arguments]
  start = time.time()
  result = subprocess.run(
    command,
    stdout=subprocess.PIPE,
    stderr=subprocess.DEVNULL,
    text=True,
    env=os.environ
    | {
      "PYTHONPATH": str(root),
      "TF_CPP_MIN_LOG_LEVEL": "3",
      "TF_ENABLE_ONEDNN_OPTS": os.environ.get("TF_ENABLE_ONEDNN_OPTS", "1"),
    },
  )
  if result.returncode:
    raise SystemExit(f"Run it by hand: {' '.join(map(repr, command))}")
  answers = [a for a in result.stdout.splitlines() if a.startswith("ANSWER ")]
  return start, json.loads(answers[-1].removeprefix("ANSWER "))


def measure(folder, arguments):
  """Returns {contestant: [seconds of each stage, a round each]}."""
  entries = [("ours", "ours", sys.executable, ROOT)]
  for item in arguments.checkout:
    name, root = item.split("=", 1)
    entries.append((name, "ours", sys.executable, root))
  for item in arguments.python:
    name, python = item.rsplit("=", 1)
    entries.append((name, name, python, ""))
  seconds, outputs = {name: [] for name, *_ in entries}, {}
  for _ in range(arguments.rounds):
    for name, contestant, python, root in entries:
      start, (clocks, output) = call(python, root, contestant, folder)
      begins = [start, *clocks[:-1]]
      stages = [b - a for a, b in zip(begins, clocks, strict=True)]
      seconds[name].append(stages)
      outputs[name] = output
  for name, output in outputs.items():
    pairs = zip(output, outputs["ours"], strict=True)
    if max(abs(a - b) for a, b in pairs) > _TOLERANCE:
      raise SystemExit(f"The outputs of {name} are others.")
  return seconds


def report(seconds):
  """Prints the table: seconds, and ours / theirs."""
  parts = {stage: (index,) for index, stage in enumerate(STAGES)}
  parts |= {"without imports": (1, 2), "all": (0, 1, 2)}
  print(f"{'seconds':20}" + "".join(f"{name:>16}" for name in seconds))
  for part, indices in parts.items():
    totals = {
      name: [sum(stages[i] for i in indices) for stages in rounds]
      for name, rounds in seconds.items()
    }
    line = f"{part:20}"
    for rounds in totals.values():
      pairs = zip(totals["ours"], rounds, strict=True)
      ratio = statistics.median(mine / it for mine, it in pairs)
      line += f"{statistics.median(rounds):9.2f} ({ratio:.2f})"
    print(line, flush=True)
  print("In brackets: ours / it, the median over the rounds.")


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
  parser.add_argument("--rounds", type=int, default=5)
  arguments = parser.parse_args()
  from benchmarks import step_benchmark

  print(step_benchmark.machine())
  with tempfile.TemporaryDirectory() as folder:
    call(sys.executable, ROOT, "make", folder)
    report(measure(folder, arguments))


if __name__ == "__main__":
  if sys.argv[1:2] == ["make"]:
    make(sys.argv[2])
    print("ANSWER []")
  elif sys.argv[1:2] and sys.argv[1] in CONTESTANTS:
    run(*sys.argv[1:3])
  else:
    main()
