"""Random numbers of rows: the same however the batch is divided, and random."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import configs, layers, models
from keras_bert_impl.training import row_numbers
from tests import architectures

DTYPES = ("float32", "uint16")


def draw(shape, part=0, seed=(1, 2), dtype="float32"):
  return row_numbers.uniform(part, shape, tf.constant(seed), dtype).numpy()


@pytest.mark.parametrize(
  ("row", "dtype", "jit_compile"),
  [
    ((), "float32", False),
    ((3,), "uint16", False),
    ((5, 7), "float32", False),
    pytest.param((5, 7), "float32", True, marks=pytest.mark.xla),
    pytest.param((2, 8, 8), "uint16", True, marks=pytest.mark.xla),
  ],
)
def test_parts_draw_what_the_whole_batch_draws(row, dtype, jit_compile):
  @tf.function(jit_compile=jit_compile)
  def run(part, num_rows):
    shape = (num_rows, *row)
    return row_numbers.uniform(part, shape, tf.constant([1, 2]), dtype)

  whole = run(tf.constant(0), 12)
  for num_parts in (2, 3, 12):
    parts = [
      run(tf.constant(part), 12 // num_parts) for part in range(num_parts)
    ]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_the_length_of_a_row_need_not_be_static():
  @tf.function
  def run(part, like):
    shape = (like.shape[0], *tf.unstack(tf.shape(like)[1:]))
    return row_numbers.uniform(part, shape, tf.constant([1, 2]))

  run = run.get_concrete_function(
    tf.TensorSpec((), tf.int32), tf.TensorSpec((4, None, 3))
  )
  found = run(tf.constant(1), tf.zeros((4, 5, 3)))
  np.testing.assert_array_equal(found, draw((8, 5, 3))[4:])


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_numbers_are_uniform(dtype):
  numbers = draw((512, 1024), dtype=dtype)
  if dtype == "uint16":
    assert len(np.unique(numbers)) > 0.99 * 2**16
    numbers = numbers / 2**16
  assert 0 <= numbers.min() < 1e-4 and 1 - 1e-4 < numbers.max() < 1
  # Standard error of the share in one of 16 intervals: 0.00033.
  shares = np.histogram(numbers, 16, (0, 1))[0] / numbers.size
  np.testing.assert_allclose(shares, 1 / 16, atol=0.0015)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_parts_steps_and_layers_are_independent(dtype):
  shape = (64, 2048)
  first = draw(shape, dtype=dtype)
  others = {
    "places": np.roll(first, 1, axis=1),
    "rows": np.roll(first, 1, axis=0),
    "parts": draw(shape, part=1, dtype=dtype),
    "steps": draw(shape, seed=(1, 3), dtype=dtype),
    "seeds": draw(shape, seed=(2, 2), dtype=dtype),
    "layers": draw(shape, seed=(1 ^ 0x5EED, 2), dtype=dtype),
  }
  for name, numbers in others.items():
    correlation = np.corrcoef(first.ravel(), numbers.ravel())[0, 1]
    assert abs(correlation) < 0.014, name  # Standard error: 0.0028.


def test_a_model_draws_with_it():
  config = configs.EncoderConfig(
    **architectures.SMALL | {"num_hidden_layers": 1}
  )
  model = models.TransformerEncoder(config)

  def run(part, ids):
    with layers.random_seed(
      [1, 2], lambda *draw: row_numbers.uniform(part, *draw)
    ):
      inputs = {"input_ids": ids}
      return model(inputs, training=True)["sequence_output"].numpy()

  ids = np.random.default_rng(0).integers(0, 50, (8, 7), "int32")
  whole = run(0, ids)
  halves = [run(0, ids[:4]), run(1, ids[4:])]
  np.testing.assert_allclose(np.concatenate(halves), whole, atol=1e-5)
  # Without numbers of the rows the second half would draw those of the first.
  assert np.abs(run(0, ids[4:]) - whole[4:]).max() > 0.1
