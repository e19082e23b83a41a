"""Batches by length: every row as often as it should, little padding."""

import collections
import itertools

import numpy as np
import pytest

from keras_bert_impl.tasks.basics import fine_tuning
from tfrecords import lengths as lengths_lib
from tfrecords.labelled import length_batches, row_files

COLUMNS = {
  "input_ids": fine_tuning.Column(),
  "tags": fine_tuning.Column(padding=-1),
  "label_ids": fine_tuning.Column("int32", ()),
  "offsets": fine_tuning.Column(in_batch=False),
}


def make_rows(lengths, columns=COLUMNS, first=0):
  """Rows whose ids are all their own number (from 1)."""
  splits = np.concatenate([[0], np.cumsum(lengths)])
  numbers = np.arange(1, len(lengths) + 1, dtype=np.int32) + first
  values = {
    name: np.repeat(numbers, lengths) if column.shape else numbers
    for name, column in columns.items()
  }
  return row_files.Rows(columns, values, splits)


def take(dataset, number):
  return [
    {name: x.numpy() for name, x in batch.items()}
    for batch in itertools.islice(dataset, number)
  ]


def numbers(batches):
  return np.concatenate([batch["label_ids"] for batch in batches])


@pytest.fixture
def lengths():
  return np.random.default_rng(0).integers(3, 60, size=230)


STEPS = lengths_lib.padded_lengths(64)


def train(rows, number, batch_size=23, seed=1, steps=STEPS, start=0):
  dataset = length_batches.training_batches(
    [(rows, 9)], batch_size, seed, steps, start
  )
  return take(dataset, number)


@pytest.mark.parametrize(
  "steps, batch_size, number, times",
  [
    ((64,), 23, 10, {1}),
    (STEPS, 23, 30, {3}),
    # Five epochs and two of the rows of a sixth.
    (STEPS, 32, 36, {4, 5, 6}),
  ],
)
def test_an_epoch_has_every_row_once(lengths, steps, batch_size, number, times):
  batches = train(make_rows(lengths), number, batch_size, steps=steps)
  counts = collections.Counter(numbers(batches).tolist())
  assert len(counts) == 230
  assert sum(counts.values()) == number * batch_size
  assert set(counts.values()) <= times


def test_an_epoch_has_its_share_of_each_group(lengths):
  groups = [(np.arange(30), 130), (np.arange(30, 230), 100)]
  groups.append((np.arange(3), 0))  # Its share is less than a row.
  dataset = length_batches.training_batches(
    [(make_rows(lengths), 9)], 23, 1, STEPS, groups_of=lambda rows: groups
  )
  batches = take(dataset, 20)  # Two epochs of 10 batches.
  found = numbers(batches) - 1
  assert np.sum(found < 30) == 260
  counts = collections.Counter(found.tolist())
  assert set(counts.values()) == {1, 8, 9}
  assert sum(counts[k] == 1 for k in range(30, 230)) == 200
  again = length_batches.training_batches(
    [(make_rows(lengths), 9)], 23, 1, STEPS, 7, groups_of=lambda rows: groups
  )
  np.testing.assert_array_equal(numbers(take(again, 13)) - 1, found[7 * 23 :])


def test_fewer_rows_than_a_batch_are_repeated():
  [batch] = train(make_rows([4, 5, 6]), 1, batch_size=7, steps=(8,))
  assert set(batch["label_ids"].tolist()) == {1, 2, 3}


def test_a_batch_is_a_function_of_seed_and_step_alone(lengths):
  rows = make_rows(lengths)
  whole = train(rows, 31, batch_size=16)
  for start in (1, 29):
    again = train(rows, 31 - start, batch_size=16, start=start)
    for batch, before in zip(again, whole[start:], strict=True):
      for name, values in before.items():
        np.testing.assert_array_equal(batch[name], values)
  other = train(rows, 5, batch_size=16, seed=2)
  assert not np.array_equal(numbers(other), numbers(whole[:5]))


def test_batches_of_about_the_same_length_have_little_padding(lengths):
  shares = {}
  for by_length in (True, False):
    steps = lengths_lib.padded_lengths(128, by_length)
    batches = train(make_rows(lengths), 30, steps=steps)
    masks = np.concatenate([batch["input_mask"].ravel() for batch in batches])
    shares[by_length] = 1 - masks.mean()
  assert shares[True] < 0.2
  assert shares[False] > 0.7
  # And not in the order of their lengths.
  batches = train(make_rows(lengths), 10)
  found = [batch["input_ids"].shape[1] for batch in batches]
  assert found != sorted(found)
  assert len(set(found)) > 3


def test_rows_that_are_compared_come_in_any_order(lengths):
  rows, form = make_rows(lengths), length_batches.Form(sorts=False)
  arguments = ([(rows, 9)], 23, 1)
  batches = take(
    length_batches.training_batches(*arguments, STEPS, form=form), 10
  )
  fixed = take(length_batches.training_batches(*arguments, (64,)), 10)
  np.testing.assert_array_equal(numbers(batches), numbers(fixed))
  for batch in batches:  # Each is as long as its longest row.
    longest = batch["input_mask"].sum(axis=1).max()
    length = min(each for each in STEPS if each >= longest)
    assert batch["input_ids"].shape[1] == length


def test_a_row_is_padded_as_its_column_says():
  rows = make_rows([2, 3])
  dataset, order = length_batches.evaluation_batches(rows, 3, (4,))
  [batch] = take(dataset, 1)
  assert order.tolist() == [0, 1]
  assert batch["input_ids"].tolist() == [[1, 1, 0, 0], [2, 2, 2, 0], [0] * 4]
  assert batch["tags"].tolist() == [[1, 1, -1, -1], [2, 2, 2, -1], [-1] * 4]
  assert batch["input_mask"].tolist() == [[1, 1, 0, 0], [1, 1, 1, 0], [0] * 4]
  assert batch["label_ids"].tolist() == [1, 2, 0]
  assert "offsets" not in batch


def test_choices_come_in_front_of_the_length():
  column = fine_tuning.Column("int32", (None, 2), is_transposed=True)
  columns = {"input_ids": column, "input_mask": column}
  values = {
    "input_ids": np.array([[1, 5], [2, 6], [3, 0]], np.int32),
    "input_mask": np.array([[1, 1], [1, 1], [1, 0]], np.int32),
  }
  rows = row_files.Rows(columns, values, np.array([0, 3]))
  dataset, _ = length_batches.evaluation_batches(rows, 1, (4,))
  [batch] = take(dataset, 1)
  assert batch["input_ids"].tolist() == [[[1, 2, 3, 0], [5, 6, 0, 0]]]
  assert batch["input_mask"].tolist() == [[[1, 1, 1, 0], [1, 1, 0, 0]]]


def test_columns_of_a_fixed_size_are_not_padded_to_the_length():
  columns = {
    "input_ids": fine_tuning.Column(),
    "marks": fine_tuning.Column(shape=(2,)),
  }
  values = {
    "input_ids": np.array([1, 2, 2], np.int32),
    "marks": np.array([[1, 0], [1, 1]], np.int32),
  }
  rows = row_files.Rows(columns, values, np.array([0, 1, 3]))
  dataset, _ = length_batches.evaluation_batches(rows, 3, (4,))
  [batch] = take(dataset, 1)
  assert batch["marks"].tolist() == [[1, 0], [1, 1], [0, 0]]


def test_evaluation_reads_every_row_once_and_says_which(lengths):
  dataset, order = length_batches.evaluation_batches(
    make_rows(lengths), 32, STEPS
  )
  batches = take(dataset, None)
  assert len(batches) == 8
  found = numbers(batches)
  np.testing.assert_array_equal(found[:230], order + 1)
  assert set(found[230:]) == {0}
  # Or the selected ones.
  rows = make_rows(lengths)
  dataset, order = length_batches.evaluation_batches(
    rows, 2, (64,), selected=np.array([7, 3, 11])
  )
  assert sorted(order.tolist()) == [3, 7, 11]
  assert np.all(np.diff(rows.lengths[order]) >= 0)
  assert numbers(take(dataset, None)).tolist() == [*(order + 1), 0]


def test_rows_may_share_the_values_of_a_column():
  values = np.arange(10, dtype=np.float32).reshape(5, 1, 2)
  rows = make_rows([2, 3, 2]).with_column(
    "hidden_states",
    fine_tuning.Column("float32", (None, 1, 2)),
    row_files.Ragged(values, np.array([3, 0, 3]), np.array([2, 3, 2])),
  )
  dataset, order = length_batches.evaluation_batches(rows, 3, (4,))
  [batch] = take(dataset, 1)
  assert order.tolist() == [0, 2, 1]
  found = batch["hidden_states"]
  assert found.shape == (3, 4, 1, 2)
  np.testing.assert_array_equal(found[0], found[1])
  assert found[0].ravel().tolist() == [6, 7, 8, 9, 0, 0, 0, 0]
  assert found[2].ravel().tolist() == [0, 1, 2, 3, 4, 5, 0, 0]


def test_stages_follow_each_other_and_the_last_goes_on():
  stages = [(make_rows([4] * 6), 2), (make_rows([4] * 5, first=100), 1)]
  steps = lengths_lib.padded_lengths(8)
  batches = take(length_batches.training_batches(stages, 3, 1, steps), 6)
  assert all(numbers(batches[:2]) <= 100)
  assert all(numbers(batches[2:]) > 100)
  again = take(length_batches.training_batches(stages, 3, 1, steps, 3), 3)
  np.testing.assert_array_equal(numbers(again), numbers(batches[3:]))
