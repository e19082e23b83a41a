"""Batches: their form, order and parts, and how a run goes on with them."""

import collections
import functools
import os

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import features
from tests import slow
from tests.tfrecords.reading.numbered_records import (
  LENGTH,
  MASKING,
  PREDICTIONS,
  VOCABULARY,
  as_read,
  assert_equal,
  batches,
  clean_record,
  instance,
  make_dataset,
  masked_record,
  numbers,
  open_records,
  serialized,
  write,
)
from tfrecords.reading import reader

EVALUATION = {"num_epochs": 1, "shuffle": False, "drop_remainder": False}


@pytest.fixture(name="opened", scope="module")
def fixture_opened(tmp_path_factory):
  """Callable (*counts, make) -> `Records` of files, each made once."""

  @functools.cache
  def opened(*counts, make=clean_record):
    return open_records(write(tmp_path_factory.mktemp("r"), counts, make))

  return opened


# Samples.


@pytest.mark.parametrize("make", [clean_record, masked_record])
def test_a_sample_has_the_tokens_of_the_records(make, opened):
  found = reader.sample_ids(opened(8, 5, make=make), 100).to_list()
  rows = [instance(number) for number in range(13)]
  if make is masked_record:
    rows = [[*row[:4], VOCABULARY.mask_id, *row[5:]] for row in rows]
  assert sorted(found) == sorted(rows)


def test_a_sample_is_always_the_same(opened):
  first, again = (reader.sample_ids(opened(8, 5), 3) for _ in range(2))
  assert first.to_list() == again.to_list() and first.nrows() == 3


# Forms.


def alone(number):
  return clean_record(number, next_sentence_labels=None)


def test_records_without_pairs_give_batches_without_labels(opened):
  records = opened(8, make=alone)
  assert not records.form.use_pairs
  (batch,) = batches(records, prepare=MASKING, take=1)
  assert features.NEXT_SENTENCE_LABELS not in batch


@pytest.mark.parametrize("options", [{}, EVALUATION])
def test_batches_have_static_shapes(opened, options):
  expected = features.masked_record(LENGTH, PREDICTIONS)
  dataset = make_dataset(opened(9), prepare=MASKING, **options)
  shapes = {k: tuple(v.shape) for k, v in dataset.element_spec.items()}
  assert shapes == {name: (4, *f.shape) for name, f in expected.items()}


def test_records_of_the_original_are_read_as_they_are_in_order(opened):
  records = opened(7, 30, 0, 1, 22, make=masked_record)
  [batch] = batches(
    records, 60, as_read, num_epochs=1, shuffle=False, window_size=16
  )
  for number, *row in zip(range(60), *batch.values(), strict=True):
    row = {k: v.tolist() for k, v in zip(batch, row, strict=True)}
    assert serialized(row) == masked_record(number)


@pytest.mark.integration
def test_static_and_dynamic_masks_have_the_same_statistics(opened, tmp_path):
  clean = opened(1000)
  static = str(tmp_path / "static")
  with tf.io.TFRecordWriter(static) as writer:
    for batch in batches(clean, 500, MASKING, seed=5, num_epochs=1):
      for values in zip(*batch.values(), strict=True):
        row = {k: v.tolist() for k, v in zip(batch, values, strict=True)}
        writer.write(serialized(row))

  def rates(read):
    joined = {k: np.concatenate([b[k] for b in read]) for k in read[0]}
    weights = joined["masked_lm_weights"] > 0
    positions = joined["masked_lm_positions"]
    found = np.take_along_axis(joined["input_ids"], positions, 1)[weights]
    labels = joined["masked_lm_ids"][weights]
    return {
      "predictions": weights.sum() / joined["input_mask"].sum(),
      "masked": np.mean(found == VOCABULARY.mask_id),
      "kept": np.mean(found == labels),
      **{f"at {p}": np.mean(positions[weights] == p) for p in range(LENGTH)},
    }

  dynamic_rates = rates(batches(clean, 500, MASKING, num_epochs=1))
  static_rates = rates(
    batches(open_records([static]), 500, as_read, num_epochs=1)
  )
  assert static_rates["predictions"] == dynamic_rates["predictions"]
  for name, rate in static_rates.items():
    assert rate == pytest.approx(dynamic_rates[name], abs=0.04), name


# Order.


def test_every_epoch_reads_every_record_once_in_an_order_of_its_own(opened):
  records = opened(7, 30, 0, 1, 22)
  read = numbers(batches(records, 60, take=3, window_size=16))
  epochs = [read[k : k + 60] for k in (0, 60, 120)]
  for epoch in epochs:
    assert sorted(epoch) == list(range(60))
    assert epoch != sorted(epoch)
  assert epochs[0] != epochs[1] != epochs[2]


def test_records_of_all_files_are_mixed(opened):
  read = numbers(batches(opened(100, 100, 100, 100), 100, take=1))
  files = collections.Counter(number // 100 for number in read)
  assert set(files) == {0, 1, 2, 3}
  assert max(files.values()) < 50


def test_batches_run_on_over_the_end_of_an_epoch(opened):
  read = numbers(batches(opened(10), 4, num_epochs=3))
  assert len(read) == 28
  assert sorted(read[:10]) == sorted(read[10:20]) == list(range(10))
  # And may be larger than an epoch.
  (batch,) = batches(opened(3), 8, take=1)
  assert collections.Counter(numbers([batch])).most_common()[-1][1] == 2


# 47 records: batches of 5 straddle windows of 8 and epochs.
UNEVEN = (20, 1, 26)


@pytest.fixture(name="whole", scope="module")
def fixture_whole(opened):
  return batches(opened(*UNEVEN), 5, take=30, window_size=8)


def test_order_and_draws_depend_on_the_seed_and_nothing_else(opened, whole):
  tf.random.set_seed(0)
  again, other = (
    batches(opened(*UNEVEN), 5, take=12, window_size=8, seed=seed)
    for seed in (1, 2)
  )
  assert_equal(again, whole[:12])
  assert any(
    (a["input_ids"] != b["input_ids"]).any()
    for a, b in zip(again, other, strict=True)
  )


def test_epochs_draw_for_a_record_differently(opened):
  first, second = batches(opened(20), 20, take=2, shuffle=False)
  assert (first["input_ids"] == second["input_ids"]).all()
  assert (first["draws"] != second["draws"]).any()


# Resume.


@pytest.mark.parametrize("start", slow.all_but((10, 28), (1, 9, 10, 19, 28)))
def test_any_batch_can_be_the_first(opened, whole, start):
  options = {"window_size": 8, "start_batch": start}
  rest = batches(opened(*UNEVEN), 5, take=2, **options)
  assert_equal(rest, whole[start : start + 2])


def test_any_batch_of_masked_records_in_order_can_be_the_first(opened):
  records = opened(*UNEVEN, make=masked_record)
  options = {"prepare": as_read, "window_size": 8, "shuffle": False}
  whole = batches(records, 5, take=21, **options)
  rest = batches(records, 5, take=2, start_batch=19, **options)
  assert_equal(rest, whole[19:])


# Lanes.

# Records of four lanes: three batches of 64 rows from each.
OF_LANES = (100, 300, 200, 168)


@pytest.fixture(name="of_lanes", scope="module")
def fixture_of_lanes(opened):
  return batches(opened(*OF_LANES), 256, take=6, window_size=64)


def read_part(records, batch_size, part, num_parts, **options):
  """Returns what a part reads of the first batches."""
  parts = {"part": part, "num_parts": num_parts}
  return batches(records, batch_size, **parts, **options)


def part_of(batch, part, num_parts):
  return {k: np.split(x, num_parts)[part] for k, x in batch.items()}


# In 2, 6 or 3 lanes: parts that are lanes, share one, lie in two.
@pytest.mark.integration
@pytest.mark.parametrize(
  "sizes",
  slow.all_but(
    ((192, 2),), ((128, 2), (128, 4), (384, 4), (192, 2), (192, 12))
  ),
)
def test_parts_of_a_batch_are_the_rows_of_the_whole(opened, sizes):
  batch_size, num_parts = sizes
  records = opened(40, 3, 70, 60, 9, 21, 33)
  whole = batches(records, batch_size, take=5)
  for part in range(num_parts):
    found = read_part(records, *(batch_size, part, num_parts), take=5)
    assert_equal(found, [part_of(batch, part, num_parts) for batch in whole])


def test_evaluation_can_start_at_any_batch_and_in_parts(opened):
  records = opened(50, 49)
  _, second = batches(records, 64, **EVALUATION)
  rest = read_part(records, 64, 1, 2, start_batch=1, **EVALUATION)
  assert_equal(rest, [part_of(second, 1, 2)])


def test_a_part_reads_the_files_of_its_lanes_and_no_others(tmp_path):
  files = write(tmp_path, [100] * 4)
  records = open_records(files)
  whole = batches(records, 256, take=5)
  for file in files[:1] + files[2:]:
    os.remove(file)
  found = read_part(records, 256, 1, 4, take=5)
  assert_equal(found, [part_of(batch, 1, 4) for batch in whole])
  os.remove(files[1])
  with pytest.raises(tf.errors.NotFoundError):
    read_part(records, 256, 1, 4, take=5)


def test_every_lane_reads_its_records_once_in_each_of_its_epochs(of_lanes):
  read = numbers(of_lanes)
  epochs = [read[:768], read[768:]]
  for epoch in epochs:
    assert sorted(epoch) == list(range(768))
    for lane in range(4):
      rows = np.reshape(epoch, [3, 4, 64])[:, lane].ravel()
      assert sorted(rows) == list(range(192 * lane, 192 * (lane + 1)))
      assert rows.tolist() != sorted(rows)
  assert epochs[0] != epochs[1]


def test_any_batch_of_lanes_can_be_the_first(opened, of_lanes):
  records = opened(*OF_LANES)
  rest = batches(records, 256, take=2, start_batch=4, window_size=64)
  assert_equal(rest, of_lanes[4:])


def test_lanes_have_draws_of_their_own(of_lanes):
  first, second, *_ = np.split(of_lanes[0]["draws"], 4)
  assert (first != second).any()


# Evaluation.


@pytest.mark.parametrize("make", [clean_record, masked_record])
def test_last_batch_is_filled_up_with_rows_that_count_nowhere(opened, make):
  prepare = MASKING if make is clean_record else as_read
  read = batches(opened(10, make=make), 4, prepare, **EVALUATION)
  assert len(read) == 3
  assert all(batch["input_ids"].shape == (4, LENGTH) for batch in read)
  assert [batch["input_mask"][:, 0].sum() for batch in read] == [4, 4, 2]
  for array in read[-1].values():
    assert not array[2:].any()


# Wrong arguments.


@pytest.mark.parametrize(
  ("options", "named"),
  [
    ({"batch_size": 16, "num_epochs": 1}, r"fill a batch of batch_size \(16\)"),
    ({"batch_size": 0}, "batch_size"),
    ({"start_batch": -1}, "start_batch"),
    ({"seed": 2**31}, "seed"),
    ({"window_size": 0}, "window_size"),
    ({"part": 0, "num_parts": 3}, "num_parts"),
    ({"part": 2, "num_parts": 2}, "num_parts"),
    ({"part": -1, "num_parts": 2}, "num_parts"),
  ],
)
def test_what_cannot_be_read_is_an_error(opened, options, named):
  with pytest.raises(ValueError, match=named):
    batches(opened(9), **options)
