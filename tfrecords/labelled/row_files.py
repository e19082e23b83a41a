"""Rows of fine-tuning examples: a TFRecord file on disk, columns in memory.

  row_files.write(path, task.make_rows(...), task.columns, origin, counts)
  table = row_files.read(path, task.columns)
  table["input_ids"][7]  # int32 [n]

Fine-tuning data fits in memory as ids (MNLI's 393,000 pairs take 150 MB). With
the file it is tokenized only once, on a machine with tensorflow-text, and read
by every run afterwards.
"""

import collections.abc
import copy

import numpy as np
import tensorflow as tf

from keras_bert_impl import files
from tfrecords import examples, manifest

_RECORDS_PER_PARSE = 1024


class Ragged(collections.abc.Sequence):
  """A column of rows of different lengths: `column[i]` is an array [n, ...].

  Args:
    values: array [total, ...].
    starts: int64 [N], where each row begins in `values`.
    lengths: int64 [N], n of each row.
  """

  def __init__(self, values, starts, lengths):
    self._values = values
    self._starts = starts
    self._lengths = lengths

  def __len__(self):
    return len(self._starts)

  def __getitem__(self, index):
    start = self._starts[index]
    return self._values[start : start + self._lengths[index]]


class Rows:
  """Rows in memory, column by column.

  Args:
    columns: {name: `Column`}, with `features.INPUT_IDS`.
    values: {name: array}; of ragged columns [total, ...], of others [N, ...].
    splits: int64 [N + 1], where each row begins in the ragged columns; or, if
      there are several axes, {axis: such splits}.

  Attributes:
    columns: as given.
    lengths: int64 [N], n of each row.
    axis_lengths: {axis: int64 [N]}, the lengths along each ragged axis.
  """

  def __init__(self, columns, values, splits):
    if not isinstance(splits, dict):
      splits = {None: splits}
    self.columns = columns
    self.axis_lengths = {axis: np.diff(x) for axis, x in splits.items()}
    self.lengths = self.axis_lengths[None]
    self._values = {
      name: Ragged(
        values[name], splits[column.axis][:-1], self.axis_lengths[column.axis]
      )
      if column.is_ragged
      else values[name]
      for name, column in columns.items()
    }

  def __len__(self):
    return len(self.lengths)

  def __getitem__(self, name):
    """Returns a column: `Ragged` or an array [N, ...]."""
    return self._values[name]

  def with_column(self, name, column, values):
    """Returns the rows with a column more.

    Args:
      name: str.
      column: `Column`, ragged.
      values: `Ragged` of N rows.
    """
    rows = copy.copy(self)
    rows.columns = {**self.columns, name: column}
    rows._values = {**self._values, name: values}
    return rows


def write(path, rows, columns, origin, counts):
  """Writes rows atomically as TFRecords, with their manifest.

  Args:
    path: str, local or gs://...
    rows: iterable of {column: array}.
    columns: {name: `Column`}.
    origin: dict, all that decides what the rows are.
    counts: {what: int}, filled while the rows are made; kept in the manifest.
  """
  float_names = [n for n, c in columns.items() if c.dtype == "float32"]
  num_rows = 0
  with files.new_file(path) as temporary:
    with tf.io.TFRecordWriter(temporary) as file:
      for row in rows:
        values = {name: np.ravel(row[name]) for name in columns}
        file.write(examples.serialize(values, float_names))
        num_rows += 1
  manifest.write(path, origin, {"num_records": num_rows, "counts": counts})


def find(path, origin):
  """Finds a file of rows of this origin; returns its counts, or None."""
  content = manifest.read(path)
  if not content or content["origin_hash"] != manifest.fingerprint(origin):
    return None
  return content["counts"] if manifest.is_intact(path, content) else None


def fingerprint(path):
  """Returns the SHA-256 of a file of rows, hex."""
  return manifest.read(path)["sha256"]


@tf.autograph.experimental.do_not_convert
def read(path, columns):
  """Returns the `Rows` of a file.

  Raises:
    ValueError: it is damaged or holds other columns.
  """
  chunks = {name: [] for name in columns}
  # A column of each ragged axis.
  axes = {c.axis: name for name, c in columns.items() if c.is_ragged}
  lengths = {axis: [] for axis in axes}
  dataset = tf.data.TFRecordDataset(path).batch(_RECORDS_PER_PARSE)
  try:
    for batch in dataset.map(_parser(columns)):
      for axis, name in axes.items():
        lengths[axis].append(_row_lengths(batch[name], columns[name]))
      for name, column in columns.items():
        chunks[name].append(_flat(batch[name], column))
  except (tf.errors.DataLossError, tf.errors.InvalidArgumentError) as error:
    raise ValueError(
      f"{path} is damaged or of another task: delete it to have it made anew."
    ) from error
  if not lengths[None]:
    raise ValueError(
      f"{path} has no rows: check the examples that they are made from."
    )
  splits = {
    axis: np.concatenate([[0], np.cumsum(np.concatenate(parts))])
    for axis, parts in lengths.items()
  }
  values = {name: np.concatenate(chunk) for name, chunk in chunks.items()}
  return Rows(columns, values, splits)


def _parser(columns):
  def specification(column):
    dtype = tf.float32 if column.dtype == "float32" else tf.int64
    if column.is_ragged:
      return tf.io.RaggedFeature(dtype, row_splits_dtype=tf.int64)
    return tf.io.FixedLenFeature(column.shape, dtype)

  specifications = {name: specification(c) for name, c in columns.items()}
  return lambda records: tf.io.parse_example(records, specifications)


def _flat(parsed, column):
  """Returns parsed values of a column, array [total, ...] or [B, ...]."""
  if not column.is_ragged:
    return parsed.numpy().astype(column.dtype)
  values = parsed.flat_values.numpy().astype(column.dtype)
  return values.reshape(-1, *column.shape[1:])


def _row_lengths(parsed, column):
  inner = int(np.prod(column.shape[1:]))
  return parsed.row_lengths().numpy() // inner
