"""RMSNorm, alone and in blocks."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl.layers.basics import kernels, layer
from tests import architectures


def test_rows_are_divided_by_their_root_mean_square():
  norm = layer.RMSNormalization(epsilon=0.0)
  found = norm(np.array([[3.0, 4.0], [1.0, -1.0]]))
  norm.gamma.assign([1.0, 10.0])
  rms = np.sqrt(12.5)
  np.testing.assert_allclose(found, [[3 / rms, 4 / rms], [1, -1]], rtol=1e-6)
  found = norm(np.array([[3.0, 4.0]]))
  np.testing.assert_allclose(found, [[3 / rms, 40 / rms]], rtol=1e-6)


# Few numbers, op by op, and many, by XLA.
@pytest.mark.parametrize("rows", [3, 1200])
def test_its_gradient_is_that_of_the_plain_ops(rows):
  rng = np.random.default_rng(0)
  x, upstream = (
    tf.constant(rng.normal(size=(2, rows, 16)), "float32") for _ in range(2)
  )
  gamma = tf.constant(rng.normal(size=16), "float32")

  def slopes(function):
    with tf.GradientTape() as tape:
      tape.watch([x, gamma])
      value = function()
    return [value, *tape.gradient(value, [x, gamma], upstream)]

  ours = slopes(lambda: kernels.rms_norm(x, gamma, 1e-5, training=True))
  plain = slopes(
    lambda: (
      x * tf.math.rsqrt(tf.reduce_mean(x * x, -1, keepdims=True) + 1e-5) * gamma
    )
  )
  for own, expected in zip(ours, plain, strict=True):
    scale = np.abs(expected).max()
    np.testing.assert_allclose(own, expected, atol=2e-6 * scale)


def test_it_is_saved_and_loaded(tmp_path):
  inputs = keras.Input((4,))
  model = keras.Model(inputs, layer.RMSNormalization(epsilon=0.5)(inputs))
  model.layers[1].gamma.assign([1, 2, 3, 4])
  model.save(tmp_path / "model.keras")
  again = keras.models.load_model(tmp_path / "model.keras")
  x = np.arange(8.0).reshape(2, 4)
  np.testing.assert_array_equal(model(x), again(x))


def test_it_has_no_bias():
  with pytest.raises(ValueError, match="norm_bias .True. must be False with"):
    architectures.small(norm_type="rms_norm")
