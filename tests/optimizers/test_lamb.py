"""LAMB against the algorithm of the paper, in NumPy."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl.optimizers import lamb

KERNEL = np.array([[1.0, -2.0], [0.5, 3.0]], "float32")
BIAS = np.array([0.5, -0.5], "float32")
GRADIENT = np.array([[0.3, -0.1], [0.0, 2.0]], "float32")
BIAS_GRADIENT = np.array([0.2, -0.4], "float32")


def variables(kernel=KERNEL):
  with keras.name_scope("dense"):
    return [
      keras.Variable(kernel, name="kernel"),
      keras.Variable(BIAS, name="bias"),
    ]


def stepped(optimizer, kernel=KERNEL, scale=1.0, steps=1):
  """Returns (kernel, bias) after equal steps."""
  trained = variables(kernel)
  for _ in range(steps):
    optimizer.apply(
      [tf.constant(scale * GRADIENT), tf.constant(scale * BIAS_GRADIENT)],
      trained,
    )
  return [variable.numpy() for variable in trained]


class Paper:
  """Algorithm 2 of the paper for one layer, phi being the identity."""

  def __init__(self, weights, rate, decay, corrected, adapted):
    self.weights = weights.astype("float64")
    self.rate, self.decay = rate, decay
    self.corrected, self.adapted = corrected, adapted
    self.m = self.v = 0.0

  def step(self, number, gradient):
    gradient = gradient.astype("float64")
    self.m = 0.9 * self.m + 0.1 * gradient
    self.v = 0.99 * self.v + 0.01 * gradient**2
    m, v = self.m, self.v
    if self.corrected:
      m, v = m / (1 - 0.9**number), v / (1 - 0.99**number)
    update = m / (np.sqrt(v) + 1e-6) + self.decay * self.weights
    ratio = 1.0
    if self.adapted:
      ratio = np.linalg.norm(self.weights) / np.linalg.norm(update)
    self.weights = self.weights - self.rate * ratio * update


@pytest.mark.parametrize("corrected", [True, False])
def test_three_steps_equal_the_paper(corrected):
  optimizer = lamb.LAMB(
    0.1, weight_decay_rate=0.3, beta_2=0.99, use_bias_correction=corrected
  )
  trained = variables()
  layers = [
    Paper(KERNEL, 0.1, 0.3, corrected, adapted=True),
    Paper(BIAS, 0.1, 0.0, corrected, adapted=False),
  ]
  for number in (1, 2, 3):
    gradients = [GRADIENT * number, BIAS_GRADIENT / number]
    optimizer.apply([tf.constant(g) for g in gradients], trained)
    for layer, gradient in zip(layers, gradients):
      layer.step(number, gradient)
  for variable, layer in zip(trained, layers):
    np.testing.assert_allclose(variable.numpy(), layer.weights, rtol=1e-4)


@pytest.mark.parametrize("decay", [0.0, 0.5])
def test_the_first_update_is_as_long_as_the_rate_says(decay):
  kernel, _ = stepped(lamb.LAMB(0.1, weight_decay_rate=decay))
  assert np.linalg.norm(kernel - KERNEL) == pytest.approx(
    0.1 * np.linalg.norm(KERNEL), rel=1e-4
  )


def test_scaling_all_gradients_changes_nothing():
  expected = stepped(lamb.LAMB(0.1), steps=3)
  for found, same in zip(stepped(lamb.LAMB(0.1), scale=1e3, steps=3), expected):
    np.testing.assert_allclose(found, same, rtol=1e-4)


def test_a_larger_layer_takes_larger_steps():
  small, _ = stepped(lamb.LAMB(0.1, weight_decay_rate=0.0))
  large, _ = stepped(lamb.LAMB(0.1, weight_decay_rate=0.0), 10 * KERNEL)
  np.testing.assert_allclose(
    large - 10 * KERNEL, 10 * (small - KERNEL), rtol=1e-4
  )


def test_weights_of_zero_are_trained():
  kernel, _ = stepped(lamb.LAMB(0.1), np.zeros_like(KERNEL))
  # Adam's first step, with a ratio of 1.
  np.testing.assert_allclose(kernel, -0.1 * np.sign(GRADIENT), rtol=1e-3)


def test_no_gradient_and_no_decay_leave_the_weights_alone():
  trained = variables()
  optimizer = lamb.LAMB(0.1, weight_decay_rate=0.0)
  optimizer.apply([tf.zeros([2, 2]), tf.zeros([2])], trained)
  np.testing.assert_array_equal(trained[0].numpy(), KERNEL)


def test_moments_have_the_names_of_adam_on_disk():
  optimizer = lamb.LAMB()
  optimizer.build(variables())
  assert list(optimizer.slot_variables()) == [
    "dense/kernel/adam_m",
    "dense/bias/adam_m",
    "dense/kernel/adam_v",
    "dense/bias/adam_v",
  ]


@pytest.mark.xla  # which `fit` takes
def test_a_model_compiled_with_it_trains_saves_and_loads(tmp_path):
  # Where the weights begin far off, the trust ratio makes the way long.
  keras.utils.set_random_seed(2)
  model = keras.Sequential([keras.layers.Input((2,)), keras.layers.Dense(1)])
  model.compile(lamb.LAMB(0.05, beta_2=0.98), "mse")
  x = np.random.default_rng(0).normal(size=(64, 2)).astype("float32")
  history = model.fit(x, x[:, :1] - x[:, 1:], epochs=20, verbose=0).history
  assert history["loss"][-1] < 0.5 * history["loss"][0]
  model.save(tmp_path / "model.keras")
  loaded = keras.models.load_model(tmp_path / "model.keras")
  assert loaded.optimizer.get_config() == model.optimizer.get_config()
  for ours, theirs in zip(
    model.optimizer.variables, loaded.optimizer.variables
  ):
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
