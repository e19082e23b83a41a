"""Reads lanes of records (see `batch_plan`) in an order that a seed decides."""

import dataclasses

import numpy as np
import tensorflow as tf

from tfrecords.reading import batch_plan

_INTERLEAVED_FILES = 8  # of all lanes
_READ_BUFFER_BYTES = 1 << 20
_CHUNK_RECORDS = 16  # in turn from each of the files
RNG = "philox"  # the same on every device
# Keeps the order of the records apart from the masks of the same seed.
_ORDER = 0x6F72


@dataclasses.dataclass(frozen=True)
class Order:
  """The order in which records are read.

  Every epoch reads all records: the files in an order of its own, several at a
  time, and windows of their records each in an order of its own.

  Attributes:
    seed: int in [0, 2**31).
    shuffle: bool; False reads the files (of a lane) one after the other as they
      are.
    num_epochs: int, or None for no end.
    window_size: int, records that are shuffled among each other, of all lanes.
    by_length: bool, whether batches hold rows of about the same length; without
      a last epoch only.
  """

  seed: int
  shuffle: bool = True
  num_epochs: int | None = None
  window_size: int = 1 << 14
  by_length: bool = False


class Lanes:
  """Records cut into lanes.

  Args:
    segments: sequence of `batch_plan.Segment`.
    number: int, of the lanes; at most the number of records.
    order: Order.
  """

  def __init__(self, segments, number, order):
    self.number = number
    self.order = order
    self._window_size = -(-order.window_size // number)
    lanes = batch_plan.cut_into_lanes(segments, number)
    parts = [segment for lane in lanes for segment in lane]
    self._files = tf.constant([segment.file for segment in parts])
    self._starts = tf.constant([segment.start for segment in parts], tf.int64)
    self._counts = tf.constant([segment.count for segment in parts], tf.int64)
    self._num_records = tf.constant(
      [sum(segment.count for segment in lane) for lane in lanes], tf.int64
    )
    self._splits = tf.constant(
      np.cumsum([0, *map(len, lanes)]), tf.int32
    )  # lane k has the segments [splits[k], splits[k + 1])

  def read(self, lane, passed):
    """Returns the records of a lane, window by window.

    Args:
      lane: int64 scalar tensor.
      passed: int, records to leave out at the beginning; cheap.

    Returns:
      tf.data.Dataset of string [<= window size].
    """
    order = self.order
    num_records = tf.gather(self._num_records, lane)
    first_epoch, passed = passed // num_records, passed % num_records
    last_epoch = tf.int64.max if order.num_epochs is None else order.num_epochs

    def read_epoch(epoch):
      serial = tf.cast(epoch * self.number + lane, tf.int32)
      seed = tf.random.fold_in([order.seed, serial], _ORDER, RNG)
      passed_here = tf.where(epoch == first_epoch, passed, 0)
      return self._windows(lane, num_records, seed, passed_here)

    return tf.data.Dataset.range(first_epoch, last_epoch).flat_map(read_epoch)

  def _windows(self, lane, num_records, seed, passed):
    """Returns the windows of an epoch, without its first `passed` records.

    Permuting windows takes half the time of a shuffle buffer of single records,
    and has no state.
    """
    size = self._window_size

    def finish(index, serialized):
      # With the number of windows, this detects a file that has shrunk.
      expected = tf.minimum(num_records - index * size, size)
      check = tf.debugging.Assert(
        tf.size(serialized, tf.int64) == expected, ["records are missing"]
      )
      with tf.control_dependencies([check]):
        serialized = tf.identity(serialized)
      if self.order.shuffle:
        window_seed = tf.random.fold_in(seed, tf.cast(index, tf.int32), RNG)
        serialized = shuffled(serialized, window_seed)
      return serialized[tf.maximum(passed - index * size, 0) :]

    windows = self._chunks(lane, seed).rebatch(size)
    windows = windows.apply(
      tf.data.experimental.assert_cardinality(-(-num_records // size))
    )
    return windows.enumerate().skip(passed // size).map(finish)

  def _chunks(self, lane, seed):
    """Returns the records of a lane in small chunks, from some files in turn.

    Returns:
      tf.data.Dataset of string [<= _CHUNK_RECORDS].
    """
    segments = tf.range(
      tf.gather(self._splits, lane), tf.gather(self._splits, lane + 1)
    )
    at_a_time = 1
    if self.order.shuffle:
      segments = shuffled(segments, seed)
      at_a_time = max(_INTERLEAVED_FILES // self.number, 1)
    return tf.data.Dataset.from_tensor_slices(segments).interleave(
      self._read_segment, cycle_length=at_a_time
    )

  def _read_segment(self, index):
    dataset = tf.data.TFRecordDataset(
      tf.gather(self._files, index), buffer_size=_READ_BUFFER_BYTES
    )
    dataset = dataset.skip(tf.gather(self._starts, index))
    dataset = dataset.take(tf.gather(self._counts, index))
    return dataset.batch(_CHUNK_RECORDS)


def shuffled(values, seed):
  """Returns values [n, ...] in an order that a seed, int32 [2], decides."""
  return tf.random.experimental.stateless_shuffle(values, seed, alg=RNG)
