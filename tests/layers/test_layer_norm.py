"""LayerNorm is that of Keras, however TensorFlow computes it."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl.layers.basics import layer as base

SIZE = 48
TOLERANCE = {"float32": 1e-5, "bfloat16": 0.03, "mixed_bfloat16": 0.03}


def make(dtype):
  """Returns our layer, and Keras' with the same weights in float32."""
  rng = np.random.default_rng(0)
  layers = [
    base.LayerNormalization(epsilon=1e-12, dtype=dtype),
    keras.layers.LayerNormalization(epsilon=1e-12),
  ]
  weights = [rng.normal(1, 0.3, SIZE), rng.normal(0, 0.3, SIZE)]
  for layer in layers:
    layer.build((None, None, SIZE))
    layer.set_weights(weights)
  return layers


def traced(function, shape, dtype):
  return tf.function(function, input_signature=[tf.TensorSpec(shape, dtype)])


@pytest.fixture(params=TOLERANCE)
def layers(request):
  return *make(request.param), TOLERANCE[request.param]


@pytest.mark.parametrize(
  ("shape", "is_dynamic", "training"),
  [
    ((5, SIZE), False, False),
    ((3, 7, SIZE), True, False),
    ((3, 7, SIZE), False, True),
    ((2, 3, 4, SIZE), True, True),
  ],
)
def test_it_is_that_of_keras(layers, shape, is_dynamic, training):
  ours, keras_layer, tolerance = layers
  x = np.random.default_rng(1).normal(0.5, 3, shape)
  x = tf.cast(x, ours.compute_dtype)
  sizes = [None] * (len(shape) - 1) + [SIZE] if is_dynamic else shape
  call = traced(lambda x: ours(x, training=training), sizes, x.dtype)
  expected = keras_layer(tf.cast(x, tf.float32))
  for found in (call(x), ours(x, training=training)):
    assert found.dtype == x.dtype
    found = tf.cast(found, tf.float32)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("training", [False, True])
def test_the_gradient_is_that_of_keras(layers, training):
  ours, keras_layer, tolerance = layers

  def gradient(layer, x):
    variables = [layer.gamma.value, layer.beta.value]
    with tf.GradientTape() as tape:
      tape.watch(x)
      y = tf.cast(layer(x, training=training), tf.float32)
      loss = tf.reduce_sum(y**3)
    return tape.gradient(loss, [x, *variables])

  x = np.random.default_rng(1).normal(0.5, 3, (3, 7, SIZE))
  x = tf.cast(x, ours.compute_dtype)
  found = traced(lambda x: gradient(ours, x), [None, None, SIZE], x.dtype)(x)
  expected = gradient(keras_layer, tf.cast(x, tf.float32))
  for a, b in zip(found, expected, strict=True):
    largest = np.abs(b).max()
    a = tf.cast(a, tf.float32)
    np.testing.assert_allclose(a, b, atol=tolerance * largest)


@pytest.mark.integration
def test_it_has_a_second_derivative():
  ours, keras_layer = make("float32")
  x = tf.constant(np.random.default_rng(1).normal(size=(3, SIZE)), "float32")

  def second(layer):
    with tf.GradientTape() as outer:
      outer.watch(x)
      with tf.GradientTape() as inner:
        inner.watch(x)
        y = tf.reduce_sum(layer(x, training=True) ** 3)
      slope = tf.reduce_sum(inner.gradient(y, x) ** 2)
    return outer.gradient(slope, x)

  found, expected = second(ours), second(keras_layer)
  np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("shape", [(0, 7, SIZE), (4, 0, SIZE)])
def test_there_may_be_no_rows(layers, shape):
  ours, _, _ = layers
  call = traced(ours, [None, None, SIZE], ours.compute_dtype)
  assert call(tf.zeros(shape, ours.compute_dtype)).shape == shape
