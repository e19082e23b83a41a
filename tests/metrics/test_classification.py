"""Scores of classes and numbers, by hand and as references have them."""

import warnings

import numpy as np
import pytest
import scipy.stats
import sklearn.metrics

from keras_bert_impl.metrics import classification

ALL = classification.OF_CLASSES | classification.OF_NUMBERS
LABELS, FOUND = np.array([0, 0, 1, 1, 1, 2]), np.array([0, 1, 1, 1, 0, 2])
PAIR = LABELS[:5], FOUND[:5]
# In fifths, so with ties.
NUMBERS = np.array([0.2, 1.0, 1.0, 3.0, 3.4]), np.array([0.0, 2.0, 1.0, 5, 4])


@pytest.mark.parametrize(
  ("name", "values", "expected"),
  [
    # 2 hits, 1 miss, 1 alarm.
    ("accuracy_and_f1", PAIR, (3 / 5 + 2 / 3) / 2),
    ("macro_f1", (LABELS, FOUND), (1 / 2 + 2 / 3 + 1) / 3),
    ("macro_f1", ([0, 0], [0, 3]), (2 / 3 + 0) / 2),
    ("f1_from_3", ([3.0, 2.9, 5.0, 0.0], [3.0, 3.1, 2.9, 1.0]), 0.5),
  ],
)
def test_scores_are_those_by_hand(name, values, expected):
  assert ALL[name](*values) == pytest.approx(expected, abs=1e-12)


REFERENCES = {
  "accuracy": sklearn.metrics.accuracy_score,
  "f1": sklearn.metrics.f1_score,
  "matthews": sklearn.metrics.matthews_corrcoef,
  "pearson": lambda *pair: scipy.stats.pearsonr(*pair).statistic,
  "spearman": lambda *pair: scipy.stats.spearmanr(*pair).statistic,
}


@pytest.mark.parametrize("name", REFERENCES)
def test_scores_are_the_references_and_a_weight_counts_as_often(name):
  rng = np.random.default_rng(3)
  top = 2 if name in classification.OF_CLASSES else 6
  labels, noise = rng.integers(0, top, (2, 200))
  found = np.where(rng.random(200) < 0.5, labels, noise)
  reference = REFERENCES[name]
  score = ALL[name](labels, found)
  assert score == pytest.approx(reference(labels, found), abs=1e-12)
  weights = rng.integers(0, 4, (5, 200))
  for got, counts in zip(ALL[name](labels, found, weights), weights):
    expected = reference(np.repeat(labels, counts), np.repeat(found, counts))
    assert got == pytest.approx(expected, abs=1e-9)


LABEL_REFERENCES = {
  "micro_f1": lambda *pair: sklearn.metrics.f1_score(
    *pair, average="micro", zero_division=0
  ),
  "macro_f1": lambda *pair: sklearn.metrics.f1_score(
    *pair, average="macro", zero_division=0
  ),
  "exact_match": sklearn.metrics.accuracy_score,
}


def several_labels():
  """Returns true and found labels [200, 5], one of which never occurs."""
  rng = np.random.default_rng(4)
  labels, noise = (rng.random((2, 200, 5)) < 0.3).astype(int)
  found = np.where(rng.random((200, 5)) < 0.7, labels, noise)
  labels[:, 2] = found[:, 2] = 0
  return labels, found


@pytest.mark.parametrize("name", LABEL_REFERENCES)
def test_scores_of_several_labels_are_the_references(name):
  labels, found = several_labels()
  score, reference = classification.OF_LABELS[name], LABEL_REFERENCES[name]
  assert score(labels, found) == pytest.approx(reference(labels, found))
  weights = np.random.default_rng(5).integers(0, 4, (3, 200))
  for got, counts in zip(score(labels, found, weights), weights):
    pair = (np.repeat(each, counts, axis=0) for each in (labels, found))
    assert got == pytest.approx(reference(*pair))


def test_rates_of_each_label_are_those_of_scikit_learn():
  pair = several_labels()
  expected = sklearn.metrics.precision_recall_fscore_support(
    *pair, zero_division=0
  )
  rates = classification.label_rates(*pair)
  for name, values in zip(("precision", "recall", "f1"), expected):
    np.testing.assert_allclose(rates[name], values, atol=1e-12)


def test_pearson_and_spearman_have_a_mean():
  first, second = (ALL[name](*NUMBERS) for name in ("pearson", "spearman"))
  mean = ALL["pearson_and_spearman"](*NUMBERS)
  assert mean == (first + second) / 2


def test_macro_f1_leaves_out_what_a_resample_does_not_have():
  labels, found = np.array([0, 1, 2]), np.array([0, 2, 2])
  scores = classification.macro_f1(labels, found, [[2, 1, 1], [1, 0, 0]])
  np.testing.assert_allclose(scores, [(1 + 0 + 2 / 3) / 3, 1.0])


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
  with warnings.catch_warnings():
    warnings.simplefilter("error")
    assert ALL[name](np.array(labels), np.array(predictions)) == 0.0
