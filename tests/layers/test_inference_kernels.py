"""In a graph of inference TensorFlow makes one kernel of what belongs together.

Each test runs in a process of its own: TensorFlow reads the environment once.
"""

import itertools
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from tests import slow

pytestmark = pytest.mark.integration

DTYPES = ("float32", "mixed_bfloat16")

PROGRAM = """
import sys
import keras, numpy as np, tensorflow as tf
from keras_bert_impl import layers

path, dtype = sys.argv[1:]
keras.utils.set_random_seed(0)
block = layers.TransformerBlock(4, 128, dtype=dtype)
block.build((None, None, 64))
call = tf.function(
  lambda x, mask: block(x, mask),
  input_signature=[
    tf.TensorSpec([None, None, 64], block.compute_dtype),
    tf.TensorSpec([None, None], tf.int32),
  ],
)
rng = np.random.default_rng(0)
answers = {}
# Sizes come back, for what a kernel keeps of the first must serve them all.
for number, (rows, length) in enumerate([(2, 9), (32, 16), (1, 3), (2, 9)]):
  x = tf.cast(rng.normal(size=(rows, length, 64)), block.compute_dtype)
  mask = tf.cast(rng.integers(0, 2, (rows, length)), tf.int32)
  answers[f"graph{number}"] = tf.cast(call(x, mask), tf.float32)
  answers[f"eager{number}"] = tf.cast(block(x, mask), tf.float32)
np.savez(path, **answers)
print("MARK", flush=True)
call(x, mask)
"""


def run(folder, dtype, frozen):
  """Returns the answers and the kernels of oneDNN of the last call."""
  path = folder / "answers.npz"
  process = subprocess.run(
    [sys.executable, "-c", PROGRAM, str(path), dtype],
    env=os.environ
    | {
      "TF_ENABLE_ONEDNN_OPTS": "1",
      "ONEDNN_VERBOSE": "1",
      "TF_ONEDNN_ASSUME_FROZEN_WEIGHTS": frozen,
    },
    capture_output=True,
    text=True,
    check=True,
  )
  kernels = process.stdout.partition("MARK")[2].splitlines()
  return np.load(path), [line for line in kernels if ",exec," in line]


def count(kernels, pattern):
  return sum(bool(re.search(pattern, line)) for line in kernels)


# TF Serving may be told that weights are frozen: the kernels keep them then.
@pytest.fixture(
  scope="module",
  params=slow.all_but((("float32", "1"),), itertools.product(DTYPES, "01")),
)
def ran(request, tmp_path_factory):
  dtype, frozen = request.param
  found = run(tmp_path_factory.mktemp("kernels"), dtype, frozen)
  return *found, 1e-5 if dtype == "float32" else 0.05


def test_a_block_has_one_kernel_for_what_belongs_together(ran):
  _, kernels, _ = ran
  assert count(kernels, "layer_normalization") == 2
  assert count(kernels, "batch_normalization") == 0
  assert count(kernels, "inner_product.*gelu") == 1
  assert count(kernels, "inner_product") == 6
  # Queries by keys, with the scale and the mask.
  assert count(kernels, "matmul.*binary_mul.*binary_add") == 1


def test_the_graph_computes_what_single_calls_do_for_every_size(ran):
  answers, _, atol = ran
  for number in range(4):
    graph, eager = answers[f"graph{number}"], answers[f"eager{number}"]
    np.testing.assert_allclose(graph, eager, atol=atol)
