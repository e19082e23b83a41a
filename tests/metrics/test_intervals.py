"""Intervals of scores, against SciPy's and by how often they are right."""

import numpy as np
import pytest
import scipy.stats
import sklearn.metrics

from keras_bert_impl.metrics import classification, intervals


@pytest.mark.parametrize(
  "right, number", [(0, 7), (7, 7), (1, 3), (40, 50), (9_700, 10_000)]
)
def test_a_share_has_wilsons_interval(right, number):
  expected = scipy.stats.binomtest(right, number).proportion_ci(method="wilson")
  found = intervals.wilson(right, number)
  assert found[:2] == pytest.approx(tuple(expected), abs=1e-12)
  assert found.low <= right / number <= found.high
  assert found.method == intervals.WILSON


def test_wilsons_interval_is_right_nineteen_times_of_twenty():
  # The chance of each number of right answers, and whether it would be held.
  for truth in (0.5, 0.8, 0.95):
    numbers = np.arange(101)
    chances = scipy.stats.binom.pmf(numbers, 100, truth)
    held = [
      low <= truth <= high
      for low, high, _ in (intervals.wilson(k, 100) for k in numbers)
    ]
    assert chances @ held == pytest.approx(0.95, abs=0.03)


def test_a_bootstrap_is_scipys():
  rng = np.random.default_rng(1)
  values = rng.choice([0.0, 0.25, 1.0], 300, p=[0.3, 0.2, 0.5])
  found = intervals.bootstrap(
    lambda rows, weights: {"mean": weights @ rows[:, 0] / weights.sum(-1)},
    values[:, None],
  )["mean"]
  expected = scipy.stats.bootstrap(
    (values,), np.mean, method="percentile", rng=rng
  ).confidence_interval
  assert found[:2] == pytest.approx(tuple(expected), abs=0.01)


def test_a_bootstrapped_f1_is_right_nineteen_times_of_twenty():
  rng = np.random.default_rng(2)
  labels = rng.random((200, 400)) < 0.4
  found = np.where(rng.random(labels.shape) < 0.8, labels, ~labels)
  truth = 2 * 0.4 * 0.8 / (0.4 + 0.4 * 0.8 + 0.6 * 0.2)
  held = 0
  for pair in zip(labels, found):
    interval = intervals.bootstrap(
      lambda rows, weights: {"f1": classification.f1(*rows.T, weights)},
      np.stack(pair, axis=1),
    )["f1"]
    held += interval.low <= truth <= interval.high
  assert 0.9 <= held / 200 <= 0.99


@pytest.mark.parametrize(
  "name, reference",
  [
    ("accuracy", sklearn.metrics.accuracy_score),
    ("f1", sklearn.metrics.f1_score),
    ("matthews", sklearn.metrics.matthews_corrcoef),
    ("pearson", lambda *pair: scipy.stats.pearsonr(*pair).statistic),
    ("spearman", lambda *pair: scipy.stats.spearmanr(*pair).statistic),
  ],
)
def test_a_weight_counts_an_example_as_often(name, reference):
  rng = np.random.default_rng(3)
  score = {**classification.OF_CLASSES, **classification.OF_NUMBERS}[name]
  top = 2 if name in classification.OF_CLASSES else 6
  labels, found = rng.integers(0, top, (2, 40))
  weights = rng.integers(0, 4, (5, 40))
  scores = score(labels, found, weights)
  for got, counts in zip(scores, weights):
    expected = reference(np.repeat(labels, counts), np.repeat(found, counts))
    assert got == pytest.approx(expected, abs=1e-9)


def test_macro_f1_leaves_out_what_a_resample_does_not_have():
  labels, found = np.array([0, 1, 2]), np.array([0, 2, 2])
  scores = classification.macro_f1(labels, found, [[2, 1, 1], [1, 0, 0]])
  np.testing.assert_allclose(scores, [(1 + 0 + 2 / 3) / 3, 1.0])


def test_a_bootstrap_is_the_same_every_time():
  def mean(rows, weights):
    return {"mean": weights @ rows[:, 0] / weights.sum(-1)}

  values = np.random.default_rng(4).random((50, 1))
  assert intervals.bootstrap(mean, values) == intervals.bootstrap(mean, values)
