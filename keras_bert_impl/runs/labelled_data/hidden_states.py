"""Hidden states of a frozen encoder: computed once, read at every step.

A frozen encoder makes the same of a row in each epoch of each run of a search.
`<split>.hidden_states` beside the rows of a split holds that: [n, K, H] of each
row, in the dtype that the encoder computes in, the shortest row first, and of
rows with the same ids only the first. With document context there are many of
these: all sentences of a document that fits in a row.
"""

import hashlib
import os
import shutil

import numpy as np
import tensorflow as tf
from absl import logging

from keras_bert_impl import features, files, progress
from keras_bert_impl.tasks.basics import fine_tuning
from keras_bert_impl.training import distribution
from tfrecords import manifest
from tfrecords.labelled import length_batches, row_files


def add(run, experiment):
  """Adds the column `features.HIDDEN_STATES` to the rows that a run repeats.

  These are the rows of training and dev sets. The encoder runs unless the file
  is there, of the same rows and weights. Where there is no room for it, or
  files cannot be mapped into memory (gs://...), the rows stay as they are: the
  training loop runs the encoder then.

  Args:
    run: `fine_tuning_run.Run`.
    experiment: `Experiment` of a task that `has_frozen_encoder`.

  Raises:
    OSError: a file cannot be written.
  """
  data = run.data
  for split in (*data.stages, *data.dev_splits):
    run.replaced_rows[split] = _with_states(
      experiment, data, split, run.rows(split), run.lengths
    )


def _with_states(experiment, data, split, rows, lengths):
  """Returns the rows of a split with the column, if there is room for it."""
  model = experiment.model
  path = f"{os.path.splitext(data.path(split))[0]}.hidden_states"
  column = fine_tuning.Column(
    model.hidden_states.dtype, (None, *model.hidden_states.shape[2:])
  )
  first = _first_equal(rows, model.encoder.input)
  batches, order = length_batches.evaluation_batches(
    rows, experiment.config.eval_batch_size, lengths, selected=np.unique(first)
  )
  stops = np.cumsum(rows.lengths[order])
  shape = (int(stops[-1]), *column.shape[1:])
  origin = {
    "rows": data.fingerprint(split),
    "encoder": model.config.to_dict(),
    "weights": fingerprint(model.encoder),
    "layers": model.layers_read,
    "dtype": column.dtype,
  }
  if row_files.find(path, origin) is None:
    if not _has_room(path, np.prod(shape) * np.dtype(column.dtype).itemsize):
      return rows
    states = progress.bar(
      f"Hidden states of {split}",
      iterable=_encode(experiment, batches, rows.lengths[order]),
      total=len(order),
      unit="row",
    )
    with files.writing(path) as file:
      for array in states:
        file.write(array.tobytes())
    manifest.write(path, origin, {"num_records": len(order), "counts": {}})
  values = np.memmap(path, column.dtype, "r", shape=shape)
  starts = np.zeros(len(rows), np.int64)
  starts[order] = stops - rows.lengths[order]
  return rows.with_column(
    features.HIDDEN_STATES,
    column,
    row_files.Ragged(values, starts[first], rows.lengths),
  )


def _first_equal(rows, names):
  """Returns int [N], for each row the first that is equal in some columns."""
  columns = [rows[name] for name in names if name in rows.columns]
  numbers = {}
  return np.array(
    [
      numbers.setdefault(tuple(column[i].tobytes() for column in columns), i)
      for i in range(len(rows))
    ]
  )


def fingerprint(model):
  """Returns the SHA-256 of the weights of a model, hex."""
  digest = hashlib.sha256()
  for weight in model.weights:
    digest.update(f"{weight.shape}".encode())  # Paths may hold numbers.
    digest.update(np.array(weight).tobytes())
  return digest.hexdigest()


def _has_room(path, num_bytes):
  """Returns whether a file of this size can be kept; logs why not."""
  reason = "it can only be in a local folder"
  if not files.is_remote(path):
    free = shutil.disk_usage(os.path.dirname(path)).free
    if num_bytes <= free:
      return True
    reason = f"{num_bytes / 1e9:.1f} GB are needed and {free / 1e9:.1f} free"
  logging.warning(
    "%s is not written, as %s: the frozen encoder runs at every step, which"
    " gives the same more slowly.",
    path,
    reason,
  )
  return False


def _encode(experiment, batches, lengths):
  """Yields the hidden states [n, K, H] of rows.

  Args:
    experiment: `Experiment`.
    batches: of `length_batches.evaluation_batches`.
    lengths: int [M], n of each row of the batches.
  """
  strategy = experiment.strategy

  @tf.function(autograph=False, reduce_retracing=True)
  def encode(batch):
    return strategy.run(experiment.model.encode, args=(batch,))

  lengths = iter(lengths)
  for batch in distribution.distribute(strategy, batches):
    for part in strategy.experimental_local_results(encode(batch)):
      # The last batch may end in rows of padding, for which no length is left.
      for states, length in zip(part.numpy(), lengths, strict=False):
        yield states[:length]
