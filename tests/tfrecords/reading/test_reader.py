import collections
import json
import os
import pathlib
import re
import tempfile

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import features
from keras_bert_impl.tasks import masking
from keras_bert_impl.tokenizers import vocabulary as vocabulary_lib
from tfrecords import manifest
from tfrecords.reading import lanes, reader
from tfrecords.reading import records as records_lib

LENGTH, PREDICTIONS = 16, 4
VOCABULARY = vocabulary_lib.Vocabulary(
  (*vocabulary_lib.SPECIAL_TOKENS, *(f"w{k}" for k in range(95)))
)
MASKING = masking.Masking(VOCABULARY, LENGTH, PREDICTIONS)


def instance(number):
  """Ids of a clean record from which its number can be read."""
  cls, sep = VOCABULARY.cls_id, VOCABULARY.sep_id
  digits = [5 + number // 90, 5 + number % 90]
  return [cls, *digits, sep, *[7] * (number % (LENGTH - 5)), 8, sep]


def serialized(values):
  """Returns a tf.train.Example; ints and floats by the type of the values."""
  example = tf.train.Example()
  for name, numbers in values.items():
    feature = example.features.feature[name]
    if any(isinstance(number, float) for number in numbers):
      feature.float_list.value.extend(numbers)
    else:
      feature.int64_list.value.extend(int(number) for number in numbers)
  return example.SerializeToString(deterministic=True)


def clean_record(number, **changes):
  values = {
    "input_ids": instance(number),
    "next_sentence_labels": [number % 2],
    **changes,
  }
  return serialized({k: v for k, v in values.items() if v is not None})


def masked_record(number, **changes):
  """As the original's create_pretraining_data.py writes it."""
  ids = instance(number)
  padding = [0] * (LENGTH - len(ids))
  segments = [0] * 4 + [1] * (len(ids) - 4)
  values = {
    "input_ids": ids[:4] + [VOCABULARY.mask_id] + ids[5:] + padding,
    "input_mask": [1] * len(ids) + padding,
    "segment_ids": segments + padding,
    "masked_lm_positions": [4, 0, 0, 0],
    "masked_lm_ids": [ids[4], 0, 0, 0],
    "masked_lm_weights": [1.0, 0.0, 0.0, 0.0],
    "next_sentence_labels": [number % 2],
    **changes,
  }
  return serialized({k: v for k, v in values.items() if v is not None})


def write(folder, counts, make=clean_record, with_manifest=False):
  """Writes files of numbered records; returns their paths."""
  files = []
  number = 0
  for index, count in enumerate(counts):
    file = str(folder / f"{make.__name__}-{index:02d}")
    with tf.io.TFRecordWriter(file) as writer:
      for _ in range(count):
        writer.write(make(number))
        number += 1
    if with_manifest:
      manifest.write(file, {}, {"num_records": count})
    files.append(file)
  return files


def open_records(files, **options):
  return reader.open_records(
    files,
    **{
      "max_seq_length": LENGTH,
      "max_predictions_per_seq": PREDICTIONS,
      "vocab_size": VOCABULARY.size,
      **options,
    },
  )


def batches(records, batch_size=4, prepare=MASKING, seed=1, take=-1, **options):
  """Returns the batches as dicts of arrays."""
  dataset = reader.make_dataset(records, prepare, batch_size, seed, **options)
  return list(dataset.take(take).as_numpy_iterator())


def as_read(batch, unused_seed):
  """A `prepare` that changes nothing but the ragged ids."""
  if isinstance(batch["input_ids"], tf.RaggedTensor):
    batch["input_ids"] = batch["input_ids"].to_tensor(shape=[None, LENGTH])
  return batch


def numbers(read):
  """Returns the numbers of the records in batches of `as_read`."""
  ids = np.concatenate([batch["input_ids"] for batch in read])
  return ((ids[:, 1] - 5) * 90 + ids[:, 2] - 5).tolist()


def assert_equal(one, other):
  assert len(one) == len(other)
  for left, right in zip(one, other, strict=True):
    assert left.keys() == right.keys()
    for name in left:
      np.testing.assert_array_equal(left[name], right[name])


# Forms.


def test_form_is_that_of_the_first_record(tmp_path):
  clean = write(tmp_path, [2])
  masked = write(tmp_path, [2], masked_record)
  assert not reader.inspect(clean).is_masked
  assert reader.inspect(masked).is_masked
  assert reader.inspect(clean).use_pairs


def test_records_without_pairs_give_batches_without_labels(tmp_path):
  def alone(number):
    return clean_record(number, next_sentence_labels=None)

  records = open_records(write(tmp_path, [8], alone))
  assert not records.form.use_pairs
  (batch,) = batches(records, take=1)
  assert features.NEXT_SENTENCE_LABELS not in batch


def test_batches_have_static_shapes(tmp_path):
  expected = features.masked_record(LENGTH, PREDICTIONS)
  for options in ({}, {"num_epochs": 1, "drop_remainder": False}):
    records = open_records(write(tmp_path, [9]))
    dataset = reader.make_dataset(records, MASKING, 4, 1, **options)
    shapes = {k: tuple(v.shape) for k, v in dataset.element_spec.items()}
    assert shapes == {name: (4, *f.shape) for name, f in expected.items()}


def test_records_of_the_original_are_read_as_they_are(tmp_path):
  records = open_records(write(tmp_path, [6, 6], masked_record))
  read = batches(records, 12, as_read, num_epochs=1, shuffle=False)
  assert len(read) == 1
  for number, *row in zip(range(12), *read[0].values(), strict=True):
    expected = masked_record(number)
    row = {k: v.tolist() for k, v in zip(read[0], row, strict=True)}
    assert serialized(row) == expected


def test_static_and_dynamic_masks_have_the_same_statistics(tmp_path):
  count = 3000
  clean = open_records(write(tmp_path, [count]))
  static = str(tmp_path / "static")
  with tf.io.TFRecordWriter(static) as writer:
    for batch in batches(clean, 100, seed=5, num_epochs=1):
      for values in zip(*batch.values(), strict=True):
        row = {k: v.tolist() for k, v in zip(batch, values, strict=True)}
        writer.write(serialized(row))

  def rates(read):
    joined = {k: np.concatenate([b[k] for b in read]) for k in read[0]}
    weights = joined["masked_lm_weights"] > 0
    positions = joined["masked_lm_positions"]
    found = np.take_along_axis(joined["input_ids"], positions, 1)[weights]
    labels = joined["masked_lm_ids"][weights]
    kept = found == labels
    return {
      "predictions": weights.sum() / joined["input_mask"].sum(),
      "masked": np.mean(found == VOCABULARY.mask_id),
      "kept": np.mean(kept),
      **{f"at {p}": np.mean(positions[weights] == p) for p in range(LENGTH)},
    }

  dynamic_rates = rates(batches(clean, 100, num_epochs=1))
  static_rates = rates(
    batches(open_records([static]), 100, as_read, num_epochs=1)
  )
  assert static_rates["predictions"] == dynamic_rates["predictions"]
  for name, rate in static_rates.items():
    assert rate == pytest.approx(dynamic_rates[name], abs=0.03), name


# Order.


def test_every_epoch_reads_every_record_once_in_an_order_of_its_own(tmp_path):
  records = open_records(write(tmp_path, [7, 30, 0, 1, 22]))
  read = numbers(batches(records, 60, as_read, take=3, window_size=16))
  epochs = [read[k : k + 60] for k in (0, 60, 120)]
  for epoch in epochs:
    assert sorted(epoch) == list(range(60))
    assert epoch != sorted(epoch)
  assert epochs[0] != epochs[1] != epochs[2]


def test_records_of_all_files_are_mixed(tmp_path):
  records = open_records(write(tmp_path, [100] * 4))
  read = numbers(batches(records, 100, as_read, take=1))
  files = collections.Counter(number // 100 for number in read)
  assert set(files) == {0, 1, 2, 3}
  assert max(files.values()) < 50


def test_without_shuffling_records_come_in_the_order_of_the_files(tmp_path):
  records = open_records(write(tmp_path, [7, 30, 1, 22]))
  read = batches(
    records, 60, as_read, num_epochs=1, shuffle=False, window_size=16
  )
  assert numbers(read) == list(range(60))


def test_batches_run_on_over_the_end_of_an_epoch(tmp_path):
  records = open_records(write(tmp_path, [10]))
  read = numbers(batches(records, 4, as_read, num_epochs=3))
  assert len(read) == 28
  assert sorted(read[:10]) == sorted(read[10:20]) == list(range(10))


def test_batch_may_be_larger_than_an_epoch(tmp_path):
  records = open_records(write(tmp_path, [3]))
  (batch,) = batches(records, 8, as_read, take=1)
  assert collections.Counter(numbers([batch])).most_common()[-1][1] == 2


def test_order_and_masks_depend_on_the_seed_and_nothing_else(tmp_path):
  records = open_records(write(tmp_path, [20, 20]))
  first = batches(records, take=12)
  tf.random.set_seed(0)
  assert_equal(batches(records, take=12), first)
  other = batches(records, take=12, seed=2)
  assert any(
    (a["input_ids"] != b["input_ids"]).any()
    for a, b in zip(first, other, strict=True)
  )


def test_epochs_mask_a_record_differently(tmp_path):
  records = open_records(write(tmp_path, [20]))
  read = batches(records, 20, take=2, shuffle=False)
  assert (read[0]["input_mask"] == read[1]["input_mask"]).all()
  assert (
    read[0]["masked_lm_positions"] != read[1]["masked_lm_positions"]
  ).any()


# Resume.


@pytest.mark.parametrize(
  "make,shuffle",
  [(clean_record, True), (clean_record, False), (masked_record, True)],
)
def test_any_batch_can_be_the_first(tmp_path, make, shuffle):
  # 47 records: batches of 5 straddle windows of 8 and epochs.
  records = open_records(write(tmp_path, [20, 1, 26], make))
  prepare = MASKING if make is clean_record else as_read
  options = {"prepare": prepare, "window_size": 8, "shuffle": shuffle}
  whole = batches(records, 5, take=30, **options)
  for start in (1, 9, 10, 19, 28):
    rest = batches(records, 5, take=2, start_batch=start, **options)
    assert_equal(rest, whole[start : start + 2])


def test_evaluation_can_start_at_any_batch_too(tmp_path):
  records = open_records(write(tmp_path, [11]))
  options = {"num_epochs": 1, "shuffle": False, "drop_remainder": False}
  whole = batches(records, 4, **options)
  assert len(whole) == 3
  for start in (2, 3):
    rest = batches(records, 4, start_batch=start, **options)
    assert_equal(rest, whole[start:])


# Lanes.


def read_parts(records, batch_size, num_parts, prepare=MASKING, **options):
  """Returns the first batches, put together from what each part reads."""
  parts = [
    batches(
      records, batch_size, prepare, part=k, num_parts=num_parts, **options
    )
    for k in range(num_parts)
  ]
  return [
    {name: np.concatenate([part[name] for part in batch]) for name in batch[0]}
    for batch in zip(*parts, strict=True)
  ]


@pytest.mark.parametrize(
  "batch_size,num_parts",
  # In 2, 6 or 3 lanes: parts that are lanes, share one, lie in two.
  [(128, 2), (128, 4), (384, 4), (192, 2), (192, 12)],
)
def test_parts_of_a_batch_are_the_rows_of_the_whole(
  tmp_path, batch_size, num_parts
):
  records = open_records(write(tmp_path, [40, 3, 70, 60, 9, 21, 33]))
  whole = batches(records, batch_size, take=5)
  assert_equal(read_parts(records, batch_size, num_parts, take=5), whole)


def test_evaluation_can_be_read_in_parts_too(tmp_path):
  records = open_records(write(tmp_path, [50, 49]))
  options = {"num_epochs": 1, "shuffle": False, "drop_remainder": False}
  whole = batches(records, 64, **options)
  assert len(whole) == 2
  assert_equal(read_parts(records, 64, 2, **options), whole)


def test_a_part_reads_the_files_of_its_lanes_and_no_others(tmp_path):
  files = write(tmp_path, [100] * 4)
  records = open_records(files)
  options = {"part": 1, "num_parts": 4, "take": 9}
  whole = batches(records, 256, **options)
  for file in files[:1] + files[2:]:
    os.remove(file)
  assert_equal(batches(records, 256, **options), whole)
  os.remove(files[1])
  with pytest.raises(tf.errors.NotFoundError):
    batches(records, 256, **options)


def test_every_lane_reads_its_records_once_in_each_of_its_epochs(tmp_path):
  # 768 records in four lanes: three batches of 64 rows from each.
  records = open_records(write(tmp_path, [100, 300, 200, 168]))
  read = numbers(batches(records, 256, as_read, take=6, window_size=64))
  epochs = [read[:768], read[768:]]
  for epoch in epochs:
    assert sorted(epoch) == list(range(768))
    for lane in range(4):
      rows = np.reshape(epoch, [3, 4, 64])[:, lane].ravel()
      assert sorted(rows) == list(range(192 * lane, 192 * (lane + 1)))
      assert rows.tolist() != sorted(rows)
  assert epochs[0] != epochs[1]


def test_any_batch_of_lanes_can_be_the_first(tmp_path):
  records = open_records(write(tmp_path, [41, 30, 26]))
  whole = batches(records, 128, take=9, window_size=16)
  for start in (1, 2, 7):
    rest = batches(records, 128, take=2, start_batch=start, window_size=16)
    assert_equal(rest, whole[start : start + 2])


def test_lanes_mask_the_same_text_differently(tmp_path):
  def same(unused_number):
    return clean_record(1)

  records = open_records(write(tmp_path, [64, 64], same))
  [batch] = batches(records, 128, take=1)
  positions = np.split(batch["masked_lm_positions"], 2)
  assert (positions[0] != positions[1]).any()


@pytest.mark.parametrize(
  "counts,batch_size,number",
  [
    ([100] * 8, 512, 8),
    ([100] * 10, 1024, 8),
    ([100] * 10, 256, 4),
    ([100] * 10, 64, 1),
    ([100] * 10, 192, 3),
    ([100, 0, 0], 256, 1),
    ([1, 1], 256, 2),
    ([100] * 300, 1 << 14, 64),
  ],
)
def test_lanes_have_a_file_and_64_rows_each(counts, batch_size, number):
  segments = [lanes.Segment(str(k), 0, n) for k, n in enumerate(counts)]
  assert lanes.choose_number(segments, batch_size) == number


@pytest.mark.parametrize("part,num_parts", [(0, 3), (2, 2), (-1, 2)])
def test_a_part_that_is_none_is_refused(tmp_path, part, num_parts):
  records = open_records(write(tmp_path, [64]))
  with pytest.raises(ValueError, match="num_parts"):
    batches(records, 64, part=part, num_parts=num_parts)


# Evaluation.


@pytest.mark.parametrize("make", [clean_record, masked_record])
def test_last_batch_is_filled_up_with_rows_that_count_nowhere(tmp_path, make):
  records = open_records(write(tmp_path, [10], make))
  prepare = MASKING if make is clean_record else as_read
  read = batches(
    records, 4, prepare, num_epochs=1, shuffle=False, drop_remainder=False
  )
  assert len(read) == 3
  assert all(batch["input_ids"].shape == (4, LENGTH) for batch in read)
  assert [batch["input_mask"][:, 0].sum() for batch in read] == [4, 4, 2]
  for array in read[-1].values():
    assert not array[2:].any()


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
CUTS_FILE = {"cut off in its body", "cut off in its header"}
BAD_FEATURES = {
  "input_ids missing": ({"input_ids": None}, "no feature input_ids"),
  "label missing": ({"next_sentence_labels": None}, "next_sentence_labels"),
  "label of two values": ({"next_sentence_labels": [0, 1]}, "2 values"),
  "label out of range": ({"next_sentence_labels": [2]}, "2 in next_sentence"),
  "ids as floats": ({"input_ids": [1.0, 2.0]}, "float_list, not int64_list"),
  "no ids": ({"input_ids": []}, "0 values in input_ids"),
  "too many ids": ({"input_ids": [5] * 17}, r"17 values .*max_seq_length \(16"),
  "id above the vocabulary": ({"input_ids": [2, 100, 3]}, "100 in input_ids"),
  "huge id": ({"input_ids": [2, 2**40, 3]}, f"{2**40} in input_ids"),
  "negative id": ({"input_ids": [2, -1, 3]}, "-1 in input_ids"),
}
BAD_MASKED_FEATURES = {
  "position outside": (
    {"masked_lm_positions": [16, 0, 0, 0]},
    "16 in masked_lm_positions",
  ),
  "label outside": ({"masked_lm_ids": [100, 0, 0, 0]}, "100 in masked_lm_ids"),
  "weights as integers": ({"masked_lm_weights": [1, 0, 0, 0]}, "int64_list"),
  "weight below 0": (
    {"masked_lm_weights": [-0.5, 0.0, 0.0, 0.0]},
    "-0.5 in masked_lm_weights",
  ),
  "weight that is no number": (
    {"masked_lm_weights": [1.0, float("nan"), 0.0, 0.0]},
    "nan in masked_lm_weights",
  ),
  "infinite weight": (
    {"masked_lm_weights": [float("inf"), 0.0, 0.0, 0.0]},
    "inf in masked_lm_weights",
  ),
  "weights missing": ({"masked_lm_weights": None}, "masked_lm_weights"),
  "mask too short": ({"input_mask": [1] * 15}, "15 values in input_mask"),
  "segment outside": ({"segment_ids": [2] * 16}, "2 in segment_ids"),
}
BAD = [
  *((clean_record, name, True) for name in BAD_RECORDS),
  *((clean_record, name, False) for name in BAD_RECORDS),
  (clean_record, "no ids", True),
  (clean_record, "negative id", False),
  (masked_record, "mask too short", True),
  (masked_record, "label outside", False),
  (masked_record, "weight that is no number", True),
]


@pytest.mark.parametrize(
  "make,name",
  [
    *((clean_record, name) for name in BAD_FEATURES),
    *((masked_record, name) for name in BAD_MASKED_FEATURES),
  ],
)
def test_graph_refuses_what_has_a_fault(make, name):
  changes, message = {**BAD_FEATURES, **BAD_MASKED_FEATURES}[name]
  form = features.RecordForm(make is masked_record, use_pairs=True)
  limits = records_lib.Limits(LENGTH, PREDICTIONS, VOCABULARY.size)
  good, bad = make(1), make(14, **changes)
  assert records_lib.find_fault(good, form, limits) is None
  records_lib.parse_batch(tf.constant([good, good]), 2, form, limits)
  assert re.search(message, records_lib.find_fault(bad, form, limits))
  with pytest.raises(tf.errors.InvalidArgumentError):
    records_lib.parse_batch(tf.constant([good, bad]), 2, form, limits)


def _write_bad(folder, make, name, with_manifest):
  """Writes 9 good records, and 9 of which record 5 is bad.

  Returns the files, what the message says and the numbers that are left.
  """
  files = write(folder, [9], make)
  frames = _frames([make(number) for number in range(9, 18)])
  if name in BAD_RECORDS:
    change, message, left = BAD_RECORDS[name]
    frames[5] = change(frames[5])
    if name in CUTS_FILE:
      del frames[6:]
  else:
    changes, message = {**BAD_FEATURES, **BAD_MASKED_FEATURES}[name]
    frames[5], left = _frame(make(14, **changes)), 8
  files.append(str(folder / "bad"))
  (folder / "bad").write_bytes(b"".join(frames))
  if with_manifest:
    manifest.write(files[0], {}, {"num_records": 9})
    manifest.write(files[1], {}, {"num_records": 9})
  sound = [n for n in range(9, 18) if n != 14][:left]
  return files, message, [*range(9), *sound]


@pytest.mark.parametrize("make,name,with_manifest", BAD)
def test_bad_record_is_an_error_that_names_it(
  tmp_path, make, name, with_manifest
):
  files, message, _ = _write_bad(tmp_path, make, name, with_manifest)
  with pytest.raises(ValueError, match=f"bad, record 5: .*{message}"):
    records = open_records(files)
    with reader.errors_explained(records):
      batches(records, prepare=as_read, num_epochs=1)


@pytest.mark.parametrize("make,name,with_manifest", BAD)
def test_bad_record_can_be_left_out(tmp_path, make, name, with_manifest):
  files, _, left = _write_bad(tmp_path, make, name, with_manifest)
  records = open_records(files, skip_corrupt_records=True)
  assert records.num_records == len(left)
  (corrupt,) = records.corrupt_records
  assert (corrupt.file, corrupt.index) == (files[1], 5)
  lost = 18 - len(left) if with_manifest else 1
  assert records.num_corrupt_records == lost
  read = batches(records, 1, as_read, num_epochs=1)
  assert sorted(numbers(read)) == left


def test_bad_first_record_can_be_left_out(tmp_path):
  file = tmp_path / "bad"
  frames = _frames([clean_record(0), clean_record(1)])
  file.write_bytes(_flip(frames[0], 20) + frames[1])
  with pytest.raises(ValueError, match="bad, record 0: has a wrong checksum"):
    open_records([str(file)])
  records = open_records([str(file)], skip_corrupt_records=True)
  assert numbers(batches(records, 1, as_read, num_epochs=1)) == [1]


def test_file_cut_between_two_records_is_an_error_with_a_manifest(tmp_path):
  files = write(tmp_path, [9], with_manifest=True)
  with open(files[0], "rb+") as file:
    file.truncate(sum(map(len, _frames([clean_record(n) for n in range(4)]))))
  with pytest.raises(ValueError, match="record 4: is missing.* 9 records"):
    open_records(files)
  records = open_records(files, skip_corrupt_records=True)
  assert (records.num_records, records.num_corrupt_records) == (4, 5)


def test_file_cut_during_the_run_is_an_error(tmp_path):
  records = open_records(write(tmp_path, [9]))
  with open(records.files[0], "rb+") as file:
    file.truncate(sum(map(len, _frames([clean_record(n) for n in range(4)]))))
  with (
    pytest.raises(ValueError, match="record 4: is missing"),
    reader.errors_explained(records),
  ):
    batches(records, take=5)


def test_file_gone_during_the_run_is_an_error(tmp_path):
  records = open_records(write(tmp_path, [9]))
  pathlib.Path(records.files[0]).unlink()
  with (
    pytest.raises(FileNotFoundError, match="has vanished: bring it back"),
    reader.errors_explained(records),
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
    reader.errors_explained(records),
  ):
    raise tf.errors.InvalidArgumentError(None, None, "of another kind")


@pytest.mark.parametrize("seed", range(3))
def test_damaged_bytes_lose_no_sound_record(tmp_path, seed):
  rng = np.random.default_rng(seed)
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
  read = batches(records, 1, as_read, num_epochs=1)
  assert sorted(numbers(read)) == sorted(set(range(60)) - bodies)


def test_resume_without_the_corrupt_records_is_exact(tmp_path):
  files, _, _ = _write_bad(tmp_path, clean_record, "wrong bytes", False)
  records = open_records(files, skip_corrupt_records=True)
  whole = batches(records, 3, take=14)
  for start in (4, 12):
    rest = batches(records, 3, take=2, start_batch=start)
    assert_equal(rest, whole[start : start + 2])


def test_record_of_another_length_is_an_error(tmp_path):
  masked = write(tmp_path, [3], masked_record)
  with pytest.raises(ValueError, match="16 values in input_ids, not 32"):
    open_records(masked, max_seq_length=32)
  with pytest.raises(ValueError, match="max_predictions_per_seq 5"):
    open_records(masked, max_predictions_per_seq=5)
  with pytest.raises(ValueError, match="no usable records.*First: .*record 0"):
    open_records(masked, max_seq_length=32, skip_corrupt_records=True)


def test_files_of_both_forms_do_not_mix(tmp_path):
  files = write(tmp_path, [3]) + write(tmp_path, [3], masked_record)
  with pytest.raises(ValueError, match="masked_record-00, record 0: is masked"):
    open_records(files)
  with pytest.raises(ValueError, match="clean_record-00, record 0: "):
    open_records(files[::-1])


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


def test_broken_manifest_is_an_error(tmp_path):
  files = write(tmp_path, [3])
  with open(manifest.path_of(files[0]), "w") as file:
    json.dump({"num_records": "many"}, file)
  with pytest.raises(ValueError, match="manifest"):
    open_records(files)


def test_fewer_records_than_a_batch_is_an_error(tmp_path):
  records = open_records(write(tmp_path, [3]))
  with pytest.raises(ValueError, match=r"batch_size \(4\)"):
    batches(records, 4, num_epochs=1)


@pytest.mark.parametrize(
  "options",
  [{"batch_size": 0}, {"start_batch": -1}, {"seed": 2**31}, {"window_size": 0}],
)
def test_argument_out_of_range_is_an_error(tmp_path, options):
  records = open_records(write(tmp_path, [9]))
  (name,) = options
  with pytest.raises(ValueError, match=name):
    batches(records, **options)


def test_patterns_are_expanded_without_manifests(tmp_path):
  files = write(tmp_path, [1, 1, 1], with_manifest=True)
  (tmp_path / "clean.results.json").write_text("{}")
  assert reader.list_files(f"{tmp_path}/clean*-0[01]*") == files[:2]
  assert reader.list_files(f"{files[2]},{tmp_path}/clean*") == files
  with pytest.raises(ValueError, match=r"input_file \(.*none\)"):
    reader.list_files(f"{files[0]},{tmp_path}/none")
