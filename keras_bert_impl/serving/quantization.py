"""Vectors in fewer bytes: float16, int8 or bits, in numpy."""

import numpy as np

from keras_bert_impl import choices, options

_MOST = 127  # of int8; -128 stays unused, so that both signs are alike
_LEVELS = 255  # between the ends of a range
# What `quantize` makes, by the names of sentence-transformers.
PRECISIONS = (choices.FLOAT32, choices.INT8, "uint8", choices.BINARY, "ubinary")


def compress(vectors, precision):
  """Returns vectors as they are stored, {name: array}.

  Args:
    vectors: float32 [N, D].
    precision: str, of `choices.CORPUS_PRECISIONS`.

  Returns:
    {"vectors": float32 or float16 [N, D]}; of "int8" {"vectors": int8 [N, D],
    "scales": float32 [N]}, which multiplied are the vectors within half a
    scale; of "binary" {"vectors": uint8 [N, D / 8]}, as `quantize` has
    "ubinary". They equal those of a servable of the same precision.
  """
  if precision == choices.BINARY:
    return {"vectors": quantize(vectors, "ubinary")}
  if precision != choices.INT8:
    return {"vectors": np.asarray(vectors, precision)}
  largest = np.max(np.abs(vectors), axis=1, initial=0)
  scales = (np.where(largest > 0, largest, 1) / _MOST).astype(np.float32)
  rounded = np.rint(vectors / scales[:, None]).astype(np.int8)
  return {"vectors": rounded, "scales": scales}


def restore(arrays, precision, size):
  """Returns the vectors, float32 [N, D], of what `compress` returned.

  Bits are 1 and -1.

  Args:
    arrays: as of `compress`.
    precision: the same.
    size: int, D.
  """
  vectors = arrays["vectors"]
  if precision == choices.BINARY:
    bits = np.unpackbits(vectors, axis=1, count=size)
    return 2 * bits.astype(np.float32) - 1
  vectors = np.asarray(vectors, np.float32)
  if precision == choices.INT8:
    vectors = vectors * np.asarray(arrays["scales"])[:, None]
  return vectors


def quantize(vectors, precision, ranges=None):
  """Returns vectors as `quantize_embeddings` of sentence-transformers does.

  Differs from it: numbers outside of the ranges become their ends, where there
  they overflow.

  Args:
    vectors: float [N, D].
    precision: "float32"; "int8" or "uint8", places in the range of each
      dimension; "ubinary", whether each number is above 0, eight in a byte, the
      first in its highest bit; or "binary", the same less 128.
    ranges: float [2, D], the least and the largest of each dimension of vectors
      to calibrate by; default: of `vectors`.

  Returns:
    array [N, D] of this dtype; of bits uint8 or int8 [N, D / 8].
  """
  options.check_choice("precision", precision, PRECISIONS)
  vectors = np.asarray(vectors, np.float32)
  if precision == choices.FLOAT32:
    return vectors
  if precision in ("ubinary", choices.BINARY):
    bits = np.packbits(vectors > 0, axis=1)
    if precision == "ubinary":
      return bits
    return (bits.astype(np.int16) - 128).astype(np.int8)
  if ranges is None:
    calibrating = vectors if len(vectors) else np.zeros((1, vectors.shape[1]))
    ranges = np.stack([calibrating.min(axis=0), calibrating.max(axis=0)])
  low, high = np.asarray(ranges, np.float32)
  steps = np.where(high > low, high - low, 1) / _LEVELS
  places = np.clip((vectors - low) / steps, 0, _LEVELS)
  if precision == choices.INT8:
    places -= 128
  return places.astype(precision)
