"""Files that are opened: their form, how many records, what is wrong."""

import os
import re
import tempfile

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import features
from tests.tfrecords.reading.numbered_records import (
  LIMITS,
  MASKING,
  assert_equal,
  batches,
  clean_record,
  masked_record,
  numbers,
  open_records,
  serialized,
  write,
)
from tfrecords import manifest
from tfrecords.reading import record_parsing, scan

# Packed records.


def packed_record(number, texts=(1, 1, 1, 2, 2, 2), **changes):
  changes = {"next_sentence_labels": None, **changes}
  return clean_record(
    number, input_ids=[2, 7, 3] * 2, sequence_ids=texts, **changes
  )


def test_packed_records_are_found_out_and_read(tmp_path):
  records = open_records(write(tmp_path, [3], packed_record))
  assert records.form == features.RecordForm(False, False, is_packed=True)
  [batch] = batches(
    records, 4, MASKING, num_epochs=1, shuffle=False, drop_remainder=False
  )
  texts = [1, 1, 1, 2, 2, 2] + [0] * 10
  np.testing.assert_array_equal(
    batch["sequence_ids"], [texts, texts, texts, [0] * 16]
  )


@pytest.mark.parametrize(
  ("texts", "message"),
  [
    ((1, 1, 2), "3 values in sequence_ids, not 6 as in input_ids"),
    ((1, 1, 1, 2, 2, 99), "99 in sequence_ids, allowed are 0 to 16"),
    (None, "has no feature sequence_ids"),
  ],
)
def test_wrong_sequence_ids_are_refused(texts, message):
  form = features.RecordForm(False, False, is_packed=True)
  layout = record_parsing.Layout(form, LIMITS)
  good, bad = packed_record(1), packed_record(2, texts)
  assert record_parsing.find_fault(good, layout) is None
  assert message in record_parsing.find_fault(bad, layout)
  if texts is not None:
    with pytest.raises(tf.errors.InvalidArgumentError):
      record_parsing.parse_batch(tf.constant([good, bad]), 2, layout)


# Bad input.


def _frames(records):
  """Returns the bytes of a TFRecord file, record by record."""
  return [_frame(record) for record in records]


def _frame(record):
  with tempfile.NamedTemporaryFile() as file:
    with tf.io.TFRecordWriter(file.name) as writer:
      writer.write(record)
    return file.read()


def _flip(frame, position):
  frame = bytearray(frame)
  frame[position] ^= 0xFF
  return bytes(frame)


# name: (record 5 of 9, what the message says, records that are left).
BAD_RECORDS = {
  "cut off in its body": (lambda f: f[:-9], "truncated", 5),
  "cut off in its header": (lambda f: f[:7], "truncated", 5),
  "wrong bytes": (lambda f: _flip(f, 20), "wrong checksum", 8),
  "wrong bytes in its length": (lambda f: _flip(f, 2), "of its length", 5),
  "no example": (lambda f: _frame(b"\xff\xff"), "not a tf.train.Example", 8),
}
BAD_CLEAN = [
  ({"input_ids": None}, "no feature input_ids"),
  ({"next_sentence_labels": None}, "next_sentence_labels"),
  ({"next_sentence_labels": [0, 1]}, "2 values"),
  ({"next_sentence_labels": [2]}, "2 in next_sentence"),
  ({"input_ids": [1.0, 2.0]}, "float_list, not int64_list"),
  ({"input_ids": []}, "0 values in input_ids"),
  ({"input_ids": [5] * 17}, r"17 values .*max_seq_length \(16"),
  ({"input_ids": [2, 100, 3]}, "100 in input_ids"),
  ({"input_ids": [2, 2**40, 3]}, f"{2**40} in input_ids"),
  ({"input_ids": [2, -1, 3]}, "-1 in input_ids"),
]
BAD_LABEL = ({"masked_lm_ids": [100, 0, 0, 0]}, "100 in masked_lm_ids")
BAD_MASKED = [
  BAD_LABEL,
  ({"masked_lm_positions": [16, 0, 0, 0]}, "16 in masked_lm_positions"),
  ({"masked_lm_weights": [1, 0, 0, 0]}, "int64_list"),
  ({"masked_lm_weights": [-0.5, 0.0, 0.0, 0.0]}, "-0.5 in masked_lm_weights"),
  ({"masked_lm_weights": [float("nan")] * 4}, "nan in masked_lm_weights"),
  ({"masked_lm_weights": [float("inf")] * 4}, "inf in masked_lm_weights"),
  ({"masked_lm_weights": None}, "masked_lm_weights"),
  ({"input_mask": [1] * 15}, "15 values in input_mask"),
  ({"segment_ids": [2] * 16}, "2 in segment_ids"),
]
# Ways of one fault, with a manifest or without.
BAD = [
  (clean_record, "cut off in its body", True),
  (clean_record, "cut off in its header", False),
  (clean_record, "wrong bytes", False),
  (clean_record, "wrong bytes in its length", True),
  (clean_record, "no example", True),
  (masked_record, "label outside", False),
]


@pytest.mark.parametrize(
  "make,changes,message",
  [
    *((clean_record, *bad) for bad in BAD_CLEAN),
    *((masked_record, *bad) for bad in BAD_MASKED),
  ],
)
def test_graph_refuses_what_has_a_fault(make, changes, message):
  form = features.RecordForm(make is masked_record, use_pairs=True)
  layout = record_parsing.Layout(form, LIMITS)
  good, bad = make(1), make(14, **changes)
  assert record_parsing.find_fault(good, layout) is None
  record_parsing.parse_batch(tf.constant([good, good]), 2, layout)
  assert re.search(message, record_parsing.find_fault(bad, layout))
  with pytest.raises(tf.errors.InvalidArgumentError):
    record_parsing.parse_batch(tf.constant([good, bad]), 2, layout)


def _write_bad(folder, make, name, with_manifest):
  """Writes 9 good records, and 9 of which record 5 is bad.

  Returns the files, what the message says and the numbers that are left.
  """
  files = write(folder, [9], make)
  frames = _frames([make(number) for number in range(9, 18)])
  if make is masked_record:
    (changes, message), left = BAD_LABEL, 8
    frames[5] = _frame(make(14, **changes))
  else:
    change, message, left = BAD_RECORDS[name]
    frames[5] = change(frames[5])
    if name.startswith("cut off"):
      del frames[6:]
  files.append(str(folder / "bad"))
  (folder / "bad").write_bytes(b"".join(frames))
  if with_manifest:
    manifest.write(files[0], {}, {"num_records": 9})
    manifest.write(files[1], {}, {"num_records": 9})
  sound = [n for n in range(9, 18) if n != 14][:left]
  return files, message, [*range(9), *sound]


@pytest.mark.parametrize("make,name,with_manifest", BAD)
def test_bad_record_is_named_or_left_out(tmp_path, make, name, with_manifest):
  files, message, left = _write_bad(tmp_path, make, name, with_manifest)
  with pytest.raises(ValueError, match=f"bad, record 5: .*{message}"):
    records = open_records(files)
    with scan.errors_explained(records):
      raise scan.ERRORS[0](None, None, "as reading it does")
  records = open_records(files, skip_corrupt_records=True)
  assert records.num_records == len(left)
  assert [
    9 * files.index(segment.file) + segment.start + k
    for segment in records.segments
    for k in range(segment.count)
  ] == left
  (corrupt,) = records.corrupt_records
  assert (corrupt.file, corrupt.index) == (files[1], 5)
  lost = 18 - len(left) if with_manifest else 1
  assert records.num_corrupt_records == lost


def test_what_is_found_while_it_is_read_is_named(tmp_path):
  files, message, _ = _write_bad(tmp_path, clean_record, "wrong bytes", False)
  manifest.write(files[1], {}, {"num_records": 9})
  records = open_records(files)
  with (
    pytest.raises(ValueError, match=f"bad, record 5: .*{message}"),
    scan.errors_explained(records),
  ):
    batches(records, num_epochs=1)


def test_bad_first_record_can_be_left_out(tmp_path):
  file = tmp_path / "bad"
  frames = _frames([clean_record(0), clean_record(1)])
  file.write_bytes(_flip(frames[0], 20) + frames[1])
  with pytest.raises(ValueError, match="bad, record 0: has a wrong checksum"):
    open_records([str(file)])
  records = open_records([str(file)], skip_corrupt_records=True)
  assert numbers(batches(records, 1, num_epochs=1)) == [1]


def test_file_cut_between_two_records_is_an_error_with_a_manifest(tmp_path):
  files = write(tmp_path, [9], with_manifest=True)
  with open(files[0], "rb+") as file:
    file.truncate(sum(map(len, _frames([clean_record(n) for n in range(4)]))))
  with pytest.raises(ValueError, match="record 4: is missing.* 9 records"):
    open_records(files)
  records = open_records(files, skip_corrupt_records=True)
  assert (records.num_records, records.num_corrupt_records) == (4, 5)


def test_file_gone_during_the_run_is_an_error(tmp_path):
  records = open_records(write(tmp_path, [9]))
  os.remove(records.files[0])
  with (
    pytest.raises(FileNotFoundError, match="has vanished: bring it back"),
    scan.errors_explained(records),
  ):
    batches(records, take=5)


def test_file_of_another_size_than_its_manifest_says_is_an_error(tmp_path):
  files = write(tmp_path, [9], with_manifest=True)
  with open(files[0], "ab") as file:
    file.write(_frame(clean_record(0)))
  with pytest.raises(ValueError, match="not the file that its manifest"):
    open_records(files)


def test_error_that_is_not_due_to_the_records_stays_as_it_is(tmp_path):
  records = open_records(write(tmp_path, [9]))
  with (
    pytest.raises(tf.errors.InvalidArgumentError, match="of another kind"),
    scan.errors_explained(records),
  ):
    raise tf.errors.InvalidArgumentError(None, None, "of another kind")


def test_damaged_bytes_lose_no_sound_record(tmp_path):
  rng = np.random.default_rng(0)
  file = tmp_path / "damaged"
  frames = _frames([clean_record(number) for number in range(60)])
  bodies = {int(k) for k in rng.choice(np.arange(1, 60), 6, replace=False)}
  for k in bodies:
    position = int(rng.integers(12, len(frames[k])))
    frames[k] = _flip(frames[k], position)
  file.write_bytes(b"".join(frames))
  with pytest.raises(ValueError, match=f"record {min(bodies)}: "):
    open_records([str(file)])
  records = open_records([str(file)], skip_corrupt_records=True)
  assert {record.index for record in records.corrupt_records} == bodies
  read = batches(records, 1, num_epochs=1)
  assert sorted(numbers(read)) == sorted(set(range(60)) - bodies)


def test_resume_without_the_corrupt_records_is_exact(tmp_path):
  files, _, _ = _write_bad(tmp_path, clean_record, "wrong bytes", False)
  records = open_records(files, skip_corrupt_records=True)
  whole = batches(records, 3, take=14)
  rest = batches(records, 3, take=2, start_batch=12)
  assert_equal(rest, whole[12:])


def test_record_of_another_length_is_an_error(tmp_path):
  masked = write(tmp_path, [3], masked_record)
  with pytest.raises(ValueError, match="16 values in input_ids, not 32"):
    open_records(masked, max_seq_length=32)
  with pytest.raises(ValueError, match="max_predictions_per_seq 5"):
    open_records(masked, max_predictions_per_seq=5)
  with pytest.raises(ValueError, match="no usable records.*First: .*record 0"):
    open_records(masked, max_seq_length=32, skip_corrupt_records=True)


@pytest.mark.parametrize(
  ("makes", "message"),
  [
    ((clean_record, masked_record), "masked_record-00, record 0: is masked"),
    ((masked_record, clean_record), "clean_record-00, record 0: "),
    ((clean_record, packed_record), "holds several texts, but the first"),
  ],
)
def test_files_of_several_forms_do_not_mix(tmp_path, makes, message):
  files = [file for make in makes for file in write(tmp_path, [2], make)]
  with pytest.raises(ValueError, match=message):
    open_records(files)


def test_nothing_to_read_is_an_error(tmp_path):
  with pytest.raises(ValueError, match="no TFRecord files"):
    open_records([])
  with pytest.raises(
    ValueError, match="no records .*clean_record-00 and 1 more"
  ):
    open_records(write(tmp_path, [0, 0]))
  with pytest.raises(FileNotFoundError, match="absent"):
    open_records([str(tmp_path / "absent")])


def test_file_of_another_kind_is_an_error(tmp_path):
  (tmp_path / "book").write_text("It was the best of times.\n")
  with pytest.raises(ValueError, match="book, record 0: .*no TFRecord file"):
    open_records([str(tmp_path / "book")])
  with tf.io.TFRecordWriter(str(tmp_path / "other")) as writer:
    writer.write(serialized({"image": [1]}))
  with pytest.raises(ValueError, match="other, record 0: .*input_ids"):
    open_records([str(tmp_path / "other")])


def test_patterns_are_expanded_without_manifests(tmp_path):
  files = write(tmp_path, [1, 1, 1], with_manifest=True)
  (tmp_path / "clean.results.json").write_text("{}")
  assert scan.list_files(f"{tmp_path}/clean*-0[01]*") == files[:2]
  assert scan.list_files(f"{files[2]},{tmp_path}/clean*") == files
  with pytest.raises(ValueError, match=r"input_file \(.*none\)"):
    scan.list_files(f"{files[0]},{tmp_path}/none")
