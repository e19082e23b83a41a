"""Outputs of a model for rows, in the order of the rows."""

import numpy as np

from tfrecords.labelled import length_batches


def collect(predict, rows, lengths, batch_size, token_outputs, pads_left=False):
  """Returns the outputs of a model for rows, as `Evaluator.answers` takes them.

  Args:
    predict: function from batches to an iterable of {output: array [B, ...]},
      in their order.
    rows: `Rows`, N of them.
    lengths: tuple of int, lengths that batches are padded to.
    batch_size: int, B.
    token_outputs: tuple of str, the outputs that have the axis L: [B, L, ...].
    pads_left: bool, as `length_batches.evaluation_batches`.

  Returns:
    {output: array [N, ...] or list of N arrays [n, ...]}.
  """
  batches, order = length_batches.evaluation_batches(
    rows, batch_size, lengths, pads_left
  )
  found = [None] * len(rows)
  for number, outputs in enumerate(predict(batches)):
    selected = order[number * batch_size : (number + 1) * batch_size]
    for place, row in enumerate(selected):
      length = rows.lengths[row]
      found[row] = {
        name: x[place][:length] if name in token_outputs else x[place]
        for name, x in outputs.items()
      }
  collected = {name: [row[name] for row in found] for name in found[0]}
  return {
    name: values if name in token_outputs else np.stack(values)
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
    return [np.mean(rows, axis=0) for rows in zip(*members, strict=True)]
  return np.mean(members, axis=0)
