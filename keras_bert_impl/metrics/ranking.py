"""Scores of rankings: MRR, NDCG, MAP, recall and precision.

All take the grades of the ranked documents and the grades of all relevant ones,
and are means over the queries. A document of a grade above 0 is relevant.
"""

import re

import numpy as np

_NAME = re.compile(r"(\w+)@(\d+)")


def scores(names, ranked, relevant):
  """Returns {name: float, the mean over the queries}.

  Args:
    names: iterable of str, such as "mrr@10", of `METRICS` and a rank.
    ranked: float [Q, K], the grades of each query's documents, the best first.
    relevant: list of Q float arrays, the grades above 0 of all documents, of
      which each query has one at least.

  Raises:
    ValueError: an unknown name.
  """
  return {
    name: float(np.mean(of_queries(name, ranked, relevant))) for name in names
  }


def of_queries(name, ranked, relevant):
  """Returns one score of each query, float64 [Q]; arguments as of `scores`."""
  found = _NAME.fullmatch(name)
  if not found or found[1] not in METRICS or not int(found[2]):
    raise ValueError(
      f"metrics ({name!r}) must be one of {', '.join(METRICS)}, each with @ and"
      " a rank, such as ndcg@10."
    )
  depth = int(found[2])
  ranked = np.asarray(ranked, np.float64)[:, :depth]
  return METRICS[found[1]](ranked, relevant, depth)


def mrr(ranked, relevant, depth):
  """Reciprocal rank of the first relevant document, 0 if there is none."""
  del relevant, depth
  hits = ranked > 0
  first = 1.0 / (1 + np.argmax(hits, axis=1))
  return np.where(hits.any(axis=1), first, 0.0)


def ndcg(ranked, relevant, depth):
  """Discounted gain by that of the best ranking (Järvelin and Kekäläinen 2002).

  The gain of a document is its grade, the discount log2(1 + rank).
  """
  best = np.array([_gain(np.sort(grades)[::-1][:depth]) for grades in relevant])
  return np.array([_gain(row) for row in ranked]) / best


def average_precision(ranked, relevant, depth):
  """Mean precision at the ranks of the relevant documents."""
  del depth
  hits = ranked > 0
  precisions = np.cumsum(hits, axis=1) / np.arange(1, ranked.shape[1] + 1)
  return np.sum(precisions * hits, axis=1) / [*map(len, relevant)]


def recall(ranked, relevant, depth):
  """Share of the relevant documents that are found."""
  del depth
  return np.sum(ranked > 0, axis=1) / [*map(len, relevant)]


def precision(ranked, relevant, depth):
  """Share of the first documents that are relevant."""
  del relevant
  return np.sum(ranked > 0, axis=1) / depth


METRICS = {
  "mrr": mrr,
  "ndcg": ndcg,
  "map": average_precision,
  "recall": recall,
  "precision": precision,
}


def _gain(grades):
  return np.sum(np.maximum(grades, 0) / np.log2(np.arange(2, len(grades) + 2)))
