"""Chunks of positions: computes a long row in parts, to save memory."""

import keras
from keras import backend, ops

from keras_bert_impl.layers.basics import kernels


def apply(function, rows, others, size, recompute):
  """Returns `function(None, rows, *others)`, computed a chunk at a time.

  The chunks are computed one after the other; rows of up to two chunks are
  computed at once.

  Args:
    function: callable (number, rows, *others), where the number of the chunk is
      None for all rows at once. It returns a tensor [B, R, ...] of the dtype
      of the others; each of its R positions depends only on its own row.
    rows: {name: tensor [..., ..., R or 1, ...]}, the first one with R.
    others: list of float tensors, which all chunks read whole.
    size: int, the most positions of a chunk.
    recompute: bool, whether each chunk is computed again for a gradient, so
      that only its inputs and its output are kept.
  """
  length = ops.shape(next(iter(rows.values())))[2]
  is_short = isinstance(length, int) and length <= 2 * size
  # Other formats have no loops, or slow ones.
  if is_short or kernels.is_portable():
    return function(None, rows, *others)
  num_chunks = -(-length // size)
  if not isinstance(length, int):
    num_chunks = ops.maximum(num_chunks, 1)  # A text may have no masks.
  size = -(-length // num_chunks)  # All about as long: little padding.

  def chunk(inputs):
    number, rows = inputs
    floats = {k: x for k, x in rows.items() if backend.is_float_dtype(x.dtype)}

    def of_floats(floats, *others):
      return function(number, {**rows, **floats}, *others)

    of_floats = keras.remat(of_floats) if recompute else of_floats
    return of_floats(floats, *others)

  rows = {name: _split(x, num_chunks, size) for name, x in rows.items()}
  outputs = kernels.map_in_turn(
    chunk, (ops.arange(num_chunks), rows), others[0].dtype
  )
  outputs = ops.moveaxis(outputs, 0, 1)  # [B, chunks, size, ...]
  batch, _, _, *last = ops.shape(outputs)
  outputs = ops.reshape(outputs, (batch, num_chunks * size, *last))
  return outputs[:, :length]


def _split(x, num_chunks, size):
  """[A, B, R, C] -> [chunks, A, B, size, C], padded; [A, B, 1, C] repeated."""
  if x.shape[2] == 1:
    return ops.broadcast_to(x, (num_chunks, *ops.shape(x)))
  before, heads, length, last = ops.shape(x)
  padding = [[0, 0], [0, 0], [0, num_chunks * size - length], [0, 0]]
  shape = (before, heads, num_chunks, size, last)
  return ops.moveaxis(ops.reshape(ops.pad(x, padding), shape), 2, 0)
