"""Batches of rows of about the same length, padded to one of a few lengths.

Sentences of a task are much shorter than the model's length: padded to 128,
four fifths of a batch of single sentences is padding. See `lengths`.

Batch k of a training is a function of (rows, seed, k) only: a run continues
anywhere without saved state.
"""

import dataclasses
import functools

import numpy as np
import tensorflow as tf

from keras_bert_impl import features
from keras_bert_impl.tokenizers.graph import assembly
from tfrecords import lengths as lengths_lib


@dataclasses.dataclass(frozen=True)
class Form:
  """How rows become batches.

  Attributes:
    pads_left: bool, whether the ids have their padding before the tokens.
    num_texts: int, rows that make an example together, one after the other.
    sorts: bool, whether the rows of a batch are of similar length, where there
      are several; False for losses that compare them: batches of like lengths
      are of like texts, too.
  """

  pads_left: bool = False
  num_texts: int = 1
  sorts: bool = True


def training_batches(
  stages,
  batch_size,
  seed,
  lengths,
  start_step=0,
  form=None,
  groups_of=lambda rows: None,
):
  """Returns the endless batches of a training from `start_step` on.

  Args:
    stages: list of (`Rows`, int): what is read, and for how many batches; the
      last one goes on for ever.
    batch_size: int, B.
    seed: int.
    lengths: as `lengths.padded_lengths` returns them.
    start_step: int, batches that were read before.
    form: `Form`.
    groups_of: function of `Rows`, as `Task.groups`.

  Returns:
    tf.data.Dataset of {column: [B, L, ...] or [B]}, with `input_mask`; of
    several texts, columns named as by `features.of_text`, each L its own.
  """
  form = form or Form()
  sorts = form.sorts and len(lengths) > 1

  def indices():
    step, first = start_step, 0
    for number, (rows, num_steps) in enumerate(stages):
      sizes = sum(rows.axis_lengths.values())
      sizes = sizes.reshape(-1, form.num_texts).sum(axis=1)
      order = _Order(sizes, batch_size, (seed, number), sorts, groups_of(rows))
      is_last = number == len(stages) - 1
      while is_last or step < first + num_steps:
        yield rows, order.batch(step - first)
        step += 1
      first += num_steps

  columns = stages[0][0].columns
  dataset = _dataset(columns, indices, batch_size, lengths, form)
  return dataset.apply(
    tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
  )


def evaluation_batches(
  rows, batch_size, lengths, pads_left=False, selected=None
):
  """Returns all rows once, the shortest first.

  Args:
    rows: `Rows`.
    batch_size: int, B; the last batch is filled up with padding rows, whose
      `input_mask` is 0 everywhere.
    lengths: as `lengths.padded_lengths` returns them.
    pads_left: as `Form`.
    selected: int [N], the rows to return; default: all.

  Returns:
    (tf.data.Dataset, int [N]: which row the k-th of the batches is).
  """
  if selected is None:
    selected = np.arange(len(rows))
  order = selected[np.argsort(rows.lengths[selected], kind="stable")]

  def indices():
    for start in range(0, len(order), batch_size):
      yield rows, order[start : start + batch_size]

  form = Form(pads_left)
  dataset = _dataset(rows.columns, indices, batch_size, lengths, form)
  return dataset, order


class _Order:
  """The order of rows: which rows batch k has.

  The rows of all epochs, each shuffled, follow each other; a pool is a stretch
  of them, of one epoch at most. An epoch of groups has the next rows of each
  group, which are shuffled again whenever all of them have been read.
  """

  def __init__(self, lengths, batch_size, seed, by_length, groups=None):
    self._lengths = lengths
    self._groups = groups
    self._batch_size = batch_size
    self._seed = seed
    self._pool_batches = 1
    if by_length:
      self._pool_batches = lengths_lib.pool_batches(len(lengths), batch_size)
    # Pools are read one after the other and touch two epochs at most, or more
    # where an epoch is shorter than a batch.
    self._epoch = functools.lru_cache(maxsize=2)(self._epoch)
    self._pool = functools.lru_cache(maxsize=1)(self._pool)

  def batch(self, number):
    """Returns int [B], the rows of a batch."""
    pool, index = divmod(number, self._pool_batches)
    return self._pool(pool)[index]

  def _pool(self, number):
    """Returns int [batches, B]."""
    size = self._pool_batches * self._batch_size
    places = np.arange(number * size, (number + 1) * size)
    epochs, places = np.divmod(places, len(self._lengths))
    rows = np.concatenate(
      [self._epoch(e)[places[epochs == e]] for e in np.unique(epochs)]
    )
    if self._pool_batches == 1:
      return rows[np.newaxis]
    rows = rows[np.argsort(self._lengths[rows], kind="stable")]
    batches = rows.reshape(self._pool_batches, self._batch_size)
    rng = np.random.default_rng((*self._seed, 1, number))
    return rng.permutation(batches)

  def _epoch(self, number):
    rng = np.random.default_rng((*self._seed, 0, number))
    if self._groups is None:
      return rng.permutation(len(self._lengths))
    drawn = [
      self._of_group(rows, quota, index, number)
      for index, (rows, quota) in enumerate(self._groups)
    ]
    return rng.permutation(np.concatenate(drawn))

  def _of_group(self, rows, quota, index, number):
    """Returns int [quota], the rows of a group in an epoch."""
    places = np.arange(number * quota, (number + 1) * quota)
    rounds, places = np.divmod(places, len(rows))
    drawn = [rows[:0]]  # Its share may be none at all.
    for k in np.unique(rounds):
      rng = np.random.default_rng((*self._seed, 2, index, k))
      drawn.append(rng.permutation(rows)[places[rounds == k]])
    return np.concatenate(drawn)


def _dataset(columns, indices, batch_size, lengths, form):
  """Returns the dataset of the batches that `indices()` yields."""
  columns = {name: c for name, c in columns.items() if c.in_batch}
  length = None if len(lengths) > 1 else lengths[0]

  def specification(column):
    inner = tuple(length if size is None else size for size in column.shape)
    if isinstance(column.axis, str):
      inner = (None, *inner[1:])
    if column.is_transposed:
      inner = (*inner[1:], inner[0])
    return tf.TensorSpec((batch_size, *inner), column.dtype)

  signature = {name: specification(column) for name, column in columns.items()}
  if features.INPUT_MASK not in columns:
    signature[features.INPUT_MASK] = tf.TensorSpec(
      (batch_size, length), tf.int32
    )

  signature = {
    features.of_text(name, k): spec
    for k in range(form.num_texts)
    for name, spec in signature.items()
  }

  def batches():
    for rows, selected in indices():
      yield {
        features.of_text(name, k): values
        for k in range(form.num_texts)
        for name, values in _pad(
          rows, columns, selected * form.num_texts + k, batch_size, lengths
        ).items()
      }

  dataset = tf.data.Dataset.from_generator(batches, output_signature=signature)
  if form.pads_left:
    dataset = dataset.map(_to_left)
  return dataset.prefetch(tf.data.AUTOTUNE)


def _to_left(batch):
  """Moves the padding of a batch's ids before the tokens."""
  inputs = {name: batch[name] for name in features.ENCODER_INPUTS}
  return batch | assembly.to_left(inputs)


def _pad(rows, columns, selected, batch_size, lengths):
  """Returns {column: array} of the selected rows, filled up to a batch."""
  row_lengths, padded_lengths = {}, {}
  for axis, known in rows.axis_lengths.items():
    own = row_lengths[axis] = np.zeros(batch_size, np.int64)
    own[: len(selected)] = known[selected]
    allowed = lengths if axis is None else _lengths_of(known, lengths)
    padded_lengths[axis] = next(x for x in allowed if x >= own.max())
  length = padded_lengths[None]
  mask = np.arange(length) < row_lengths[None][:, np.newaxis]  # [B, L]
  batch = {}
  for name, column in columns.items():
    values = rows[name]
    if not column.is_ragged:
      padded = np.zeros((batch_size, *column.shape), column.dtype)
      padded[: len(selected)] = values[selected]
    else:
      shape = (batch_size, padded_lengths[column.axis], *column.shape[1:])
      padded = np.full(shape, column.padding, column.dtype)
      for place, row in enumerate(selected):
        padded[place, : row_lengths[column.axis][place]] = values[row]
    if column.is_transposed:
      padded = np.moveaxis(padded, -1, 1)
    batch[name] = padded
  if features.INPUT_MASK not in columns:
    batch[features.INPUT_MASK] = mask.astype(np.int32)
  return batch


def _lengths_of(row_lengths, lengths):
  """Returns the padded lengths of an axis other than L.

  Args:
    row_lengths: int [N], of all rows.
    lengths: tuple of int, those of L: where there is one, here too.
  """
  longest = max(1, int(row_lengths.max()))
  return lengths_lib.padded_lengths(longest, len(lengths) > 1)
