"""Records by length: each one once, the same batches again, less padding."""

import collections

import numpy as np
import pytest
import tensorflow as tf

from tests.tfrecords.reading.numbered_records import (
  LENGTH,
  MASKING,
  as_read,
  assert_equal,
  batches,
  make_dataset,
  masked_record,
  open_records,
  write,
)
from tfrecords import lengths
from tfrecords.reading import by_length

COUNTS = [60, 36]  # Records; twelve batches of eight, which are one pool.
BATCH = 8
OF_PREDICTIONS = ("masked_lm_positions", "masked_lm_ids", "masked_lm_weights")


@pytest.fixture(name="records", scope="module")
def fixture_records(tmp_path_factory):
  return open_records(write(tmp_path_factory.mktemp("records"), COUNTS))


@pytest.fixture(name="found", scope="module")
def fixture_found(records):
  return read(records, 24)


def read(records, take, prepare=MASKING, **options):
  return batches(records, BATCH, prepare, take, by_length=True, **options)


def unmasked_ids(batch):
  """Returns the ids of each row, as they were before masking."""
  columns = ("input_ids", "input_mask", *OF_PREDICTIONS)
  rows = []
  for ids, mask, positions, labels, weights in zip(
    *(batch[name] for name in columns), strict=True
  ):
    ids = ids.copy()
    ids[positions[weights > 0]] = labels[weights > 0]
    rows.append(tuple(ids[mask > 0].tolist()))
  return rows


def assert_epochs(found):
  """Asserts that both halves have the same rows, each once."""
  epochs = [
    collections.Counter(row for batch in half for row in unmasked_ids(batch))
    for half in (found[:12], found[12:])
  ]
  assert epochs[0] == epochs[1]
  assert len(epochs[0]) == sum(COUNTS)
  assert found[0]["input_ids"].tolist() != found[12]["input_ids"].tolist()


def test_an_epoch_has_every_record_once(found):
  assert_epochs(found)


def test_an_epoch_has_every_masked_record_once(tmp_path):
  records = open_records(write(tmp_path, COUNTS, masked_record))
  assert_epochs(read(records, 24, prepare=as_read))


def test_rows_and_masks_are_those_of_padded_batches_with_less_padding(
  records, found, monkeypatch
):
  monkeypatch.setattr(by_length, "cut_padding", lambda batch: batch)
  whole = read(records, 12)
  for batch, padded in zip(found, whole):
    for name, values in padded.items():
      kept = tuple(map(slice, batch[name].shape))
      np.testing.assert_array_equal(values[kept], batch[name])
      assert values.sum() == batch[name].sum()  # All else is 0.
  shares = [
    np.mean(np.concatenate([batch["input_mask"].ravel() for batch in each]))
    for each in (whole, found[:12])
  ]
  assert shares[1] > 1.1 * shares[0]
  sizes = [batch["input_ids"].shape[1] for batch in found[:12]]
  assert set(sizes) == set(lengths.padded_lengths(LENGTH))
  assert sizes != sorted(sizes)  # Lengths come in random order.


def test_predictions_are_cut_behind_the_last():
  weights = np.zeros([2, 40], np.float32)
  weights[0, :3], weights[1, 17] = 1, 1
  batch = {
    "input_ids": tf.ones([2, 16]),
    "input_mask": tf.sequence_mask([3, 8], 16, tf.int32),
    "masked_lm_weights": tf.constant(weights),
    "span_boundaries": tf.ones([2, 40, 2]),
    "next_sentence_labels": tf.ones([2, 1]),
  }
  found = {
    k: x.shape.as_list() for k, x in by_length.cut_padding(batch).items()
  }
  assert found == {
    "input_ids": [2, 8],
    "input_mask": [2, 8],
    "masked_lm_weights": [2, 24],
    "span_boundaries": [2, 24, 2],
    "next_sentence_labels": [2, 1],
  }


# The last of a pool, and one inside of another.
@pytest.mark.parametrize("start", [11, 13])
def test_any_batch_can_be_the_first(records, found, start):
  rest = read(records, 3, start_batch=start)
  assert_equal(rest, found[start : start + 3])


def test_another_seed_gives_other_batches(records, found):
  other = read(records, 12, seed=2)
  assert [*map(unmasked_ids, found[:12])] != [*map(unmasked_ids, other)]


def test_parts_have_the_rows_and_the_length_of_the_whole(tmp_path):
  # So many that they would be read in lanes otherwise.
  records = open_records(write(tmp_path, [300, 300], masked_record))
  options = {"prepare": as_read, "take": 5, "by_length": True}
  whole = batches(records, 128, **options)
  part = batches(records, 128, part=1, num_parts=2, **options)
  assert_equal(part, [{k: x[64:] for k, x in b.items()} for b in whole])


def test_batches_are_endless_with_a_static_number_of_rows(records):
  dataset = make_dataset(records, BATCH, MASKING, by_length=True)
  assert dataset.cardinality() == tf.data.INFINITE_CARDINALITY
  shapes = {k: tuple(v.shape) for k, v in dataset.element_spec.items()}
  assert shapes["input_ids"] == (BATCH, None)
  assert shapes["next_sentence_labels"] == (BATCH, 1)


def test_a_last_epoch_is_refused(records):
  with pytest.raises(ValueError, match=r"num_epochs \(1\) must be None"):
    read(records, 1, num_epochs=1)
