"""Losses of text vectors beside a few lines of NumPy."""

import types

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl.tasks.basics import vector_losses

B, D = 6, 8


def options(**values):
  usual = {
    "similarity": "cosine",
    "temperature": 0.05,
    "both_ways": False,
    "margin": 1.0,
    "widths": (),
  }
  return types.SimpleNamespace(**usual | values)


def batch(num_texts=2, ids=None, weights=None):
  rng = np.random.default_rng(num_texts)
  if ids is None:
    ids = np.arange(num_texts * B).reshape(num_texts, B)
  return vector_losses.Batch(
    [rng.normal(size=(B, D)).astype("float32") for _ in range(num_texts)],
    [np.asarray(each, "int32") for each in ids],
    np.array([3, 1, 1, 5, 0, 2], "float32"),
    np.ones(B, "float32") if weights is None else np.float32(weights),
  )


def unit(x):
  return x / np.linalg.norm(x, axis=1, keepdims=True)


def cross_entropy(logits):
  """Of row i and class i, the sum."""
  exp = np.exp(logits - logits.max(axis=1, keepdims=True))
  return -np.sum(np.log(np.diagonal(exp) / exp.sum(axis=1)))


def value(name, *arguments):
  return float(vector_losses.LOSSES[name].function(*arguments))


@pytest.mark.parametrize("zero", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("name", vector_losses.LOSSES)
def test_a_vector_of_zeros_stops_no_training(name, zero):
  # A text of which nothing is left has one.
  given = batch(vector_losses.LOSSES[name].num_texts)
  vectors = [tf.Variable(x) for x in given.vectors]
  for text in zero:
    vectors[text][2].assign(np.zeros(D))
  with tf.GradientTape() as tape:
    loss = vector_losses.LOSSES[name].function(
      given._replace(vectors=[1.0 * x for x in vectors]), options()
    )
  assert np.isfinite(loss)
  for gradient in tape.gradient(loss, vectors):
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize(
  ("name", "num_texts", "least"),
  [
    ("in_batch", 2, 2),
    ("in_batch", 3, 1),  # Its own negative is one to tell the positive from.
    ("triplet", 3, 1),
    ("cosine", 2, 1),
    ("angle", 2, 2),
  ],
)
def test_some_losses_need_two_examples(name, num_texts, least):
  assert vector_losses.LOSSES[name].least_examples(num_texts) == least


def test_in_batch_is_the_softmax_over_all_positives_and_negatives():
  given = batch(3)
  a, p, n = map(unit, given.vectors)
  expected = cross_entropy(a @ np.concatenate([p, n]).T / 0.05)
  assert value("in_batch", given, options()) == pytest.approx(expected, 1e-5)
  given = given._replace(vectors=given.vectors[:2], text_ids=given.text_ids[:2])
  both = (cross_entropy(a @ p.T / 0.1) + cross_entropy(p @ a.T / 0.1)) / 2
  found = value("in_batch", given, options(both_ways=True, temperature=0.1))
  assert found == pytest.approx(both, 1e-5)


def test_dot_products_compare_vectors_of_any_length():
  given = batch(3)
  a, p, n = given.vectors
  expected = cross_entropy(a @ np.concatenate([p, n]).T)
  found = value("in_batch", given, options(similarity="dot", temperature=1.0))
  assert found == pytest.approx(expected, 1e-5)


def test_flops_is_the_squared_mean_weight_of_each_token():
  vectors = np.abs(batch().vectors[0])
  expected = np.sum(np.mean(vectors, axis=0) ** 2)
  assert float(
    vector_losses.flops(vectors, np.ones(B, "float32"))
  ) == pytest.approx(expected, 1e-5)
  # Padding of a batch is no text.
  weights = np.float32([1, 1, 1, 1, 0, 0])
  expected = np.sum(np.mean(vectors[:4], axis=0) ** 2)
  found = float(vector_losses.flops(vectors, weights))
  assert found == pytest.approx(expected, 1e-5)


def test_texts_equal_to_the_positive_or_the_anchor_are_no_negatives():
  # The positives of 0 and 2 are the same; 5's is the anchor of 1.
  ids = [[0, 1, 2, 3, 4, 5], [10, 11, 10, 13, 14, 1]]
  given = batch(ids=ids)
  a, p = map(unit, given.vectors)
  logits = a @ p.T / 0.05
  logits[0, 2] = logits[2, 0] = logits[1, 5] = -np.inf
  expected = cross_entropy(logits)
  assert value("in_batch", given, options()) == pytest.approx(expected, 1e-5)
  # From positives to anchors: 0 and 2 are anchors of the same positive, and
  # the anchor 1 is the positive of 5.
  back = p @ a.T / 0.05
  back[0, 2] = back[2, 0] = back[5, 1] = back[1, 5] = -np.inf
  found = value("in_batch", given, options(both_ways=True))
  np.testing.assert_allclose(
    2 * found - expected, cross_entropy(back), rtol=1e-4
  )


def test_the_rows_that_fill_a_batch_are_no_candidates():
  given = batch(weights=[1, 1, 1, 1, 0, 0])
  a, p = (unit(v)[:4] for v in given.vectors)
  expected = cross_entropy(a @ p.T / 0.05)
  assert value("in_batch", given, options()) == pytest.approx(expected, 1e-5)


def test_a_batch_of_duplicates_has_no_loss():
  ids = [np.arange(B), np.full(B, 9)]
  assert value("in_batch", batch(ids=ids), options()) == pytest.approx(
    0, abs=1e-6
  )


def test_triplet_is_a_hinge_of_distances():
  given = batch(4)
  a, p, *negatives = given.vectors
  near = np.linalg.norm(a - p, axis=1)
  expected = np.mean(
    [
      np.maximum(near - np.linalg.norm(a - n, axis=1) + 2, 0) for n in negatives
    ],
    axis=0,
  )
  found = value("triplet", given, options(margin=2.0))
  assert found == pytest.approx(expected.sum(), 1e-5)


def test_the_gradient_of_equal_texts_is_finite():
  given = batch(3)
  vectors = [tf.constant(given.vectors[0])] * 3
  with tf.GradientTape() as tape:
    tape.watch(vectors)
    loss = vector_losses.triplet(given._replace(vectors=vectors), options())
  assert np.isfinite(tape.gradient(loss, vectors[0]))[0].all()


def test_cosine_is_the_squared_error_of_the_score():
  given = batch()
  a, b = map(unit, given.vectors)
  expected = np.sum((np.sum(a * b, axis=1) - given.scores) ** 2)
  assert value("cosine", given, options()) == pytest.approx(expected, 1e-5)


def ranking_loss(values, scores):
  total = sum(
    np.exp((values[j] - values[i]) / 0.05)
    for i in range(len(scores))
    for j in range(len(scores))
    if scores[i] > scores[j]
  )
  return np.log(1 + total) * len(scores)


def test_cosent_compares_pairs_of_pairs():
  given = batch()
  a, b = map(unit, given.vectors)
  expected = ranking_loss(np.sum(a * b, axis=1), given.scores)
  assert value("cosent", given, options()) == pytest.approx(expected, 1e-5)
  given = batch(weights=[1, 1, 0, 1, 1, 1])
  kept = [0, 1, 3, 4, 5]
  expected = ranking_loss(np.sum(a * b, axis=1)[kept], given.scores[kept])
  assert value("cosent", given, options()) == pytest.approx(expected, 1e-5)


def test_angle_compares_complex_numbers():
  given = batch()
  a, b = (v[:, : D // 2] + 1j * v[:, D // 2 :] for v in given.vectors)
  # Divided by the size of the whole vector, not of each component.
  size = np.linalg.norm(b, axis=1, keepdims=True) ** 2
  quotient = a * np.conj(b) / size
  quotient *= np.linalg.norm(b, axis=1, keepdims=True)
  quotient /= np.linalg.norm(a, axis=1, keepdims=True)
  values = np.abs(np.sum(quotient.real + quotient.imag, axis=1))
  expected = ranking_loss(values, given.scores)
  assert value("angle", given, options()) == pytest.approx(expected, 1e-4)


def test_widths_sum_the_losses_of_cut_vectors():
  given = batch()
  loss = vector_losses.LOSSES["in_batch"]
  expected = sum(
    cross_entropy(unit(a[:, :w]) @ unit(p[:, :w]).T / 0.05)
    for w in (2, 4, 8)
    for a, p in [given.vectors]
  )
  found = float(vector_losses.of_widths(loss, given, options(widths=(2, 4, 8))))
  assert found == pytest.approx(expected, 1e-5)
