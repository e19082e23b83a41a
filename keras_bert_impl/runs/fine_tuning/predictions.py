"""Predictions of a model or of an ensemble."""

from keras_bert_impl.runs.labelled_data import row_outputs


def predict(experiment, rows, lengths, token_outputs, members=(), answer=None):
  """Returns the model outputs for rows, as `Evaluator.answers` takes them.

  Args:
    experiment: `Experiment`.
    rows: `Rows`, N of them.
    lengths: tuple of int, lengths that batches are padded to.
    token_outputs: tuple of str, the outputs that have the axis L: [B, L, ...].
    members: list of str, checkpoints of an ensemble, whose outputs are
      averaged; empty for the current weights of the model.
    answer: function that answers instead of `experiment.predict`, or None.

  Returns:
    {output: array [N, ...] or list of N arrays [n, ...]}.
  """
  if not members:
    return _predict(experiment, rows, lengths, token_outputs, answer)
  outputs = []
  for path in members:
    experiment.load(path)
    outputs.append(_predict(experiment, rows, lengths, token_outputs))
  return row_outputs.mean(outputs)


def _predict(experiment, rows, lengths, token_outputs, answer=None):
  names = experiment.task.read_outputs

  def answer_read(batches):
    for outputs in answer(batches):
      yield {name: outputs[name] for name in names or outputs}

  return row_outputs.collect(
    answer_read if answer else experiment.predict,
    rows,
    lengths,
    experiment.config.eval_batch_size,
    token_outputs,
    experiment.task.pads_left,
    experiment.task.sparse_outputs,
  )
