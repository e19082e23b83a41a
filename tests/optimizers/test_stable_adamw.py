"""StableAdamW against the algorithm of its paper, in NumPy."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl.optimizers import adamw, moments, stable_adamw

BETAS = (0.9, 0.98)


def start(shape, seed=0):
  return np.random.default_rng(seed).normal(size=shape).astype("float32")


def gradients(shape, number=4):
  """The third is surprising: 30 times as large as those before."""
  rng = np.random.default_rng(1)
  scales = [30.0 if k == 2 else 1.0 for k in range(number)]
  return [(s * rng.normal(size=shape)).astype("float32") for s in scales]


def paper(weights, grads, rate, decay, epsilon=1e-6):
  """Algorithm 2 as it is printed, and the RMS of each step."""
  beta_1, beta_2 = BETAS
  weights, v, u = weights.astype("float64"), 0.0, 0.0
  surprises = []
  for t, gradient in enumerate(grads, 1):
    gradient = gradient.astype("float64")
    first = beta_1 * (1 - beta_1 ** (t - 1)) / (1 - beta_1**t)
    second = beta_2 * (1 - beta_2 ** (t - 1)) / (1 - beta_2**t)
    v = first * v + (1 - first) * gradient
    u = second * u + (1 - second) * gradient**2
    rms = np.sqrt(np.mean(gradient**2 / np.maximum(u, epsilon**2)))
    surprises.append(rms)
    eta = rate / max(1.0, rms)
    weights = weights - eta * decay * weights - eta * v / (np.sqrt(u) + epsilon)
  return weights, surprises


def trained(initial, grads, optimizer, name="kernel"):
  variable = keras.Variable(initial, name=name)
  for gradient in grads:
    optimizer.apply([tf.constant(gradient)], [variable])
  return variable.numpy()


def optimizer(**options):
  return stable_adamw.StableAdamW(
    0.1, beta_1=BETAS[0], beta_2=BETAS[1], **options
  )


@pytest.mark.parametrize(("name", "decay"), [("kernel", 0.3), ("bias", 0.0)])
def test_four_steps_equal_the_paper(name, decay):
  initial, grads = start((3, 5)), gradients((3, 5))
  expected, surprises = paper(initial, grads, 0.1, decay)
  assert surprises[2] > 1.5 and surprises[3] < 1.0
  found = trained(initial, grads, optimizer(weight_decay_rate=0.3), name)
  # 1 - beta_2 in float32 is 2e-6 off.
  np.testing.assert_allclose(found, expected, rtol=2e-5)


@pytest.mark.xla
def test_a_large_variable_has_one_rms_too(monkeypatch):
  initial, grads = start((3, 5)), gradients((3, 5))
  expected = trained(initial, grads, optimizer())
  monkeypatch.setattr(moments, "_LARGE", 1)
  np.testing.assert_allclose(
    trained(initial, grads, optimizer()), expected, rtol=1e-6
  )


def test_without_surprises_it_is_adamw():
  initial = start((4,))
  grads = [np.full(4, g, "float32") for g in (2.0, 1.5, 1.0)]
  options = {"weight_decay_rate": 0.1, "use_bias_correction": True}
  expected = trained(initial, grads, adamw.AdamW(0.1, **options))
  found = trained(
    initial, grads, stable_adamw.StableAdamW(0.1, weight_decay_rate=0.1)
  )
  # Differs by where epsilon is added.
  np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_a_gradient_of_zero_leaves_the_weights_to_the_decay():
  initial = start((4,))
  found = trained(initial, [np.zeros(4, "float32")], optimizer())
  np.testing.assert_allclose(found, (1 - 0.1 * 0.01) * initial, rtol=1e-6)


def test_it_comes_back_from_its_configuration():
  first = optimizer(epsilon=1e-5, weight_decay_rate=0.2)
  copy = stable_adamw.StableAdamW.from_config(first.get_config())
  assert copy.get_config() == first.get_config()
