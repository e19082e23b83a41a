"""MaxSim, the similarity of late interaction.

The sum, over the tokens of a query, of the largest dot product with a token of
the document. A vector of zeros is no token. Axes: Q queries, M documents, B
pairs; L tokens of the longest of each; D.

Source: Khattab and Zaharia 2020, "ColBERT", equation 3.
"""

import numpy as np
from etils import epy

with epy.lazy_imports():
  from keras import ops

_LOWEST = -1e9
# Tokens of queries and of documents that are compared at once.
_QUERY_TOKENS, _DOCUMENT_TOKENS = 2048, 8192


def matrix(queries, documents):
  """Returns the similarities [Q, M] of tensors [Q, L, D] and [M, L, D]."""
  size = ops.shape(queries)[-1]
  found = ops.matmul(
    ops.reshape(queries, (-1, size)),
    ops.transpose(ops.reshape(documents, (-1, size))),
  )
  found = ops.reshape(
    found, (*ops.shape(queries)[:2], *ops.shape(documents)[:2])
  )  # [Q, L, M, L]
  found = ops.where(_is_token(documents), found, _LOWEST)
  return ops.sum(ops.max(found, axis=-1), axis=1)


def pairs(queries, documents):
  """Returns the similarities [B] of tensors [B, L, D] and [B, L, D]."""
  return ops.sum(ops.max(dots(queries, documents), axis=-1), axis=1)


def dots(queries, documents):
  """Returns the dot products [B, L, L] of [B, L, D] and [B, L, D].

  Those with what is no token of a document are far below all others.
  """
  found = ops.matmul(queries, ops.swapaxes(documents, 1, 2))
  is_token = ops.expand_dims(_is_token(documents), 1)
  return ops.where(is_token, found, _LOWEST)


def blocks(queries, documents):
  """Yields the similarities of some queries with all documents.

  Args:
    queries: list of Q float32 arrays [L, D], L above 0.
    documents: list of M such arrays.

  Yields:
    float32 arrays [n, M], of the next n queries.
  """
  parts = [*_parts(documents, _DOCUMENT_TOKENS)]
  for tokens, starts in _parts(queries, _QUERY_TOKENS):
    found = []
    for others, other_starts in parts:
      best = np.maximum.reduceat(tokens @ others.T, other_starts, axis=1)
      found.append(np.add.reduceat(best, starts, axis=0))
    yield np.concatenate(found, axis=1)


def _parts(texts, size):
  """Yields (tokens [T, D], where each text begins), of about `size` tokens."""
  part = []
  for number, text in enumerate(texts, start=1):
    part.append(text)
    if number == len(texts) or sum(map(len, part)) + len(text) > size:
      starts = np.cumsum([0, *map(len, part[:-1])])
      yield np.concatenate(part), starts
      part = []


def _is_token(vectors):
  return ops.any(vectors != 0, axis=-1)
