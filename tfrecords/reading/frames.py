"""Reads the frames of a TFRecord file: length, checksum, record, checksum."""

import struct

import tensorflow as tf
from tensorboard.summary.writer import record_writer

_BATCH = 512
_HEADER = struct.Struct("<QI")
_FOOTER = struct.Struct("<I")
_FRAME_BYTES = _HEADER.size + _FOOTER.size


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
  # TensorFlow accepts a file that ends within the header of a record as one
  # that ends before it.
  if num_bytes != tf.io.gfile.stat(path).length:
    raise tf.errors.DataLossError(None, None, f"{path} is truncated.")
  return num_records


def iter_frames(path):
  """Reads a file record by record, slowly, and skips corrupt ones if it can.

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
      if checksum != record_writer.masked_crc32c(header[:8]):
        fault = (
          "has a wrong checksum of its length, or this is no TFRecord file"
        )
        yield b"", fault, True
        return
      record, footer = file.read(length), file.read(_FOOTER.size)
      if len(footer) < _FOOTER.size:
        yield b"", truncated, True
        return
      (checksum,) = _FOOTER.unpack(footer)
      is_sound = checksum == record_writer.masked_crc32c(record)
      yield record, None if is_sound else "has a wrong checksum", False
