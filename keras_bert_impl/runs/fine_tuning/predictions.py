"""Predictions of a model or of an ensemble."""

import numpy as np

from tfrecords.labelled import length_batches


def predict(experiment, rows, lengths, token_outputs, members=()):
  """Returns the model outputs for rows, as `Evaluator.answers` takes them.

  Args:
    experiment: `Experiment`.
    rows: `Rows`, N of them.
    lengths: tuple of int, lengths that batches are padded to.
    token_outputs: tuple of str, the outputs that have the axis L: [B, L, ...].
    members: list of str, checkpoints of an ensemble, whose outputs are
      averaged; empty for the current weights of the model.

  Returns:
    {output: array [N, ...] or list of N arrays [n, ...]}.
  """
  if not members:
    return _predict(experiment, rows, lengths, token_outputs)
  outputs = []
  for path in members:
    experiment.load(path)
    outputs.append(_predict(experiment, rows, lengths, token_outputs))
  return {name: _mean([each[name] for each in outputs]) for name in outputs[0]}


def _predict(experiment, rows, lengths, token_outputs):
  batch_size = experiment.config.eval_batch_size
  batches, order = length_batches.evaluation_batches(
    rows, batch_size, lengths, experiment.task.pads_left
  )
  found = [None] * len(rows)
  for number, outputs in enumerate(experiment.predict(batches)):
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


def _mean(members):
  """Returns the mean of arrays, or of lists of arrays entry by entry."""
  if isinstance(members[0], list):
    return [np.mean(rows, axis=0) for rows in zip(*members, strict=True)]
  return np.mean(members, axis=0)
