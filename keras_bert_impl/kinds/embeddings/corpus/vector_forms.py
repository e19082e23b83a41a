"""Arrays of the vectors of a shard, of each kind of encoder.

  dense, static  vectors [N, D]
  late           vectors [T, D] of all tokens, offsets int64 [N + 1] of texts
  sparse         vectors [T], the weights above 0; indices int32 [T] of their
                 tokens, offsets int64 [N + 1]: a CSR matrix

Vectors of int8 have scales float32 beside, see `quantization`.
"""

import itertools

import numpy as np
import scipy.cluster.hierarchy
import scipy.sparse

from keras_bert_impl import choices, heads
from keras_bert_impl.kinds.embeddings.corpus import corpus_options
from keras_bert_impl.serving import quantization


def check(head, options):
  """Raises ValueError if options do not fit the kind of vectors."""
  is_sparse = head == heads.SPARSE
  for name, is_wrong, remedy in (
    (
      "precision",
      is_sparse and options.precision in (choices.INT8, choices.BINARY),
      "float32 or float16 for sparse vectors",
    ),
    (
      "file_format",
      options.file_format == corpus_options.IMPACTS and not is_sparse,
      "npy or safetensors, as only vectors of kb.SparseEncoder are impacts",
    ),
    (
      "pool_factor",
      options.pool_factor > 1 and head != heads.LATE,
      "left out, as only late interaction has vectors of tokens",
    ),
  ):
    if is_wrong:
      raise ValueError(f"{name} ({getattr(options, name)}) must be {remedy}.")


def pack(vectors, head, options):
  """Returns the arrays of vectors, {name: array}.

  Args:
    vectors: of N texts, float32 [N, D]; of late interaction list of float32
      [L, D]; sparse list of N `csr_array` [1, V].
    head: str, the kind of vectors.
    options: `CorpusOptions`.
  """
  if head == heads.SPARSE:
    matrix = scipy.sparse.vstack(vectors, format="csr")
    return {
      "vectors": matrix.data.astype(options.precision),
      "indices": matrix.indices.astype(np.int32),
      "offsets": matrix.indptr.astype(np.int64),
    }
  if head != heads.LATE:
    return quantization.compress(np.asarray(vectors), options.precision)
  pooled = [pool_tokens(rows, options.pool_factor) for rows in vectors]
  offsets = np.cumsum([0, *map(len, pooled)], dtype=np.int64)
  found = quantization.compress(np.concatenate(pooled), options.precision)
  return found | {"offsets": offsets}


def take(arrays, places):
  """Returns the arrays of some of the texts, as of `pack`.

  Args:
    arrays: {name: array}.
    places: int [n], of the texts.
  """
  if "offsets" not in arrays:
    return {name: array[places] for name, array in arrays.items()}
  offsets = np.asarray(arrays["offsets"])
  rows = [slice(offsets[k], offsets[k + 1]) for k in places]
  taken = {
    name: np.concatenate([array[own] for own in rows])
    for name, array in arrays.items()
    if name != "offsets"
  }
  sizes = [own.stop - own.start for own in rows]
  return taken | {"offsets": np.cumsum([0, *sizes])}


def unpack(arrays, head, precision, size):
  """Returns the vectors of arrays, as of `pack`.

  Args:
    arrays: {name: array}.
    head: as of `pack`.
    precision: str.
    size: int, D or V.

  Returns:
    float32 [N, D]; list of N such of [L, D]; `csr_array` float32 [N, V].
  """
  if head == heads.SPARSE:
    offsets = np.asarray(arrays["offsets"])
    weights = np.asarray(arrays["vectors"], np.float32)
    rows = (weights, np.asarray(arrays["indices"]), offsets)
    return scipy.sparse.csr_array(rows, shape=(len(offsets) - 1, size))
  vectors = quantization.restore(arrays, precision, size)
  if head != heads.LATE:
    return vectors
  bounds = itertools.pairwise(arrays["offsets"].tolist())
  return [vectors[start:stop] for start, stop in bounds]


def pool_tokens(vectors, factor):
  """Returns fewer vectors of a text: the means of Ward's clusters of them.

  Args:
    vectors: float32 [L, D]; the first, of [CLS], stays as it is.
    factor: int, vectors of a cluster on average.

  Source: Clavié, Chaffin and Adams 2024, Reducing the Footprint of Multi-Vector
  Retrieval with Minimal Performance Impact via Token Pooling.
  """
  rest = vectors[1:]
  if factor == 1 or len(rest) < 2:
    return vectors
  tree = scipy.cluster.hierarchy.linkage(rest, "ward")
  number = max(1, len(rest) // factor)
  labels = scipy.cluster.hierarchy.fcluster(tree, number, "maxclust")
  members = labels == np.unique(labels)[:, None]  # [clusters, L - 1]
  means = members @ rest / members.sum(axis=1, keepdims=True)
  return np.concatenate([vectors[:1], means]).astype(np.float32)
