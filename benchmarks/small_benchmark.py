"""Measures a SavedModel, LiteRT, ONNX Runtime and torch on the same ids.

  python benchmarks/small_benchmark.py --checkpoint=MiniLM \
    --python=/path/to/venv-with-torch/bin/python

The checkpoint is a folder of sentence-transformers; the other environment holds
torch and transformers. Each contestant is a process of its own with two
threads, and they take turns of ten requests. Requests are one text of 16, 40
and 128 ids, and 32 of 40. Printed are the size of the weights, the seconds
until the first answer, the peak of memory, the least time, p50 and p99 in ms,
and torch's least time divided by the contestant's, which other work on the
machine changes little.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

_SHAPES = {"1 x 16": (1, 16), "1 x 40": (1, 40), "1 x 128": (1, 128)}
_MANY = {"32 x 40": (32, 40)}
_THREADS = 2
_TURN = 10  # requests
_PAUSE = 0.3  # seconds until the threads of the one before sleep
_FORMATS = {
  "SavedModel": ("saved_model", "float32"),
  "LiteRT": ("litert", "float32"),
  "LiteRT int8": ("litert", "int8"),
  "ONNX": ("onnx", "float32"),
  "ONNX int8": ("onnx", "int8"),
}
_TORCH = "torch"


def _open(name, folder):
  """Returns a function of {input: int [B, L]} to vectors or hidden states."""
  if name == _TORCH:
    return _open_torch(folder)
  if name == "SavedModel":
    return _open_saved_model(folder)
  from keras_bert_impl.serving.small import runtimes

  return runtimes.Runtime(folder, _THREADS)


def _open_torch(folder):
  import torch
  import transformers

  torch.set_num_threads(_THREADS)
  model = transformers.AutoModel.from_pretrained(folder).eval()

  @torch.inference_mode()
  def run(rows):
    names = ("input_ids", "attention_mask", "token_type_ids")
    return model(**dict(zip(names, map(torch.from_numpy, rows.values()))))

  return run


def _open_saved_model(folder):
  import tensorflow as tf
  import tensorflow_text  # noqa: F401  Registers the ops of the tokenizer.

  tf.config.threading.set_intra_op_parallelism_threads(_THREADS)
  loaded = tf.saved_model.load(folder)
  function = loaded.signatures["token_ids"]

  def run(rows):
    assert loaded  # It holds the variables.
    tensors = {k: tf.constant(x, tf.int32) for k, x in rows.items()}
    return function(**tensors)["embeddings"].numpy()

  return run


def _rows(shape):
  """Returns ids without padding, {name: int64}."""
  ids = np.random.default_rng(0).integers(1000, 20000, shape)
  ones, zeros = np.ones_like(ids), np.zeros_like(ids)
  return {"input_ids": ids, "input_mask": ones, "segment_ids": zeros}


def _answer(name, folder):
  """Answers shapes on stdin with seconds."""
  start = time.perf_counter()
  run = _open(name, folder)
  run(_rows((1, 16)))
  print(json.dumps(time.perf_counter() - start), flush=True)
  for line in sys.stdin:
    rows = _rows(json.loads(line))
    run(rows)  # Whatever a new shape takes is not counted.
    start = time.perf_counter()
    run(rows)
    seconds = time.perf_counter() - start
    print(json.dumps([seconds, _peak()]), flush=True)


def _peak():
  """Returns the most memory that this program has had, in MB."""
  status = pathlib.Path("/proc/self/status").read_text()
  return int(status.split("VmHWM:")[1].split()[0]) / 1000


class _Contestant:
  """A process that answers requests and times itself."""

  def __init__(self, python, name, folder):
    self._process = subprocess.Popen(
      [python, __file__, "--answer", name, "--folder", folder],
      stdin=subprocess.PIPE,
      stdout=subprocess.PIPE,
      stderr=subprocess.DEVNULL,
      text=True,
    )
    self.start = json.loads(self._process.stdout.readline())
    self.peak = 0

  def ask(self, shape):
    """Returns the seconds that a request takes."""
    self._process.stdin.write(json.dumps(shape) + "\n")
    self._process.stdin.flush()
    seconds, self.peak = json.loads(self._process.stdout.readline())
    return seconds

  def close(self):
    self._process.stdin.close()
    self._process.wait()


def _export(checkpoint, folder):
  """Returns {name: directory of an export}."""
  from keras_bert_impl.kinds import opening
  from keras_bert_impl.model_folders import model_files
  from keras_bert_impl.serving.small import export

  config = model_files.ModelFilesConfig()
  servable, _ = opening.make_servable(config, checkpoint)
  return {
    name: export.export_as(
      servable,
      os.path.join(folder, name.replace(" ", "_")),
      format=file_format,
      weights_dtype=dtype,
    )
    for name, (file_format, dtype) in _FORMATS.items()
  }


def _megabytes(folder, name):
  """Returns the size of the weights in a folder."""
  patterns = ("model.tflite", "model.onnx", "variables/*", "*.safetensors")
  paths = [
    p for pattern in patterns for p in pathlib.Path(folder).glob(pattern)
  ]
  return sum(path.stat().st_size for path in paths) / 1e6


def _measure(contestants, requests):
  """Returns {(name, case): list of seconds}."""
  seconds = {}
  for cases, number in ((_SHAPES, _TURN), (_MANY, 2)):
    for case, shape in cases.items():
      for _ in range(requests // _TURN):
        for name, contestant in contestants.items():
          time.sleep(_PAUSE)
          times = [contestant.ask(shape) for _ in range(number)]
          seconds.setdefault((name, case), []).extend(times)
  return seconds


def _table(folders, contestants, seconds):
  """Returns the table in Markdown."""
  cases = [*_SHAPES, *_MANY]
  lines = [["", "MB", "start s", "peak MB", *(f"{c}, ms" for c in cases)]]
  lines.append(["---"] * len(lines[0]))
  for name, contestant in contestants.items():
    row = [name, f"{_megabytes(folders[name], name):.1f}"]
    row += [f"{contestant.start:.1f}", f"{contestant.peak:.0f}"]
    for case in cases:
      least, p50, p99 = np.percentile(seconds[name, case], [0, 50, 99]) * 1e3
      times = min(seconds[_TORCH, case]) * 1e3 / least
      row.append(f"{least:.1f} / {p50:.1f} / {p99:.1f}: {times:.2f}")
    lines.append(row)
  return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main():
  """Exports, measures and prints the table."""
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--checkpoint")
  parser.add_argument("--python")
  parser.add_argument("--requests", type=int, default=200)
  parser.add_argument("--answer", help=argparse.SUPPRESS)
  parser.add_argument("--folder", help=argparse.SUPPRESS)
  arguments = parser.parse_args()
  if arguments.answer:
    _answer(arguments.answer, arguments.folder)
    return
  with tempfile.TemporaryDirectory() as folder:
    folders = _export(arguments.checkpoint, folder)
    folders[_TORCH] = arguments.checkpoint
    contestants = {
      name: _Contestant(
        arguments.python if name == _TORCH else sys.executable, name, path
      )
      for name, path in folders.items()
    }
    seconds = _measure(contestants, arguments.requests)
    print(_table(folders, contestants, seconds))
    for contestant in contestants.values():
      contestant.close()


if __name__ == "__main__":
  main()
