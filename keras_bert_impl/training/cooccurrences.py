"""Word vectors from counts of which tokens stand before and after which.

Seconds of counting, where training takes minutes to learn which words are used
alike. Counts become positive pointwise mutual information, whose principal
directions are the vectors.

Source: Levy, Goldberg and Dagan 2015, sections 2 and 3 (smoothed context
counts, square root of the singular values); Schuetze 1993 (the words before and
those after as contexts of their own); Halko, Martinsson and Tropp 2011, section
4.5 (randomized subspace iteration).
"""

import numpy as np
import scipy.sparse

_WINDOW = 4  # Tokens on each side; one at distance d counts 1 / d.
_CONTEXT_POWER = 0.75
_OVERSAMPLING = 16
_ITERATIONS = 4


def vectors(rows, vocab_size, size, seed=0):
  """Returns a vector of each token that rows of tokens hold.

  Args:
    rows: `tf.RaggedTensor` int64 [N, (n)], ids of tokens; those outside of
      [0, V) count nothing.
    vocab_size: int, V.
    size: int, E.
    seed: int, of the randomized algorithm.

  Returns:
    (ids int64 [T], float32 [T, E]), of mean 0; directions that so few tokens do
    not have are 0.
  """
  information = _information(_counts(rows, vocab_size))
  found = np.flatnonzero(np.diff(information.indptr))
  information = information[found]
  values = _principal(information, size, np.random.default_rng(seed))
  return found, (values - values.mean(axis=0)).astype(np.float32)


def log_shares(rows, vocab_size):
  """Returns the logarithm of each token's share, float32 [V], of mean 0.

  Each token counts once more than it occurs, so that none has a share of 0.

  Args:
    rows: `tf.RaggedTensor` int64 [N, (n)], as in `vectors`.
    vocab_size: int, V.
  """
  ids = rows.flat_values.numpy()
  ids = ids[(ids >= 0) & (ids < vocab_size)]
  logs = np.log(np.bincount(ids, minlength=vocab_size) + 1.0)
  return (logs - logs.mean()).astype(np.float32)


def _counts(rows, vocab_size):
  """Counts what stands after and before what, `coo_array` [V, 2V]."""
  ids, row_numbers = rows.flat_values.numpy(), rows.value_rowids().numpy()
  is_known = (ids >= 0) & (ids < vocab_size)
  after = scipy.sparse.csr_array((vocab_size, vocab_size))
  for distance in range(1, _WINDOW + 1):
    first, second = ids[:-distance], ids[distance:]
    is_near = row_numbers[:-distance] == row_numbers[distance:]
    is_near &= is_known[:-distance] & is_known[distance:]
    pairs = first[is_near], second[is_near]
    weights = np.full(len(pairs[0]), 1.0 / distance)
    after += scipy.sparse.coo_array((weights, pairs), after.shape).tocsr()
  return scipy.sparse.hstack([after, after.T]).tocoo()


def _information(counts):
  """Returns positive pointwise mutual information, `csr_array` [V, 2V]."""
  tokens = counts.sum(axis=1)
  contexts = counts.sum(axis=0) ** _CONTEXT_POWER
  by_chance = tokens[counts.row] * contexts[counts.col] / contexts.sum()
  counts.data = np.maximum(np.log(counts.data / by_chance), 0.0)
  information = counts.tocsr().astype(np.float32)
  information.eliminate_zeros()
  return information


def _principal(matrix, size, generator):
  """Returns left singular vectors by the roots of their values, [T, E]."""
  width = min(size + _OVERSAMPLING, *matrix.shape)
  shape = matrix.shape[1], width
  basis = matrix @ generator.standard_normal(shape, np.float32)
  for _ in range(_ITERATIONS):
    basis = matrix @ (matrix.T @ np.linalg.qr(basis)[0])
  basis = np.linalg.qr(basis)[0]
  projected = matrix.T @ basis
  squares, directions = np.linalg.eigh(projected.T @ projected)
  largest = np.argsort(squares)[::-1][:size]
  roots = np.maximum(squares[largest], 0.0) ** 0.25
  found = basis @ directions[:, largest] * roots
  return np.pad(found, ((0, 0), (0, size - found.shape[1])))
