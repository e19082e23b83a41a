"""Scores of classification and regression: those of GLUE, and macro-F1.

Each takes the true and the predicted values, [N] both, and returns a float.
Where a score is undefined, because one side is constant or not finite, it is 0:
such predictions are worth nothing.
"""

import numpy as np
from etils import epy

# A training needs neither before its first evaluation.
with epy.lazy_imports():
  import scipy.stats
  import sklearn.metrics

# The class of two whose F1 is scored.
POSITIVE = 1


def accuracy(labels, predictions):
  """Returns the accuracy: the share of `predictions` that equal `labels`."""
  return float(np.mean(np.equal(labels, predictions)))


def f1(labels, predictions):
  """Returns the F1 of class 1 of two, from int [N]."""
  return float(
    sklearn.metrics.f1_score(
      labels, predictions, pos_label=POSITIVE, zero_division=0.0
    )
  )


def accuracy_and_f1(labels, predictions):
  """Returns the mean of accuracy and F1: GLUE's score for MRPC and QQP."""
  return (accuracy(labels, predictions) + f1(labels, predictions)) / 2


def macro_f1(labels, predictions):
  """Returns the mean F1 of the classes in either int [N]."""
  return float(
    sklearn.metrics.f1_score(
      labels, predictions, average="macro", zero_division=0.0
    )
  )


def matthews(labels, predictions):
  """Returns the Matthews correlation of int [N], from -1 to 1; any classes."""
  if _is_constant(labels) or _is_constant(predictions):
    return 0.0
  return float(sklearn.metrics.matthews_corrcoef(labels, predictions))


def pearson(labels, predictions):
  """Returns the Pearson correlation of float [N], from -1 to 1."""
  if not _can_correlate(labels, predictions):
    return 0.0
  return float(scipy.stats.pearsonr(labels, predictions).statistic)


def spearman(labels, predictions):
  """Returns the Spearman rank correlation of float [N], from -1 to 1."""
  if not _can_correlate(labels, predictions):
    return 0.0
  return float(scipy.stats.spearmanr(labels, predictions).statistic)


def pearson_and_spearman(labels, predictions):
  """Returns the mean of Pearson and Spearman: GLUE's score for STS-B."""
  return (pearson(labels, predictions) + spearman(labels, predictions)) / 2


def f1_from_3(labels, predictions):
  """Returns the F1 of "3 or more", from float [N]: KLUE-STS's second score.

  Source: Park et al. 2021, section 3.2.
  """
  return f1(np.greater_equal(labels, 3), np.greater_equal(predictions, 3))


# The scores of classifications and of regressions, by name.
OF_CLASSES = {
  score.__name__: score
  for score in (accuracy, f1, accuracy_and_f1, macro_f1, matthews)
}
OF_NUMBERS = {
  score.__name__: score
  for score in (pearson, spearman, pearson_and_spearman, f1_from_3)
}


def _is_constant(values):
  return np.all(np.equal(values, values[0]))


def _can_correlate(*columns):
  return all(
    np.all(np.isfinite(values)) and not _is_constant(values)
    for values in columns
  )
