"""Tokens per CPU second in the graph: several tokenizers beside the first one.

  python -m benchmarks.tokenizer_kinds_benchmark --input_file='books/*.txt' \
    --tokenizers=gpt2/tokenizer.json,kobart/tokenizer.json,t5/tokenizer.json

Prints the rate of each, and its ratio to that of the first, on one core and in
turns. Ids are compared with those of the `tokenizers` library first.
"""

import os

# Before TensorFlow starts its threads.
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import glob  # noqa: E402
import time  # noqa: E402

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
import tokenizers as library  # noqa: E402
from absl import app, flags  # noqa: E402

from keras_bert_impl import tokenizers  # noqa: E402

FLAGS = flags.FLAGS
flags.DEFINE_string("input_file", None, "Text files: patterns, by commas.")
flags.DEFINE_list("tokenizers", None, "Files, tokenizer.json; by commas.")
flags.DEFINE_integer("max_lines", 4000, "Lines, one batch.")
flags.DEFINE_integer("repeats", 9, "Measurements; the median is printed.")
flags.mark_flags_as_required(["input_file", "tokenizers"])


def main(unused_argv):
  texts = _read_lines()
  graphs = {path: _graph(path, texts) for path in FLAGS.tokenizers}
  batch = tf.constant(texts)
  seconds = {path: [] for path in graphs}
  for _ in range(FLAGS.repeats):
    for path, graph in graphs.items():
      start = time.process_time()
      graph(batch)
      seconds[path].append(time.process_time() - start)
  first = None
  for path, graph in graphs.items():
    rate = graph(batch).flat_values.shape[0] / np.median(seconds[path])
    first = first or rate
    print(f"{path}: {rate:,.0f} tokens/s, ratio {rate / first:.2f}")


def _graph(path, texts):
  """Returns the function of texts, and prints whether its ids are right."""
  spec = tf.TensorSpec([None], tf.string)
  graph = tf.function(tokenizers.load(path).tokenize, input_signature=[spec])
  original = library.Tokenizer.from_file(path)
  original.no_padding()
  original.no_truncation()
  encoded = original.encode_batch(texts, add_special_tokens=False)
  found = graph(tf.constant(texts)).to_list()
  rows = zip(found, encoded, strict=True)
  num_other = sum(ids != other.ids for ids, other in rows)
  print(f"{path}: {num_other} of {len(texts):,} lines have other ids")
  return graph


def _read_lines():
  paths = [
    path
    for pattern in FLAGS.input_file.split(",")
    for path in sorted(glob.glob(pattern))
  ]
  lines = [
    line
    for path in paths
    for line in open(path, encoding="utf-8-sig").read().split("\n")
    if line.strip()
  ]
  return lines[:: max(1, len(lines) // FLAGS.max_lines)][: FLAGS.max_lines]


if __name__ == "__main__":
  app.run(main)
