import functools
import threading

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import layers
from keras_bert_impl.training import row_numbers

ONES = np.ones((64, 128), "float32")


def built(name="dropout", rate=0.1, **kwargs):
  layer = layers.Dropout(rate, name=name, **kwargs)
  layer.build(ONES.shape)
  return layer


def draw(layer, seed, inputs=ONES):
  with layers.random_seed(seed):
    return layer(inputs, training=True).numpy()


def test_it_does_nothing_outside_training_and_at_rate_zero():
  np.testing.assert_array_equal(built()(ONES, training=False), ONES)
  np.testing.assert_array_equal(draw(built(rate=0.0), [1, 2]), ONES)


def test_what_is_kept_is_scaled_so_that_the_mean_stays():
  dropped = draw(built(), [1, 2], np.ones((500, 1000), "float32"))
  # The rate is rounded to a multiple of 2^-16.
  np.testing.assert_allclose(np.unique(dropped), [0, 1 / 0.9], rtol=1e-5)
  # Standard error of the share of zeros: 0.0004.
  np.testing.assert_allclose((dropped == 0).mean(), 0.1, atol=0.002)


@pytest.mark.parametrize(
  "jit_compile", [False, pytest.param(True, marks=pytest.mark.xla)]
)
def test_the_same_seed_gives_the_same_mask_and_another_seed_another(
  jit_compile,
):
  layer = built()
  run = tf.function(
    lambda seed: draw_symbolically(layer, seed), jit_compile=jit_compile
  )
  first = run(tf.constant([1, 2])).numpy()
  np.testing.assert_array_equal(run(tf.constant([1, 2])), first)
  for other in ([1, 3], [2, 2], [2, 1]):  # step, replica, both
    agreement = (run(tf.constant(other)).numpy() == first).mean()
    np.testing.assert_allclose(agreement, 0.9**2 + 0.1**2, atol=0.03)


def draw_symbolically(layer, seed):
  with layers.random_seed(seed):
    return layer(ONES, training=True)


def test_elements_of_one_mask_are_independent():
  zero = draw(built(rate=0.5), [1, 2], np.ones((400, 402), "float32")) == 0
  for neighbour in (zero[:, 1:], zero[:, 2:], zero[:, 201:], zero[1:]):
    rows, columns = neighbour.shape
    agreement = (zero[:rows, :columns] == neighbour).mean()
    np.testing.assert_allclose(agreement, 0.5, atol=0.01)


@pytest.mark.parametrize("shape", [(3, 5), (1, 1), (2, 3, 7), (0, 4)])
def test_any_shape_will_do(shape):
  inputs = np.ones(shape, "float32")
  assert draw(built(), [1, 2], inputs).shape == shape


def test_layers_of_different_paths_draw_different_masks():
  first, second = draw(built("a"), [1, 2]), draw(built("b"), [1, 2])
  assert (first != second).any()
  np.testing.assert_array_equal(draw(built("a"), [1, 2]), first)


def test_the_gradient_is_the_mask():
  inputs = tf.Variable(ONES * 3.0)
  with layers.random_seed([1, 2]), tf.GradientTape() as tape:
    outputs = built()(inputs, training=True)
    total = tf.reduce_sum(outputs)
  gradient = tape.gradient(total, inputs)
  np.testing.assert_allclose(gradient, outputs / inputs, rtol=1e-6)


def test_each_thread_has_a_seed_of_its_own():
  layer, results = built(), {}
  barrier = threading.Barrier(2)

  def replica(index):
    with layers.random_seed([index, 0]):
      barrier.wait()
      results[index] = layer(ONES, training=True).numpy()
      barrier.wait()

  threads = [threading.Thread(target=replica, args=(i,)) for i in range(2)]
  for thread in threads:
    thread.start()
  for thread in threads:
    thread.join()
  for index, result in results.items():
    np.testing.assert_array_equal(result, draw(layer, [index, 0]))


@pytest.mark.parametrize("has_rows", [True, False])
def test_all_parts_of_a_batch_share_the_mask_of_what_has_no_rows(has_rows):
  layer = layers.Dropout(0.5, has_rows)
  masks = []
  for part in range(2):
    numbers = functools.partial(row_numbers.uniform, part)
    with layers.random_seed([1, 2], numbers):
      masks.append(np.array(layer(np.ones((6, 8), "float32"), training=True)))
  assert np.array_equal(*masks) == (not has_rows)


def test_a_layer_called_twice_draws_two_masks():
  layer = built()  # as one that ALBERT's layers share
  with layers.random_seed([1, 2]):
    first = layer(ONES, training=True).numpy()
    second = layer(ONES, training=True).numpy()
  assert (first != second).any()
  np.testing.assert_array_equal(draw(layer, [1, 2]), first)


def test_the_seed_of_the_outer_context_returns():
  layer = built()
  with layers.random_seed([1, 2]):
    draw(layer, [3, 4])
    np.testing.assert_array_equal(
      layer(ONES, training=True), draw(built(), [1, 2])
    )


def test_without_a_seed_each_call_draws_anew():
  layer = built()
  first = layer(ONES, training=True).numpy()
  assert (layer(ONES, training=True).numpy() != first).any()


def test_it_keeps_the_dtype_of_a_mixed_model():
  outputs = built(dtype="mixed_bfloat16")(ONES, training=True)
  assert outputs.dtype == "bfloat16"


@pytest.mark.parametrize("rate", [-0.1, 1.0, 2])
def test_a_rate_outside_its_range_is_refused(rate):
  with pytest.raises(ValueError, match=str(rate)):
    layers.Dropout(rate)
