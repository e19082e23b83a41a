"""The order in which records are read, on one machine or on many.

Large batches are made of lanes: equal stretches of the records, each of which
gives the same number of rows to every batch. A lane has epochs and an order of
its own, so that a worker that needs some rows of each batch reads the files of
its lanes and no others; which records a batch holds depends on the files and
the size of the batch alone, not on the number of workers.
"""

import dataclasses
import itertools

import numpy as np
import tensorflow as tf

_INTERLEAVED_FILES = 8  # of all lanes
_READ_BUFFER_BYTES = 1 << 20
_CHUNK_RECORDS = 16  # in turn from each of the files
_MIN_ROWS = 64  # of a lane in a batch; 32 would take a third more time each
_MAX_LANES = 64
_RNG = "philox"  # the same on every device
# Keeps the order of the records apart from the masks of the same seed.
_ORDER = 0x6F72


@dataclasses.dataclass(frozen=True)
class Segment:
  """`count` records of a file, from record `start` on."""

  file: str
  start: int
  count: int


def choose_number(segments, batch_size):
  """Returns into how many lanes batches of these records are divided.

  The largest divisor of `batch_size` that leaves every lane a file and 64 rows
  of a batch, and is at most 64.
  """
  num_files = len({segment.file for segment in segments if segment.count})
  most = max(min(num_files, batch_size // _MIN_ROWS, _MAX_LANES), 1)
  return max(n for n in range(1, most + 1) if batch_size % n == 0)


class Lanes:
  """Records cut into `number` stretches of equal length, to a record.

  Args:
    segments: sequence of Segment.
    number: int, at most the number of records.
  """

  def __init__(self, segments, number):
    self.number = number
    total = sum(segment.count for segment in segments)
    bounds = [lane * total // number for lane in range(number + 1)]
    lanes = [
      list(_stretch(segments, *ends)) for ends in itertools.pairwise(bounds)
    ]
    parts = [segment for lane in lanes for segment in lane]
    self._files = tf.constant([segment.file for segment in parts])
    self._starts = tf.constant([segment.start for segment in parts], tf.int64)
    self._counts = tf.constant([segment.count for segment in parts], tf.int64)
    self._num_records = tf.constant(np.diff(bounds), tf.int64)
    self._splits = tf.constant(
      np.cumsum([0, *map(len, lanes)]), tf.int32
    )  # lane k has the segments [splits[k], splits[k + 1])

  def read(self, lane, seed, passed, num_epochs, shuffle, window_size):
    """Returns the records of a lane, window by window.

    Args:
      lane: int64 scalar tensor.
      seed: int.
      passed: int, records to leave out at the beginning; cheap.
      num_epochs: int, or None for no end.
      shuffle: bool; False reads the files one after the other as they are.
      window_size: int, records that are shuffled among each other.

    Returns:
      tf.data.Dataset of string [<= window_size].
    """
    num_records = tf.gather(self._num_records, lane)
    first_epoch, passed = passed // num_records, passed % num_records
    last_epoch = tf.int64.max if num_epochs is None else num_epochs

    def read_epoch(epoch):
      serial = tf.cast(epoch * self.number + lane, tf.int32)
      epoch_seed = tf.random.fold_in([seed, serial], _ORDER, _RNG)
      passed_here = tf.where(epoch == first_epoch, passed, 0)
      windows = self._chunks(lane, epoch_seed, shuffle).rebatch(window_size)
      return _finish(
        windows, num_records, window_size, passed_here, epoch_seed, shuffle
      )

    return tf.data.Dataset.range(first_epoch, last_epoch).flat_map(read_epoch)

  def _chunks(self, lane, epoch_seed, shuffle):
    """Returns the records of a lane in small chunks, of several files in turn.

    Returns:
      tf.data.Dataset of string [<= _CHUNK_RECORDS].
    """
    order = tf.range(
      tf.gather(self._splits, lane), tf.gather(self._splits, lane + 1)
    )
    if shuffle:
      order = _shuffled(order, epoch_seed)
    at_a_time = max(_INTERLEAVED_FILES // self.number, 1) if shuffle else 1
    return tf.data.Dataset.from_tensor_slices(order).interleave(
      self._read_segment, cycle_length=at_a_time
    )

  def _read_segment(self, index):
    dataset = tf.data.TFRecordDataset(
      tf.gather(self._files, index), buffer_size=_READ_BUFFER_BYTES
    )
    dataset = dataset.skip(tf.gather(self._starts, index))
    dataset = dataset.take(tf.gather(self._counts, index))
    return dataset.batch(_CHUNK_RECORDS)


def _stretch(segments, first, end):
  """Yields the segments of the records [first, end) of all of them."""
  for segment in segments:
    low, high = max(first, 0), min(end, segment.count)
    if low < high:
      yield Segment(segment.file, segment.start + low, high - low)
    first, end = first - segment.count, end - segment.count


def _finish(windows, num_records, window_size, passed, epoch_seed, shuffle):
  """Shuffles the windows of an epoch, leaving out the first `passed` records.

  Permuting windows takes half the time of a shuffle buffer of single records,
  and has no state.
  """

  def finish(index, serialized):
    # With the number of windows, this notes a file that has become shorter.
    expected = tf.minimum(num_records - index * window_size, window_size)
    check = tf.debugging.Assert(
      tf.size(serialized, tf.int64) == expected, ["records are missing"]
    )
    with tf.control_dependencies([check]):
      serialized = tf.identity(serialized)
    if shuffle:
      seed = tf.random.fold_in(epoch_seed, tf.cast(index, tf.int32), _RNG)
      serialized = _shuffled(serialized, seed)
    return serialized[tf.maximum(passed - index * window_size, 0) :]

  num_windows = -(-num_records // window_size)
  windows = windows.apply(tf.data.experimental.assert_cardinality(num_windows))
  return windows.enumerate().skip(passed // window_size).map(finish)


def _shuffled(values, seed):
  return tf.random.experimental.stateless_shuffle(values, seed, alg=_RNG)
