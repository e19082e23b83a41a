"""Intervals of scores, against SciPy's and by how often they are right."""

import numpy as np
import pytest
import scipy.stats

from keras_bert_impl.metrics import classification, intervals


@pytest.mark.parametrize(
  "right, number", [(0, 7), (7, 7), (40, 50), (9_700, 10_000)]
)
def test_a_share_has_wilsons_interval(right, number):
  expected = scipy.stats.binomtest(right, number).proportion_ci(method="wilson")
  found = intervals.wilson(right, number)
  assert found[:2] == pytest.approx(tuple(expected), abs=1e-12)
  assert found.low <= right / number <= found.high
  assert found.method == intervals.WILSON


def mean(rows, weights):
  return {"mean": weights @ rows[:, 0] / weights.sum(-1)}


def test_a_bootstrap_is_scipys_and_the_same_every_time():
  rng = np.random.default_rng(1)
  values = rng.choice([0.0, 0.25, 1.0], 300, p=[0.3, 0.2, 0.5])
  found = intervals.bootstrap(mean, values[:, None])
  expected = scipy.stats.bootstrap(
    (values,), np.mean, method="percentile", rng=rng
  ).confidence_interval
  assert found["mean"][:2] == pytest.approx(tuple(expected), abs=0.01)
  assert found == intervals.bootstrap(mean, values[:, None])


def test_a_bootstrapped_f1_is_right_nineteen_times_of_twenty():
  rng = np.random.default_rng(2)
  labels = rng.random((100, 400)) < 0.4
  found = np.where(rng.random(labels.shape) < 0.8, labels, ~labels)
  truth = 2 * 0.4 * 0.8 / (0.4 + 0.4 * 0.8 + 0.6 * 0.2)
  held = 0
  for pair in zip(labels, found):
    interval = intervals.bootstrap(
      lambda rows, weights: {"f1": classification.f1(*rows.T, weights)},
      np.stack(pair, axis=1),
    )["f1"]
    held += interval.low <= truth <= interval.high
  assert 0.89 <= held / 100 <= 0.99
