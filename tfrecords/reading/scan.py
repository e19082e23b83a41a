"""Opens TFRecord files: finds their form, number and corrupt records.

The search for corrupt records is exact, and slow if there are any. It runs
after an error, to name the record, or once before a run that leaves corrupt
records out.
"""

import contextlib
import dataclasses
import itertools

import tensorflow as tf
from absl import logging

from tfrecords.reading import batch_plan, changes, frames, record_parsing

_BATCH = 512
# The errors of reading a corrupt record; UnicodeDecodeError where TensorFlow's
# message quotes its bytes.
ERRORS = (
  tf.errors.DataLossError,
  tf.errors.FailedPreconditionError,
  tf.errors.InvalidArgumentError,
  UnicodeDecodeError,
)
_LOGGED = 10  # corrupt records, one by one


@dataclasses.dataclass(frozen=True)
class CorruptRecord:
  """A record that cannot be used.

  Attributes:
    file: str.
    index: int, counted from 0 in its file.
    fault: str, what it is or has: "has no feature input_ids".
    count: int, the records lost with it: itself, and those after it where they
      cannot be found either and it is known how many they were.
  """

  file: str
  index: int
  fault: str
  count: int = 1

  def __str__(self):
    return f"{self.file}, record {self.index}: {self.fault}."


@dataclasses.dataclass(frozen=True)
class Records:
  """The records of some TFRecord files.

  Attributes:
    files: tuple of str.
    layout: record_parsing.Layout, of all of them.
    segments: tuple of batch_plan.Segment, the records to read.
    corrupt_records: tuple of CorruptRecord, those left out.
    watch: changes.Watch, of the files.
  """

  files: tuple[str, ...]
  layout: record_parsing.Layout
  segments: tuple[batch_plan.Segment, ...]
  corrupt_records: tuple[CorruptRecord, ...]
  watch: changes.Watch = dataclasses.field(compare=False)

  @property
  def form(self):
    """The features.RecordForm of all of them."""
    return self.layout.form

  @property
  def num_records(self):
    """Number of records of one epoch."""
    return sum(segment.count for segment in self.segments)

  @property
  def num_corrupt_records(self):
    """Number of corrupt records left out, if they can be counted."""
    return sum(record.count for record in self.corrupt_records)


def list_files(input_file):
  """Returns the record files that a flag names, sorted.

  Args:
    input_file: str, paths or glob patterns, comma-separated.

  Raises:
    ValueError: a pattern matches nothing.
  """
  files = set()
  for pattern in filter(None, input_file.split(",")):
    try:
      found = tf.io.gfile.glob(pattern)
    except UnicodeDecodeError:
      raise ValueError(
        f"input_file ({pattern}) matches a file whose name is not UTF-8: rename"
        " that."
      ) from None
    found = [file for file in found if not file.endswith(".json")]
    if not found:
      raise ValueError(
        f"input_file ({pattern}) matches no file: give the paths of TFRecord"
        " files, or glob patterns."
      )
    files.update(found)
  return sorted(files)


def open_records(manifests, limits, skip_corrupt_records=False):
  """Opens files: returns their Records, with form and number.

  The number comes from the manifest beside a file; without one the file is read
  once. To leave corrupt records out, all files are read and every record is
  checked.

  Args:
    manifests: {path (local, gs://...): what `manifest.read` returns for it}.
    limits: record_parsing.Limits.
    skip_corrupt_records: bool, whether corrupt records are left out, counted
      and listed in `corrupt_records`, instead of being an error.

  Raises:
    ValueError: there are no files or records, a file is corrupt or its first
      record does not agree with the limits; it names file and record.
    FileNotFoundError: a file does not exist.
  """
  files = tuple(manifests)
  # Before anything is read.
  watch = changes.Watch(manifests)
  form = inspect(files, skip_corrupt_records)
  layout = record_parsing.Layout(form, limits)
  segments, corrupt = [], []
  for file, content in manifests.items():
    if skip_corrupt_records:
      sound, left_out = _sound_segments(file, content, layout)
      segments += sound
      corrupt += left_out
    else:
      segments.append(
        batch_plan.Segment(file, 0, _count(file, content, layout))
      )
  records = Records(files, layout, tuple(segments), tuple(corrupt), watch)
  if not records.num_records:
    first = "".join(f" First: {bad}" for bad in corrupt[:1])
    raise ValueError(
      f"no usable records in {listed(files)}: write them again with"
      f" create_pretraining_data.py.{first}"
    )
  for record in corrupt[:_LOGGED]:
    logging.warning("Left out: %s", record)
  if corrupt:
    logging.warning("Left out %d corrupt records.", records.num_corrupt_records)
  return records


def inspect(files, skip_corrupt_records=False):
  """Returns the RecordForm of the first record of `files`.

  Args:
    files: sequence of paths.
    skip_corrupt_records: bool, takes the first that is one of pre-training data
      where it otherwise is an error that the first is not.

  Raises:
    ValueError: there are no files or no such record.
    FileNotFoundError: a file does not exist.
  """
  if not files:
    raise ValueError("no TFRecord files were given: name at least one.")
  for file in files:
    if not tf.io.gfile.exists(file):
      raise FileNotFoundError(f"the TFRecord file {file} does not exist.")
  for file in files:
    for index, (record, fault, _) in enumerate(frames.iter_frames(file)):
      form = None if fault else record_parsing.form_of(record)
      if form:
        return form
      if not skip_corrupt_records:
        fault = fault or "is not a tf.train.Example with input_ids"
        raise ValueError(str(CorruptRecord(file, index, fault)))
  raise ValueError(
    f"no records of pre-training data in {listed(files)}: write them with"
    " create_pretraining_data.py."
  )


@contextlib.contextmanager
def errors_explained(records):
  """Turns an error in reading `records` into one that names file and record.

  Put it around the code that iterates over the dataset. After an error that may
  be due to the data, all files are read to find the record; if all are sound,
  the error is raised as it came.

  Raises:
    ValueError: a record is corrupt, or a file has changed.
    FileNotFoundError: a file is no longer there.
  """
  try:
    yield
  except (tf.errors.NotFoundError, *ERRORS) as error:
    for file in records.files:
      if not tf.io.gfile.exists(file):
        raise FileNotFoundError(
          f"the TFRecord file {file} has vanished: bring it back and run the "
          "same command again."
        ) from error
    records.watch.check()
    known = {(record.file, record.index) for record in records.corrupt_records}
    for file, num_records in _ends(records.segments).items():
      corrupt, _ = find_corrupt_records(file, records.layout, num_records)
      for record in corrupt:
        if (record.file, record.index) not in known:
          raise ValueError(str(record)) from error
    raise


def listed(files):
  """Returns "file and N more", for a message."""
  return f"{files[0]} and {len(files) - 1} more" if files[1:] else files[0]


def find_corrupt_records(path, layout, num_expected=None):
  """Returns the corrupt records of a file and its number of records.

  Args:
    path: str, anything tf.io.gfile opens.
    layout: record_parsing.Layout its records should have.
    num_expected: int, number of records it should have; None if unknown.

  Returns:
    list of CorruptRecord, by index; and int, the number of records whose frames
    can be found in the file, including corrupt ones.
  """
  corrupt = []
  num_records = _count_if_sound(path, layout)
  if num_records is None:
    num_records = 0
    for record, fault, ends_file in frames.iter_frames(path):
      fault = fault or record_parsing.find_fault(record, layout)
      if fault:
        corrupt.append(CorruptRecord(path, num_records, fault))
      num_records += not ends_file
  num_missing = (num_expected or 0) - num_records
  if num_missing > 0:
    fault = f"is missing: the file should have {num_expected} records"
    if corrupt and corrupt[-1].index == num_records:
      fault = corrupt.pop().fault
    corrupt.append(CorruptRecord(path, num_records, fault, num_missing))
  return corrupt, num_records


def _count(file, content, layout):
  """Returns the number of records of a file and checks the first of them."""
  for record, fault, _ in itertools.islice(frames.iter_frames(file), 1):
    fault = fault or record_parsing.find_fault(record, layout)
    if fault:
      raise ValueError(str(CorruptRecord(file, 0, fault)))
  with contextlib.suppress(tf.errors.DataLossError):
    if content is None:
      return frames.count_records(file)
    if tf.io.gfile.stat(file).length == content["num_bytes"]:
      return content["num_records"]
  num_expected = content and content["num_records"]
  corrupt, _ = find_corrupt_records(file, layout, num_expected)
  if corrupt:
    raise ValueError(str(corrupt[0]))
  raise ValueError(
    f"{file} is not the file that its manifest describes: write it again, or "
    "delete the manifest to read it as it is."
  )


def _sound_segments(file, content, layout):
  """Returns the segments between the corrupt records of a file, and those."""
  corrupt, num_records = find_corrupt_records(
    file, layout, content and content["num_records"]
  )
  segments = []
  start = 0
  for bad in [record.index for record in corrupt] + [num_records]:
    if bad > start:
      segments.append(batch_plan.Segment(file, start, bad - start))
    start = bad + 1
  return segments, corrupt


def _ends(segments):
  """Returns {file: number of records up to the last that is read}."""
  return {segment.file: segment.start + segment.count for segment in segments}


def _count_if_sound(path, layout):
  """Returns the number of records, or None if any of them has a fault."""

  @tf.autograph.experimental.do_not_convert
  def check(serialized):
    batch = record_parsing.parse_batch(serialized, _BATCH, layout)
    with tf.control_dependencies(tf.nest.flatten(batch, True)):
      return tf.size(serialized)

  dataset = tf.data.TFRecordDataset(path).batch(_BATCH).map(check)
  try:
    num_checked = sum(int(size) for size in dataset)
    return num_checked if num_checked == frames.count_records(path) else None
  except ERRORS:
    return None
