import math

import keras
import numpy as np
import pytest

from keras_bert_impl.families import family
from keras_bert_impl.layers.basics import kernels, parts

X = np.linspace(-4, 4, 41, dtype="float32")


def test_gelu_is_the_exact_form():
  exact = [x * 0.5 * (1 + math.erf(x / math.sqrt(2))) for x in X]
  np.testing.assert_allclose(kernels.activation("gelu")(X), exact, atol=1e-6)


def test_gelu_new_is_the_form_with_tanh():
  inner = math.sqrt(2 / math.pi) * (X + 0.044715 * X**3)
  expected = 0.5 * X * (1 + np.tanh(inner))
  found = np.array(kernels.activation("gelu_new")(X))
  np.testing.assert_allclose(found, expected, atol=1e-6)
  assert np.abs(found - np.array(kernels.activation("gelu")(X))).max() > 1e-4


@pytest.mark.parametrize(
  ("name", "expected"),
  [
    ("gelu_10", [0, -0.15865529, 0.34573120, 1.95449996, 10]),
    ("gelu_fast", [0, -0.15880799, 0.34571400, 1.95459771, 11]),
    ("mish", [-1.837171e-4, -0.30340144, 0.37524524, 1.94393900, 11]),
    ("quick_gelu", [-8.138256e-8, -0.15420423, 0.35038844, 1.93565857, 11]),
    ("relu2", [0, 0, 0.25, 4, 121]),
    ("swish", [-1.837101e-4, -0.26894143, 0.31122968, 1.76159416, 10.9998163]),
  ],
)
def test_names_of_transformers_are_its_functions(name, expected):
  x = np.array([-11, -1, 0.5, 2, 11], "float32")
  function = kernels.activation(family.ACTIVATIONS.get(name, name))
  np.testing.assert_allclose(function(x), expected, rtol=1e-5, atol=2e-6)


def test_every_activation_of_a_configuration_is_a_function_that_is_saved():
  for name in (*parts.ACTIVATIONS, *family.ACTIVATIONS.values()):
    dense = keras.layers.Dense(2, kernels.activation(name))
    again = keras.layers.Dense.from_config(dense.get_config())
    assert again.activation is dense.activation, name


def test_other_names_are_those_of_keras():
  assert kernels.activation("relu") is keras.activations.relu
  assert kernels.activation(None) is keras.activations.linear
