"""Confidence intervals of scores: how far another sample might have been."""

from typing import NamedTuple

import numpy as np

WILSON = "Wilson"
BOOTSTRAP = "bootstrap"
CONFIDENCE = 0.95
NUM_RESAMPLES = 1000
_NORMAL_QUANTILE = 1.959963984540054  # 97.5 % of the normal distribution
_SEED = 0
# Weights that are held, and drawn, at most.
_MOST_AT_A_TIME = 2_000_000
_MOST_WEIGHTS = 20_000_000
_FEWEST_RESAMPLES = 200


class Interval(NamedTuple):
  """An interval that holds the true score with a probability of 95 %.

  Attributes:
    low: float.
    high: float.
    method: str, `WILSON` or `BOOTSTRAP`.
  """

  low: float
  high: float
  method: str


def wilson(num_right, number):
  """Returns the `Interval` of a share, such as an accuracy.

  It is right for shares near 0 and 1 too, where a bootstrap is not.

  Args:
    num_right: number of examples, of independent ones.
    number: of all examples, at least 1.

  Source: Wilson 1927, Probable inference, the law of succession.
  """
  share, square = num_right / number, _NORMAL_QUANTILE**2
  middle = share + square / (2 * number)
  variance = share * (1 - share) / number + square / (4 * number**2)
  reach = _NORMAL_QUANTILE * variance**0.5
  scale = 1 + square / number
  # Rounding must not exclude the share itself.
  low = min(share, max(0.0, (middle - reach) / scale))
  high = max(share, min(1.0, (middle + reach) / scale))
  return Interval(float(low), float(high), WILSON)


def bootstrap(scores, table):
  """Returns the `Interval`s of scores under resampling of the examples.

  Percentiles over 1,000 resamples of a fixed seed. Examples with equal rows are
  drawn together, by one multinomial number, so that a data set of any size with
  few kinds of outcomes takes milliseconds; with more than 20,000 kinds there
  are fewer resamples, at least 200.

  Args:
    scores: callable: rows [U, S] that are different, and their weights float
      [B, U], how often each is in a resample -> {metric: float [B]}.
    table: [N, S], what the scores need of each example.

  Returns:
    {metric: `Interval`}.

  Source: Efron 1979, Bootstrap methods.
  """
  table = np.asarray(table)
  rows, counts = np.unique(table, axis=0, return_counts=True)
  random = np.random.default_rng(_SEED)
  todo = min(NUM_RESAMPLES, _MOST_WEIGHTS // len(rows))
  todo = max(_FEWEST_RESAMPLES, todo)
  found = []
  while todo > 0:
    size = min(todo, max(1, _MOST_AT_A_TIME // len(rows)))
    shares = counts / counts.sum()
    weights = random.multinomial(len(table), shares, size=size)
    found.append(scores(rows, weights.astype(np.float64)))
    todo -= size
  rest = 100 * (1 - CONFIDENCE) / 2
  intervals = {}
  for name in found[0]:
    values = np.concatenate([each[name] for each in found])
    low, high = np.percentile(values, [rest, 100 - rest])
    intervals[name] = Interval(float(low), float(high), BOOTSTRAP)
  return intervals
