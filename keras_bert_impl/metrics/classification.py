"""Scores of classification and regression: those of GLUE, and macro-F1.

Each takes the true and the predicted values, [N] both or, of several labels at
once, [N, C] of 0 and 1, and returns a float; or also weights [..., N], how
often each pair counts, and returns float64 [...], as `intervals.bootstrap`
needs it. Where a score is undefined, because one side is constant or not
finite, it is 0: such predictions are worth nothing.
"""

import functools

import numpy as np

# The class of two whose F1 is scored.
POSITIVE = 1
# Variances below this share of the squared values are rounding errors.
_NO_VARIANCE = 1e-24


def _weighted(score):
  """Makes a function of labels, predictions and weights one of two or three."""

  @functools.wraps(score)
  def scored(labels, predictions, weights=None):
    labels, predictions = np.asarray(labels), np.asarray(predictions)
    if weights is None:
      return float(score(labels, predictions, np.ones(len(labels))))
    return score(labels, predictions, np.asarray(weights, np.float64))

  return scored


@_weighted
def accuracy(labels, predictions, weights):
  """Returns the accuracy: the share of `predictions` that equal `labels`."""
  return weights @ (labels == predictions) / weights.sum(-1)


@_weighted
def f1(labels, predictions, weights):
  """Returns the F1 of class 1 of two, from int [N]."""
  is_label, is_predicted = labels == POSITIVE, predictions == POSITIVE
  num_right = weights @ (is_label & is_predicted)
  return _ratio(2 * num_right, weights @ is_label + weights @ is_predicted)


@_weighted
def accuracy_and_f1(labels, predictions, weights):
  """Returns the mean of accuracy and F1: GLUE's score for MRPC and QQP."""
  both = [score(labels, predictions, weights) for score in (accuracy, f1)]
  return sum(both) / 2


@_weighted
def macro_f1(labels, predictions, weights):
  """Returns the mean F1 of the classes in either int [N]."""
  is_label, is_predicted = _memberships(labels, predictions)
  num_right = weights @ (is_label & is_predicted)  # [..., C]
  num_found = weights @ is_label + weights @ is_predicted
  scores = _ratio(2 * num_right, num_found)
  return scores.sum(-1) / (num_found > 0).sum(-1)


@_weighted
def matthews(labels, predictions, weights):
  """Returns the Matthews correlation of int [N], from -1 to 1; any classes."""
  is_label, is_predicted = _memberships(labels, predictions)
  true, found = weights @ is_label, weights @ is_predicted  # [..., C]
  total = weights.sum(-1)
  # Gorodkin 2004: the covariances of the two, summed over the classes.
  joint = total * (weights @ (labels == predictions)) - (true * found).sum(-1)
  spreads = [total**2 - (each**2).sum(-1) for each in (true, found)]
  return _ratio(joint, np.sqrt(spreads[0] * spreads[1]))


@_weighted
def pearson(labels, predictions, weights):
  """Returns the Pearson correlation of float [N], from -1 to 1."""
  if not _are_finite(labels, predictions):
    return np.zeros(weights.shape[:-1])
  return _correlation(labels, predictions, weights)


@_weighted
def spearman(labels, predictions, weights):
  """Returns the Spearman rank correlation of float [N], from -1 to 1."""
  if not _are_finite(labels, predictions):
    return np.zeros(weights.shape[:-1])
  return _correlation(
    _ranks(labels, weights), _ranks(predictions, weights), weights
  )


@_weighted
def pearson_and_spearman(labels, predictions, weights):
  """Returns the mean of Pearson and Spearman: GLUE's score for STS-B."""
  both = [score(labels, predictions, weights) for score in (pearson, spearman)]
  return sum(both) / 2


@_weighted
def f1_from_3(labels, predictions, weights):
  """Returns the F1 of "3 or more", from float [N]: KLUE-STS's second score.

  Source: Park et al. 2021, section 3.2.
  """
  return f1(labels >= 3, predictions >= 3, weights)


@_weighted
def micro_f1(labels, predictions, weights):
  """Returns the F1 of all labels together, of int [N, C]."""
  num_right, num_true, num_found = _counts(labels, predictions, weights)
  return _ratio(2 * num_right.sum(-1), (num_true + num_found).sum(-1))


@_weighted
def mean_f1(labels, predictions, weights):
  """Returns the mean F1 of the labels, of int [N, C]; 0 of one not there."""
  num_right, num_true, num_found = _counts(labels, predictions, weights)
  return _ratio(2 * num_right, num_true + num_found).mean(-1)


@_weighted
def exact_match(labels, predictions, weights):
  """Returns the share of int [N, C] whose labels are all right."""
  return weights @ np.all(labels == predictions, axis=-1) / weights.sum(-1)


def label_rates(labels, predictions):
  """Returns precision, recall and F1 of each label, {name: float64 [C]}.

  Args:
    labels: int [N, C], 1 for each label that applies.
    predictions: the same, as predicted.
  """
  weights = np.ones(len(labels))
  num_right, num_true, num_found = _counts(labels, predictions, weights)
  return {
    "precision": _ratio(num_right, num_found),
    "recall": _ratio(num_right, num_true),
    "f1": _ratio(2 * num_right, num_true + num_found),
  }


# The scores of classifications, of several labels at once and of regressions,
# by name.
OF_CLASSES = {
  score.__name__: score
  for score in (accuracy, f1, accuracy_and_f1, macro_f1, matthews)
}
OF_LABELS = {
  "micro_f1": micro_f1,
  "macro_f1": mean_f1,
  "exact_match": exact_match,
}
OF_NUMBERS = {
  score.__name__: score
  for score in (pearson, spearman, pearson_and_spearman, f1_from_3)
}


def _ratio(a, b):
  """Returns a / b, and 0 where b is 0."""
  return np.divide(a, b, out=np.zeros(np.shape(a)), where=np.greater(b, 0))


def _memberships(labels, predictions):
  """Returns which of the C classes each has, two bool [N, C]."""
  classes = np.union1d(labels, predictions)
  return labels[:, None] == classes, predictions[:, None] == classes


def _counts(labels, predictions, weights):
  """Returns how often each label is right, true and found, [..., C] each."""
  both = labels & predictions
  return tuple(weights @ marks for marks in (both, labels, predictions))


def _are_finite(*columns):
  return all(np.all(np.isfinite(values)) for values in columns)


def _correlation(first, second, weights):
  """Returns the correlations of [..., N] and [..., N]; 0 of a constant."""
  total = weights.sum(-1, keepdims=True)

  def centred(values):
    values = np.asarray(values, np.float64)
    means = (weights * values).sum(-1, keepdims=True) / total
    deviations = values - means
    variance = (weights * deviations**2).sum(-1) / total[..., 0]
    is_constant = variance <= _NO_VARIANCE * np.max(values**2, axis=-1)
    return deviations, np.where(is_constant, 0.0, variance)

  (x, x_variance), (y, y_variance) = centred(first), centred(second)
  joint = (weights * x * y).sum(-1) / total[..., 0]
  return np.clip(_ratio(joint, np.sqrt(x_variance * y_variance)), -1, 1)


def _ranks(values, weights):
  """Returns the mean rank from 1 of values [N] that are there several times."""
  order = np.argsort(values, kind="stable")
  is_new = np.diff(values[order], prepend=np.nan) != 0
  weights = np.asarray(weights)[..., order]
  counts = np.add.reduceat(weights, np.flatnonzero(is_new), axis=-1)
  ranks = np.cumsum(counts, axis=-1) - (counts - 1) / 2  # [..., values]
  return ranks[..., np.cumsum(is_new) - 1][..., np.argsort(order)]
