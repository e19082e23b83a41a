"""The time of a training step against what makes it larger.

  python benchmarks/scaling_benchmark.py

One thing at a time is changed of BERT-Mini (4 x 256), 16 x 128 tokens, MLM and
NSP, AdamW, float32: the model, the length, the batch, the parts it is taken in
(gradient accumulation), the replicas (logical devices of the same CPU). Each
line is a process of its own, in which steps and products of large matrices take
turns: printed are the median of the step, the operations of its matrix products
(counted on paper), their rate, and its share of that of the large products. The
last column is the step over what BERT-Mini's rate leads to expect.

Then two workers on this machine train BERT-Mini, to see what goes through the
loopback device: bytes per step, over those of the gradients.

Last, on paper: the share of a step that is not spent on summing the gradients
of BERT-Base, on 16 devices that reach SUSTAINED operations per second, between
named networks at their full rate. A device sends and receives 2 (N - 1) / N of
the gradients, as in a ring, and computes nothing meanwhile.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")  # as run_pretraining.py

import argparse  # noqa: E402
import json  # noqa: E402
import pathlib  # noqa: E402
import socket  # noqa: E402
import statistics  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402

ROOT = pathlib.Path(__file__).parents[1]
BASE = {
  "preset": "bert_mini",
  "seq_length": 128,
  "batch_size": 16,
  "accumulation": 1,
  "replicas": 1,
}
VARIED = {
  "preset": (
    "bert_tiny",
    "bert_mini",
    "bert_small",
    "bert_medium",
    "bert_base",
  ),
  "seq_length": (64, 128, 256, 512),
  "batch_size": (8, 16, 32, 64),
  "accumulation": (1, 2, 4),
  "replicas": (1, 2, 4),
}
ROUNDS = 5
PRODUCT_SIZE = 2048
NETWORK_STEPS = 10
NUM_DEVICES = 16
SUSTAINED = 0.4 * 197e12  # 40 % of a TPU v5e
EXAMPLES = (32, 256, 2048)  # per device and step
# Bytes per second in each direction, as sold.
NETWORKS = {
  "1 Gb/s Ethernet": 1e9 / 8,
  "10 Gb/s Ethernet": 10e9 / 8,
  "25 Gb/s Ethernet": 25e9 / 8,
  "100 Gb/s Ethernet": 100e9 / 8,
  "400 Gb/s InfiniBand": 400e9 / 8,
  "TPU v5e links": 200e9,
  "NVLink 4": 450e9,
}


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("--cell", help=argparse.SUPPRESS)
  arguments = parser.parse_args()
  if arguments.cell:
    print("ANSWER", json.dumps(measure(**json.loads(arguments.cell))))
    return
  print(
    f"{'':24}{'step s':>8}{'GFLOP':>8}{'GFLOP/s':>9}{'of peak':>9}"
    f"{'time/model':>12}"
  )
  base = in_process(BASE)
  rate = base["flops"] / base["seconds"]
  cells = {}
  for name, values in VARIED.items():
    for value in values:
      cell = base if value == BASE[name] else in_process({**BASE, name: value})
      cells[name, value] = cell
      reached = cell["flops"] / cell["seconds"]
      print(
        f"{name:14}{value!s:10}{cell['seconds']:8.3f}"
        f"{cell['flops'] / 1e9:8.0f}{reached / 1e9:9.1f}"
        f"{reached / cell['peak']:9.1%}{rate / reached:12.2f}",
        flush=True,
      )
  sent, gradients = network_bytes()
  print(
    f"two workers: {sent / 1e6:.1f} MB a step through the loopback device,"
    f" {sent / gradients:.2f} times the {gradients / 1e6:.1f} MB of gradients"
  )
  print_efficiencies(cells["preset", "bert_base"])


def print_efficiencies(step):
  """Prints what networks leave of the speed of BERT-Base, on paper."""
  per_example = step["flops"] / BASE["batch_size"]
  sent = 2 * (NUM_DEVICES - 1) / NUM_DEVICES * step["gradients"]
  print(
    f"BERT-Base, {NUM_DEVICES} devices, {sent / 1e6:.0f} MB a step to and from"
    f" each\n{'examples per device and step':30}"
    + "".join(f"{number:>10}" for number in EXAMPLES)
  )
  for name, bandwidth in NETWORKS.items():
    shares = []
    for number in EXAMPLES:
      seconds = number * per_example / SUSTAINED
      shares.append(seconds / (seconds + sent / bandwidth))
    print(f"{name:30}" + "".join(f"{share:10.1%}" for share in shares))


def in_process(cell):
  """Measures in a process of its own: strategies disturb each other."""
  return answer(start(cell))


def start(cell, **environment):
  """Starts the process that measures a cell."""
  return subprocess.Popen(
    [sys.executable, __file__, f"--cell={json.dumps(cell)}"],
    env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    stdout=subprocess.PIPE,
    text=True,
  )


def answer(process):
  """Returns what a process has measured."""
  out, _ = process.communicate()
  if process.returncode:
    sys.exit("a measurement failed; see above.")
  return json.loads(out.rpartition("ANSWER")[2])


def measure(preset, seq_length, batch_size, accumulation, replicas, steps=None):
  """Returns the seconds and operations of a step, and the rate of products."""
  import tensorflow as tf

  from benchmarks import contestants
  from keras_bert_impl import configs
  from keras_bert_impl.optimizers import adamw
  from keras_bert_impl.tasks.basics import pretraining
  from keras_bert_impl.tasks.pretraining import masked_lm
  from keras_bert_impl.training import (
    distribution,
    training_config,
    training_loop,
  )

  if os.environ.get("TF_CONFIG"):
    strategy = distribution.create_strategy("multi_worker_mirrored")
  elif replicas > 1:
    strategy = distribution.create_strategy("mirrored", replicas)
  else:
    strategy = distribution.create_strategy()
  encoder = configs.EncoderConfig.preset(preset)
  task = masked_lm.MaskedLanguageModelTask(
    encoder, pretraining.PretrainingData(sentence_loss="next_sentence")
  )
  config = training_config.TrainingConfig(
    train_batch_size=batch_size, gradient_accumulation_steps=accumulation
  )
  with strategy.scope():
    model = task.build_model()
    optimizer = adamw.AdamW(1e-4)
  loop = training_loop.TrainingLoop(task, model, optimizer, strategy, config)
  case = contestants.Case(
    batch_size=batch_size,
    seq_length=seq_length,
    num_layers=encoder.num_hidden_layers,
    hidden_size=encoder.hidden_size,
  )
  batch = contestants.make_batch(case)
  batches = tf.data.Dataset.from_tensors(batch).cache().repeat()
  iterator = iter(distribution.distribute(strategy, batches))
  loop.train(iterator, 1)  # Traces.
  size = 4 * sum(w.shape.num_elements() for w in loop.variables)
  if steps:
    before = loopback_bytes()
    loop.train(iterator, steps)
    return {"bytes": (loopback_bytes() - before) / steps, "gradients": size}
  product = tf.function(tf.linalg.matmul)
  matrix = tf.ones((PRODUCT_SIZE, PRODUCT_SIZE))
  product(matrix, matrix)
  seconds, peaks = [], []
  for _ in range(ROUNDS):
    started = time.perf_counter()
    product(matrix, matrix).numpy()
    peaks.append(2 * PRODUCT_SIZE**3 / (time.perf_counter() - started))
    started = time.perf_counter()
    loop.train(iterator, 1)
    seconds.append(time.perf_counter() - started)
  return {
    "seconds": statistics.median(seconds),
    "flops": case.flops,
    "peak": max(peaks),
    "gradients": size,
  }


def network_bytes():
  """Returns the bytes of a step between two workers, and of the gradients."""
  listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
  workers = [f"127.0.0.1:{s.getsockname()[1]}" for s in listeners]
  for listener in listeners:
    listener.close()
  processes = [
    start(
      {**BASE, "steps": NETWORK_STEPS},
      TF_CONFIG=json.dumps(
        {
          "cluster": {"worker": workers},
          "task": {"type": "worker", "index": index},
        }
      ),
    )
    for index in range(2)
  ]
  cell, _ = [answer(process) for process in processes]
  return cell["bytes"], cell["gradients"]


def loopback_bytes():
  """Returns the bytes that the loopback device has received."""
  for line in pathlib.Path("/proc/net/dev").read_text().splitlines():
    name, _, counts = line.partition(":")
    if name.strip() == "lo":
      return int(counts.split()[0])
  raise OSError("no loopback device.")


if __name__ == "__main__":
  main()
