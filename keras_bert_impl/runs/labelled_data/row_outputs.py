"""Outputs of a model for rows, in the order of the rows."""

import numpy as np
import scipy.sparse

from tfrecords.labelled import length_batches


def collect(
  predict,
  rows,
  lengths,
  batch_size,
  token_outputs,
  pads_left=False,
  sparse_outputs=(),
):
  """Returns the outputs of a model for rows, as `Evaluator.answers` takes them.

  Args:
    predict: function from batches to an iterable of {output: array [B, ...]},
      in their order.
    rows: `Rows`, N of them.
    lengths: tuple of int, lengths that batches are padded to.
    batch_size: int, B.
    token_outputs: tuple of str, the outputs that have the axis L: [B, L, ...].
    pads_left: bool, as `length_batches.evaluation_batches`.
    sparse_outputs: tuple of str, the outputs [B, D] that are mostly 0.

  Returns:
    {output: array [N, ...], or list of N arrays [n, ...] or, of
    `sparse_outputs`, `scipy.sparse.csr_array`s [1, D]}.
  """
  batches, order = length_batches.evaluation_batches(
    rows, batch_size, lengths, pads_left
  )
  found = [None] * len(rows)
  for number, outputs in enumerate(predict(batches)):
    for name in sparse_outputs:
      outputs[name] = [scipy.sparse.csr_array(x[None]) for x in outputs[name]]
    selected = order[number * batch_size : (number + 1) * batch_size]
    for place, row in enumerate(selected):
      length = rows.lengths[row]
      found[row] = {
        name: x[place][:length] if name in token_outputs else x[place]
        for name, x in outputs.items()
      }
  collected = {name: [row[name] for row in found] for name in found[0]}
  listed = {*token_outputs, *sparse_outputs}
  return {
    name: values if name in listed else np.stack(values)
    for name, values in collected.items()
  }


def mean(members):
  """Returns the mean of the outputs of several models, as `collect` has them.

  Args:
    members: list of {output: array, or list of arrays}.
  """
  return {name: _mean([each[name] for each in members]) for name in members[0]}


def _mean(members):
  """Returns the mean of arrays, or of lists of arrays entry by entry."""
  if isinstance(members[0], list):
    return [_mean(rows) for rows in zip(*members, strict=True)]
  if scipy.sparse.issparse(members[0]):
    return sum(members[1:], members[0]) / len(members)
  return np.mean(members, axis=0)
