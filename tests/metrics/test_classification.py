import warnings

import numpy as np
import pytest
import scipy.stats
import sklearn.metrics

from keras_bert_impl.metrics import classification

CASES = 1000


def random_classes(seed, num_classes):
  """Labels, and predictions that are right more or less often."""
  rng = np.random.default_rng(seed)
  size = rng.integers(2, 200)
  labels = rng.integers(0, num_classes, size)
  is_right = rng.random(size) < rng.random()
  guesses = rng.integers(0, num_classes, size)
  return labels, np.where(is_right, labels, guesses)


def random_numbers(seed):
  """Scores in fifths (so with ties), and predictions near or far."""
  rng = np.random.default_rng(seed)
  size = rng.integers(2, 200)
  labels = rng.integers(0, 26, size) / 5
  noise = rng.normal(0, 5 * rng.random(), size)
  return labels, (labels + noise).astype(np.float32)


def test_two_classes_score_as_by_the_definitions():
  for seed in range(CASES):
    labels, predictions = random_classes(seed, 2)
    hits = np.sum((labels == 1) & (predictions == 1))
    misses = np.sum((labels == 1) & (predictions == 0))
    alarms = np.sum((labels == 0) & (predictions == 1))
    rests = np.sum((labels == 0) & (predictions == 0))
    f1 = 2 * hits / max(1, 2 * hits + misses + alarms)
    accuracy = (hits + rests) / len(labels)
    product = (
      (hits + alarms) * (hits + misses) * (rests + alarms) * (rests + misses)
    )
    matthews = (hits * rests - alarms * misses) / np.sqrt(float(product) or 1.0)
    for name, expected in {
      "accuracy": accuracy,
      "f1": f1,
      "matthews": matthews,
    }.items():
      score = classification.OF_CLASSES[name](labels, predictions)
      assert score == pytest.approx(expected, abs=1e-12), (name, seed)


def test_many_classes_score_as_in_scikit_learn():
  for seed in range(CASES):
    labels, predictions = random_classes(seed, 2 + seed % 5)
    assert classification.accuracy(labels, predictions) == pytest.approx(
      sklearn.metrics.accuracy_score(labels, predictions)
    )
    assert classification.macro_f1(labels, predictions) == pytest.approx(
      np.mean(
        [
          2
          * np.sum((labels == c) & (predictions == c))
          / (np.sum(labels == c) + np.sum(predictions == c))
          for c in np.union1d(labels, predictions)
        ]
      )
    )


def test_numbers_correlate_as_by_the_definitions():
  for seed in range(CASES):
    labels, predictions = random_numbers(seed)
    if len(set(labels)) == 1:
      continue
    ranks = [scipy.stats.rankdata(v) for v in (labels, predictions)]
    pearson = np.corrcoef(labels, predictions)[0, 1]
    spearman = np.corrcoef(*ranks)[0, 1]
    for name, expected in {
      "pearson": pearson,
      "spearman": spearman,
    }.items():
      score = classification.OF_NUMBERS[name](labels, predictions)
      assert score == pytest.approx(expected, abs=1e-6), (name, seed)


def test_the_scores_of_two_kinds_are_their_means():
  labels, predictions = random_classes(7, 2)
  assert (
    classification.accuracy_and_f1(labels, predictions)
    == (
      classification.accuracy(labels, predictions)
      + classification.f1(labels, predictions)
    )
    / 2
  )
  labels, predictions = random_numbers(7)
  assert (
    classification.pearson_and_spearman(labels, predictions)
    == (
      classification.pearson(labels, predictions)
      + classification.spearman(labels, predictions)
    )
    / 2
  )


def test_f1_from_3_takes_3_as_similar():
  score = classification.f1_from_3([3.0, 2.9, 5.0, 0.0], [3.0, 3.1, 2.9, 1.0])
  assert score == pytest.approx(0.5)


@pytest.mark.parametrize(
  ("name", "labels", "predictions"),
  [
    ("matthews", [0, 1, 1], [1, 1, 1]),
    ("matthews", [1, 1, 1], [1, 1, 1]),
    ("f1", [0, 1, 1], [0, 0, 0]),
    ("f1", [0, 0, 0], [0, 0, 0]),
    ("pearson", [0.0, 1.0, 2.0], [1.5, 1.5, 1.5]),
    ("spearman", [0.0, 1.0, 2.0], [1.5, 1.5, 1.5]),
    ("pearson", [1.0, 1.0], [0.5, 1.5]),
    ("spearman", [1.0], [2.0]),
    ("pearson", [1.0], [2.0]),
    ("pearson", [0.0, 1.0, 2.0], [np.nan, 1.0, 2.0]),
    ("spearman", [0.0, 1.0, 2.0], [np.inf, 1.0, 2.0]),
  ],
)
def test_what_is_not_defined_is_0_without_a_warning(name, labels, predictions):
  score = {**classification.OF_CLASSES, **classification.OF_NUMBERS}[name]
  with warnings.catch_warnings():
    warnings.simplefilter("error")
    assert score(np.array(labels), np.array(predictions)) == 0.0
