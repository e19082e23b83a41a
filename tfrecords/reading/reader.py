"""From TFRecord files to batches, the same ones every time.

  records = reader.open_records(files, max_seq_length=128, ...)
  dataset = reader.make_dataset(records, task.prepare, batch_size=32, seed=1)
  with reader.errors_explained(records):
    for batch in dataset: ...

Batch k is a pure function of (files, batch size, seed, k), so that a run
continues at any batch (`start_batch`) with nothing saved. Batches are full: the
last one of an evaluation is filled up with padding rows, whose `input_mask` is
0 everywhere and whose `masked_lm_weights` are 0. `input_mask[:, 0]` therefore
is the weight of a row in whatever counts rows, such as the next sentence loss.
"""

import contextlib
import dataclasses
import itertools

import tensorflow as tf
from absl import logging

from keras_bert_impl import features
from tfrecords import manifest
from tfrecords.reading import lanes as lanes_lib
from tfrecords.reading import records as records_lib
from tfrecords.reading import scan

_WINDOW_RECORDS = 1 << 14
_LOGGED = 10  # corrupt records, one by one


@dataclasses.dataclass(frozen=True)
class Records:
  """The records of some TFRecord files.

  Attributes:
    files: tuple of str.
    form: features.RecordForm, the form of all of them.
    limits: records.Limits.
    segments: tuple of lanes.Segment, the records to read.
    corrupt_records: tuple of scan.CorruptRecord, those left out.
  """

  files: tuple[str, ...]
  form: features.RecordForm
  limits: records_lib.Limits
  segments: tuple[lanes_lib.Segment, ...]
  corrupt_records: tuple[scan.CorruptRecord, ...] = ()

  @property
  def num_records(self):
    """Number of records of one epoch."""
    return sum(segment.count for segment in self.segments)

  @property
  def num_corrupt_records(self):
    """Number of records left out, as far as they can be counted."""
    return sum(record.count for record in self.corrupt_records)


def list_files(input_file):
  """Returns the files that a flag names, sorted, but manifests and results.

  Args:
    input_file: str, paths or glob patterns, comma-separated.

  Raises:
    ValueError: a pattern matches nothing.
  """
  files = set()
  for pattern in filter(None, input_file.split(",")):
    found = tf.io.gfile.glob(pattern)
    found = [file for file in found if not file.endswith(".json")]
    if not found:
      raise ValueError(f"input_file ({pattern}) matches no file.")
    files.update(found)
  return sorted(files)


def inspect(files, skip_corrupt_records=False):
  """Returns the RecordForm of the first record of `files`.

  Args:
    files: sequence of paths.
    skip_corrupt_records: bool, takes the first that is one of pre-training data
      where it otherwise is an error that the first is not.

  Raises:
    ValueError: there are no files or no such record.
  """
  for file in _checked(files):
    for index, (record, fault, _) in enumerate(scan.iter_frames(file)):
      form = None if fault else records_lib.form_of(record)
      if form:
        return form
      if not skip_corrupt_records:
        fault = fault or "is not a tf.train.Example with input_ids"
        raise ValueError(str(scan.CorruptRecord(file, index, fault)))
  raise ValueError(f"no records of pre-training data in {_listed(files)}.")


def open_records(
  files,
  max_seq_length,
  max_predictions_per_seq,
  vocab_size,
  skip_corrupt_records=False,
):
  """Returns the Records of some files: their form and how many they are.

  The number comes from the manifest that the writer leaves beside a file;
  without one the file is read once. So are all files, and every record
  checked, to leave corrupt records out.

  Args:
    files: sequence of paths (local, gs://...).
    max_seq_length: int, length of masked records, the most of clean ones.
    max_predictions_per_seq: int, predictions of masked records.
    vocab_size: int, V.
    skip_corrupt_records: bool, leaves out (counted, and listed in
      `corrupt_records`) what otherwise is an error.

  Raises:
    ValueError: there are no files or records, a file is corrupt or its first
      record does not agree with the arguments; it names file and record.
    FileNotFoundError: a file does not exist.
  """
  files = _checked(files)
  limits = records_lib.Limits(
    max_seq_length, max_predictions_per_seq, vocab_size
  )
  if skip_corrupt_records:
    records = _open_sound(files, limits)
  else:
    form = inspect(files)
    segments = tuple(
      lanes_lib.Segment(f, 0, _count(f, form, limits)) for f in files
    )
    records = Records(files, form, limits, segments)
  if not records.num_records:
    first = "".join(f" First: {bad}" for bad in records.corrupt_records[:1])
    raise ValueError(f"no usable records in {_listed(files)}.{first}")
  return records


# AutoGraph has nothing to convert here and would take seconds to see it.
@tf.autograph.experimental.do_not_convert
def make_dataset(
  records,
  prepare,
  batch_size,
  seed,
  start_batch=0,
  shuffle=True,
  num_epochs=None,
  drop_remainder=True,
  window_size=_WINDOW_RECORDS,
  part=0,
  num_parts=1,
):
  """Returns the batches of some records, from `start_batch` on.

  Every epoch reads all records: the files in an order of its own, several at a
  time, and windows of their records each in an order of its own. Batches run on
  over the end of an epoch.

  Without an end, a large batch of several files is made of lanes (lanes.py):
  whoever wants a part of each batch reads and prepares no more than the lanes
  it lies in, and gets the same rows as whoever reads all of it.

  Args:
    records: Records.
    prepare: callable (batch, seed) -> batch, traced without AutoGraph; `batch`
      is what records.parse_batch returns for the rows of one lane, `seed` int32
      [2], different for every lane of every batch: all that its randomness may
      depend on.
    batch_size: int, B.
    seed: int in [0, 2**31).
    start_batch: int, batches that were read before; passing over them is
      cheap: whole epochs cost nothing, the rest is not parsed.
    shuffle: bool; False reads the files (of a lane) one after the other as
      they are.
    num_epochs: int, or None for no end.
    drop_remainder: bool; False fills up the last batch with padding rows.
    window_size: int, records that are shuffled among each other, of all lanes.
    part: int, which of `num_parts` equal parts of every batch is returned.
    num_parts: int, a divisor of B.

  Returns:
    tf.data.Dataset of what `prepare` returns, B / num_parts rows each.

  Raises:
    ValueError: an argument is out of range, or there is no full batch.
  """
  _check_batches(
    records, batch_size, num_epochs, drop_remainder, part, num_parts
  )
  _check_range("start_batch", start_batch, 0)
  _check_range("seed", seed, 0)
  _check_range("window_size", window_size, 1)
  number = (
    lanes_lib.choose_number(records.segments, batch_size)
    if num_epochs is None
    else 1
  )
  lanes = lanes_lib.Lanes(records.segments, number)
  rows_of_lane, rows_of_part = batch_size // number, batch_size // num_parts
  first_lane, skipped_rows = divmod(part * rows_of_part, rows_of_lane)
  num_read = -(-(skipped_rows + rows_of_part) // rows_of_lane)

  def read_lane(lane):
    return lanes.read(
      lane,
      seed,
      passed=start_batch * rows_of_lane,
      num_epochs=num_epochs,
      shuffle=shuffle,
      window_size=-(-window_size // number),
    ).rebatch(rows_of_lane, drop_remainder)

  def make_rows(index, serialized):
    batch_index, lane = index // num_read, first_lane + index % num_read
    serial = (start_batch + batch_index) * number + lane
    rows = records_lib.parse_batch(
      serialized, rows_of_lane, records.form, records.limits
    )
    return prepare(rows, tf.stack([seed, tf.cast(serial, tf.int32)]))

  def cut(batch):
    rows = slice(skipped_rows, skipped_rows + rows_of_part)
    return {name: values[rows] for name, values in batch.items()}

  dataset = tf.data.Dataset.range(first_lane, first_lane + num_read)
  # One batch's rows from each lane in turn.
  dataset = dataset.interleave(read_lane, cycle_length=num_read, block_length=1)
  dataset = dataset.enumerate().map(
    make_rows, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True
  )
  if num_read > 1:
    dataset = dataset.rebatch(num_read * rows_of_lane, drop_remainder=True)
  if num_parts > 1:
    dataset = dataset.map(cut)
  if num_epochs is None:
    # Or several workers would ask each other at each step who has rows left.
    dataset = dataset.apply(
      tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
    )
  return dataset.prefetch(tf.data.AUTOTUNE)


@contextlib.contextmanager
def errors_explained(records):
  """Turns an error in reading `records` into one that names file and record.

  Put it around whatever iterates over the dataset. After an error that may be
  due to the data, all files are read to find the record; where all are sound,
  the error is raised as it came.

  Raises:
    ValueError: a record is corrupt.
    FileNotFoundError: a file is no longer there.
  """
  try:
    yield
  except (tf.errors.NotFoundError, *scan.ERRORS) as error:
    for file in records.files:
      if not tf.io.gfile.exists(file):
        raise FileNotFoundError(
          f"the TFRecord file {file} has vanished: bring it back and run the "
          "same command again."
        ) from error
    known = {(record.file, record.index) for record in records.corrupt_records}
    for file, num_records in _ends(records.segments).items():
      corrupt, _ = scan.find_corrupt_records(
        file, records.form, records.limits, num_records
      )
      for record in corrupt:
        if (record.file, record.index) not in known:
          raise ValueError(str(record)) from error
    raise


def _ends(segments):
  """Returns {file: number of records up to the last that is read}."""
  return {segment.file: segment.start + segment.count for segment in segments}


def _open_sound(files, limits):
  """Returns the Records of `files` without the corrupt ones."""
  form = inspect(files, skip_corrupt_records=True)
  segments = []
  corrupt_records = []
  for file in files:
    content = manifest.read(file)
    corrupt, num_records = scan.find_corrupt_records(
      file, form, limits, content and content["num_records"]
    )
    corrupt_records += corrupt
    start = 0
    for bad in [record.index for record in corrupt] + [num_records]:
      if bad > start:
        segments.append(lanes_lib.Segment(file, start, bad - start))
      start = bad + 1
  records = Records(
    files, form, limits, tuple(segments), tuple(corrupt_records)
  )
  for record in corrupt_records[:_LOGGED]:
    logging.warning("Left out: %s", record)
  if corrupt_records:
    logging.warning("Left out %d corrupt records.", records.num_corrupt_records)
  return records


def _count(file, form, limits):
  """Returns the number of records of a file and checks the first of them."""
  content = manifest.read(file)
  num_expected = content and content["num_records"]
  for record, fault, _ in itertools.islice(scan.iter_frames(file), 1):
    fault = fault or records_lib.find_fault(record, form, limits)
    if fault:
      raise ValueError(str(scan.CorruptRecord(file, 0, fault)))
  with contextlib.suppress(tf.errors.DataLossError):
    if content is None:
      return scan.count_records(file)
    if tf.io.gfile.stat(file).length == content["num_bytes"]:
      return num_expected
  corrupt, _ = scan.find_corrupt_records(file, form, limits, num_expected)
  if corrupt:
    raise ValueError(str(corrupt[0]))
  raise ValueError(
    f"{file} is not the file that its manifest describes: write it anew, or "
    "delete the manifest to read it as it is."
  )


def _checked(files):
  files = tuple(files)
  if not files:
    raise ValueError("no TFRecord files were given.")
  for file in files:
    if not tf.io.gfile.exists(file):
      raise FileNotFoundError(f"the TFRecord file {file} does not exist.")
  return files


def _listed(files):
  return f"{files[0]} and {len(files) - 1} more" if files[1:] else files[0]


def _check_batches(
  records, batch_size, num_epochs, drop_remainder, part, num_parts
):
  """Raises ValueError where there is no such batch, or no such part of it."""
  _check_range("batch_size", batch_size, 1)
  _check_range("num_parts", num_parts, 1)
  if batch_size % num_parts or not 0 <= part < num_parts:
    raise ValueError(
      f"batch_size ({batch_size}) must be a multiple of num_parts "
      f"({num_parts}), and part ({part}) below it."
    )
  total = None if num_epochs is None else num_epochs * records.num_records
  if drop_remainder and total is not None and total < batch_size:
    raise ValueError(
      f"{total} records ({num_epochs} epochs) of {_listed(records.files)} do "
      f"not fill a batch of batch_size ({batch_size})."
    )


def _check_range(name, value, lowest):
  if not lowest <= value < 2**31:
    raise ValueError(f"{name} ({value}) must be in [{lowest}, 2**31).")
