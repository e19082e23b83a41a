"""Counts records and finds the corrupt ones.

Finding is exact and slow where there is something to find: it runs after an
error, to name the record, or once before a run that leaves corrupt records out.
"""

import dataclasses
import struct

import tensorflow as tf

from tfrecords.reading import records

_BATCH = 512
# What reading a corrupt record raises; UnicodeDecodeError where TensorFlow's
# message quotes its bytes.
ERRORS = (
  tf.errors.DataLossError,
  tf.errors.FailedPreconditionError,
  tf.errors.InvalidArgumentError,
  UnicodeDecodeError,
)
# A frame of a TFRecord file: length, its checksum, the record, its checksum.
_HEADER = struct.Struct("<QI")
_FOOTER = struct.Struct("<I")
_FRAME_BYTES = _HEADER.size + _FOOTER.size


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


def count_records(path):
  """Returns the number of records of a file, reading all of it.

  Raises:
    DataLossError: a checksum is wrong or the file ends within a record.
  """
  num_records = num_bytes = 0
  for batch in tf.data.TFRecordDataset(path).batch(_BATCH):
    lengths = tf.strings.length(batch).numpy()
    num_records += len(lengths)
    num_bytes += int(lengths.sum()) + len(lengths) * _FRAME_BYTES
  # TensorFlow takes a file that ends within the header of a record for one
  # that ends before it.
  if num_bytes != tf.io.gfile.stat(path).length:
    raise tf.errors.DataLossError(None, None, f"{path} is truncated.")
  return num_records


def find_corrupt_records(path, form, limits, num_expected=None):
  """Returns what is wrong in a file.

  Args:
    path: str, anything tf.io.gfile opens.
    form: features.RecordForm its records should have.
    limits: records.Limits they should keep.
    num_expected: int, records it should have, None where that is not known.

  Returns:
    list of CorruptRecord, by index; and int, the number of records that can be
    told apart in the file, corrupt ones among them.
  """
  corrupt = []
  num_records = _count_if_sound(path, form, limits)
  if num_records is None:
    num_records = 0
    for record, fault, ends_file in iter_frames(path):
      fault = fault or records.find_fault(record, form, limits)
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


def iter_frames(path):
  """Reads a file record by record, slowly, over corrupt ones where it can.

  Yields:
    bytes, the record; its fault as in CorruptRecord, or None; bool, whether it
    ends the file (and is not a record).
  """
  truncated = "is cut off: the file is truncated"
  with tf.io.gfile.GFile(path, "rb") as file:
    while header := file.read(_HEADER.size):
      if len(header) < _HEADER.size:
        yield b"", truncated, True
        return
      length, checksum = _HEADER.unpack(header)
      if checksum != _masked_crc32c(header[:8]):
        fault = (
          "has a wrong checksum of its length, or this is no TFRecord file"
        )
        yield b"", fault, True
        return
      record, footer = file.read(length), file.read(_FOOTER.size)
      if len(footer) < _FOOTER.size:
        yield b"", truncated, True
        return
      is_sound = _FOOTER.unpack(footer)[0] == _masked_crc32c(record)
      yield record, None if is_sound else "has a wrong checksum", False


def _count_if_sound(path, form, limits):
  """Returns the number of records, or None if any of them has a fault."""

  def check(serialized):
    batch = records.parse_batch(serialized, _BATCH, form, limits)
    with tf.control_dependencies(tf.nest.flatten(batch, True)):
      return tf.size(serialized)

  dataset = tf.data.TFRecordDataset(path).batch(_BATCH).map(check)
  try:
    num_checked = sum(int(size) for size in dataset)
    return num_checked if num_checked == count_records(path) else None
  except ERRORS:
    return None


def _masked_crc32c(data):
  """Returns the checksum of TFRecord files (core/lib/hash/crc32c.h)."""
  crc = 0xFFFFFFFF
  for byte in data:
    crc = _CRC32C[(crc ^ byte) & 0xFF] ^ (crc >> 8)
  crc ^= 0xFFFFFFFF
  return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def _crc32c_of_byte(byte):
  for _ in range(8):
    byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
  return byte


_CRC32C = [_crc32c_of_byte(byte) for byte in range(256)]
