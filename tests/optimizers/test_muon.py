"""Muon against the formulas of its papers, in NumPy."""

import contextlib

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl.optimizers import adamw, muon

RNG = np.random.default_rng(0)
RATE, DECAY, BETA_2, EPSILON = 0.1, 0.3, 0.98, 1e-6
LAYERS = [
  f"{encoder}/layer_0/output/dense"
  for encoder in ("bert/encoder", "generator/encoder")
]


def quintic(x):
  """Newton-Schulz as written by Jordan et al. 2024, wide matrices only."""
  x = x / np.linalg.norm(x)
  for _ in range(5):
    a = x @ x.T
    b = -4.7750 * a + 2.0315 * a @ a
    x = 3.4445 * x + b @ x
  return x


def variable(value, *path):
  with contextlib.ExitStack() as scopes:
    for name in path[:-1]:
      scopes.enter_context(keras.name_scope(name))
    return keras.Variable(value, name=path[-1])


@pytest.mark.parametrize("shape", [(6, 20), (20, 6), (8, 8)])
def test_singular_values_come_near_one_and_directions_stay(shape):
  matrix = RNG.normal(size=shape).astype("float32")
  found = muon.orthogonalize(tf.constant(matrix)).numpy()
  wide = matrix if shape[0] <= shape[1] else matrix.T
  wanted = quintic(wide.astype("float64"))
  np.testing.assert_allclose(
    found, wanted if shape[0] <= shape[1] else wanted.T, atol=1e-4
  )
  left, values, right = np.linalg.svd(matrix, full_matrices=False)
  inside = left.T @ found @ right.T  # Diagonal: the same singular vectors.
  np.testing.assert_allclose(inside, np.diag(np.diag(inside)), atol=1e-4)
  assert np.all(np.abs(np.diag(inside) - 1) < 0.4), values
  assert not muon.orthogonalize(tf.zeros(shape)).numpy().any()


@pytest.mark.parametrize("layer", LAYERS)
def test_three_steps_of_a_matrix_equal_the_paper_and_of_others_adamw(layer):
  kernel, bias = (RNG.normal(size=n).astype("float32") for n in ((4, 9), 9))
  gradients = [
    [RNG.normal(size=w.shape).astype("float32") for w in (kernel, kernel, bias)]
    for _ in range(3)
  ]
  options = {
    "weight_decay_rate": DECAY,
    "beta_2": BETA_2,
    "epsilon": EPSILON,
    "use_bias_correction": True,
  }
  trained = {}
  for optimizer in (muon.Muon(RATE, **options), adamw.AdamW(RATE, **options)):
    weights = []
    for scope, name, value in (
      (layer, "kernel", kernel),
      ("cls/predictions/transform/dense", "kernel", kernel),
      (layer, "bias", bias),
    ):
      weights.append(variable(value, *scope.split("/"), name))
    for step in gradients:
      optimizer.apply([tf.constant(g) for g in step], weights)
    trained[optimizer.name] = [weight.numpy() for weight in weights]
  w, m = kernel.astype("float64"), 0.0
  for g, *_ in gradients:
    m = 0.95 * m + 0.05 * g
    update = 0.2 * np.sqrt(9) * quintic(0.95 * m + 0.05 * g)
    w = w - RATE * (update + DECAY * w)
  ours, theirs = trained["muon"], trained["adamw"]
  np.testing.assert_allclose(ours[0], w, rtol=1e-4, atol=1e-5)
  assert not np.allclose(ours[0], theirs[0], atol=1e-3)
  for a, b in zip(ours[1:], theirs[1:]):
    np.testing.assert_array_equal(a, b)
