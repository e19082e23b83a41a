"""Training a BiLSTM on a frozen encoder that runs at every step, or has run.

  python benchmarks/frozen_encoder_benchmark.py --widths=64,256,768

A step of `run_ner.py --approach=features` (concat_last_four, AdamW, float32,
random weights and ids, full rows) on ids, as where there is no room for the
hidden states, and on hidden states. Prints the least seconds of either, on the
clock or, with --cpu_time, of all cores together: on a busy machine that is the
steadier figure.
"""

import argparse
import pathlib
import sys
import time

if __name__ == "__main__":
  # The folder of this file holds benchmarks, not packages.
  sys.path[0] = str(pathlib.Path(__file__).parents[1])

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

from keras_bert_impl import configs, features  # noqa: E402
from keras_bert_impl.kinds.tags import token_classification
from keras_bert_impl.optimizers import adamw  # noqa: E402
from keras_bert_impl.training import training_config, training_loop

LABELS = ("O", *(f"{prefix}-{kind}" for kind in "abcdef" for prefix in "BI"))


def make_loop(arguments, width):
  """Returns the `TrainingLoop` of a width."""
  config = configs.EncoderConfig(
    vocab_size=30522,
    hidden_size=arguments.hidden_size,
    num_hidden_layers=arguments.layers,
    num_attention_heads=arguments.hidden_size // 32,
    intermediate_size=4 * arguments.hidden_size,
  )
  task = token_classification.TokenClassificationTask(
    config, LABELS, "features", "concat_last_four", width
  )
  return training_loop.TrainingLoop(
    task,
    task.build_model(),
    adamw.AdamW(1e-3),
    tf.distribute.get_strategy(),
    training_config.TrainingConfig(train_batch_size=arguments.batch_size),
  )


def make_batch(arguments):
  """Returns a batch of full rows of random ids."""
  shape = arguments.batch_size, arguments.length
  rng = np.random.default_rng(0)
  arrays = {
    features.INPUT_IDS: rng.integers(5, 30000, shape),
    features.INPUT_MASK: np.ones(shape),
    features.SEGMENT_IDS: np.zeros(shape),
    features.LABEL_IDS: rng.integers(0, len(LABELS), shape),
  }
  return {name: tf.constant(x, tf.int32) for name, x in arrays.items()}


def seconds_per_step(loop, batch, arguments):
  """Returns the least seconds of a step after the first, which compiles."""
  clock = time.process_time if arguments.cpu_time else time.perf_counter
  batches = iter(tf.data.Dataset.from_tensors(batch).repeat())
  seconds = []
  for _ in range(arguments.steps + 1):
    start = clock()
    loop.train(batches, 1)
    seconds.append(clock() - start)
  return min(seconds[1:])


def main():
  """Prints a row of a table for each width."""
  parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument("--widths", default="64,256,768")
  parser.add_argument("--hidden_size", type=int, default=384)
  parser.add_argument("--layers", type=int, default=6)
  parser.add_argument("--length", type=int, default=64)
  parser.add_argument("--batch_size", type=int, default=32)
  parser.add_argument("--steps", type=int, default=4)
  parser.add_argument("--cpu_time", action="store_true")
  arguments = parser.parse_args()
  print("| lstm_width | encoder runs | has run | ratio |\n|---:|---|---|---|")
  for width in map(int, arguments.widths.split(",")):
    loop, batch = make_loop(arguments, width), make_batch(arguments)
    runs = seconds_per_step(loop, batch, arguments)
    batch[features.HIDDEN_STATES] = loop.model.encode(batch)
    has_run = seconds_per_step(loop, batch, arguments)
    ratio = f"{runs / has_run:.1f}"
    print(f"| {width} | {runs:.2f} s | {has_run:.2f} s | {ratio} |", flush=True)


if __name__ == "__main__":
  main()
