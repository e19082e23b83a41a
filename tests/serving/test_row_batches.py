"""Rows through a model, a few of like length at a time."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl.serving import row_batches

LENGTH = 50


def random_rows(num_rows):
  """Returns lengths [R] and {name: int32 [R, LENGTH]}, one of full length."""
  rng = np.random.default_rng(0)
  lengths = rng.integers(2, LENGTH, num_rows)
  lengths[num_rows // 2 : num_rows // 2 + 1] = LENGTH
  mask = (np.arange(LENGTH) < lengths[:, np.newaxis]).astype(np.int32)
  ids = mask * rng.integers(1, 9, [num_rows, LENGTH], np.int32)
  return lengths, {"input_mask": mask, "input_ids": ids}


def map_in_graph(function, rows, signature):
  """Returns what `map_rows` gives in a graph, as arrays."""
  run = tf.function(
    lambda rows: row_batches.map_rows(function, rows, signature),
    autograph=False,
  )
  found = run({name: tf.constant(x, tf.int32) for name, x in rows.items()})
  return tf.nest.map_structure(lambda x: x.numpy(), found)


@pytest.mark.parametrize("num_rows", [0, 1, 8, 9, 75])
def test_every_row_gets_what_the_function_says_of_it(num_rows):
  _, rows = random_rows(num_rows)

  def function(some):
    ids = some["input_ids"]
    return {
      "sums": tf.reduce_sum(ids, 1),
      "pairs": tf.cast(tf.stack([ids, 2 * ids], -1), tf.float32),
      "narrow": some["narrow"],
    }

  ids = rows["input_ids"]
  found = map_in_graph(
    function,
    {**rows, "narrow": ids[:, :3]},
    {
      "sums": tf.TensorSpec([], tf.int32),
      "pairs": tf.TensorSpec([None, 2], tf.float32),
      "narrow": tf.TensorSpec([None], tf.int32),
    },
  )
  np.testing.assert_array_equal(found["sums"], ids.sum(1))
  np.testing.assert_array_equal(found["pairs"], np.stack([ids, 2 * ids], -1))
  assert found["narrow"].shape == (num_rows, LENGTH)
  np.testing.assert_array_equal(found["narrow"][:, :3], ids[:, :3])
  assert not found["narrow"][:, 3:].any()


@pytest.mark.parametrize(
  ("num_rows", "count"),
  [(1, 8), (8, 8), (9, 8), (32, 8), (75, 18), (128, 32), (300, 32)],
)
def test_those_of_like_length_go_together(num_rows, count):
  lengths, rows = random_rows(num_rows)
  shapes = []

  def function(some):
    shapes.append(tuple(some["input_ids"].shape))
    return tf.zeros(len(some["input_ids"]))

  row_batches.map_rows(
    function,
    {name: tf.constant(x, tf.int32) for name, x in rows.items()},
    tf.TensorSpec([], tf.float32),
  )
  lengths = np.sort(lengths)
  expected = [lengths[i : i + count] for i in range(0, num_rows, count)]
  assert shapes == [(len(some), max(some)) for some in expected]
