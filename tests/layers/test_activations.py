import math

import keras
import numpy as np

from keras_bert_impl.layers.basics import kernels

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


def test_other_names_are_those_of_keras():
  assert kernels.activation("relu") is keras.activations.relu
  assert kernels.activation(None) is keras.activations.linear
