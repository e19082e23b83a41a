import math

import numpy as np
import pytest

from keras_bert_impl import layers
from keras_bert_impl.layers.basics import kernels
from tests.layers.arrays import normalized

HIDDEN = np.random.default_rng(0).normal(size=(2, 5, 8)).astype("float32")


def make(**options):
  layer = layers.FeedForward(6, initializer_range=0.5, **options)
  layer.build(HIDDEN.shape)
  return layer


def test_a_gated_one_multiplies_what_the_activation_lets_through():
  options = layers.BlockConfig(
    norm_first=True, norm_bias=False, gated_feed_forward=True, mlp_bias=False
  )
  layer = make(options=options)
  assert [tuple(weight.shape) for weight in layer.weights] == [
    (8, 12),
    (6, 8),
    (8,),
  ]
  x = normalized(HIDDEN) @ np.array(layer.dense.kernel)
  gelu = x[..., :6] * 0.5 * (1 + np.vectorize(math.erf)(x[..., :6] / 2**0.5))
  update = (gelu * x[..., 6:]) @ np.array(layer.output_layer.dense.kernel)
  np.testing.assert_allclose(layer(HIDDEN), HIDDEN + update, atol=1e-4)


@pytest.mark.parametrize("activation", ["gelu", "gelu_new", "silu", "tanh"])
def test_gates_give_the_same_in_training(activation):
  for use_bias in (True, False):
    layer = make(
      activation=activation,
      dropout_rate=0.0,
      options=layers.BlockConfig(gated_feed_forward=True, mlp_bias=use_bias),
    )
    np.testing.assert_allclose(
      layer(HIDDEN), layer(HIDDEN, training=True), atol=1e-5
    )


def test_one_gate_is_one_function():
  assert kernels.gated("gelu") is kernels.gated("gelu")


def test_without_an_outer_layer_it_keeps_its_own_scope():
  layer = make(use_own_scope=False, name="alone")
  assert layer.weights[0].path == "alone/intermediate/dense/kernel"
