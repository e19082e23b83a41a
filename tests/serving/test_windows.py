"""Windows in the graph against those of the tasks."""

import random

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl.serving import windows
from keras_bert_impl.tasks import windows as task_windows

ALL = 10_000


def int64(values):
  return tf.constant(values, tf.int64)


def spans_of(found, text):
  is_of_text = found.text_index.numpy() == text
  return list(
    zip(
      found.starts.numpy()[is_of_text].tolist(),
      found.ends.numpy()[is_of_text].tolist(),
    )
  )


def random_case(rng):
  count = rng.randrange(0, 6)
  lengths = [rng.choice([0, 1, rng.randrange(400)]) for _ in range(count)]
  sizes = [rng.randrange(1, 320) for _ in range(count)]
  return lengths, sizes, rng.randrange(1, 150)


def test_windows_and_contexts_are_those_of_the_tasks():
  rng = random.Random(0)
  for _ in range(25):
    lengths, sizes, stride = random_case(rng)
    found = windows.slide(int64(lengths), int64(sizes), stride, ALL)
    best = windows.best_windows(found, int64(lengths))
    assert not found.is_cut.numpy().any()
    before = 0
    for text, (length, size) in enumerate(zip(lengths, sizes)):
      expected = task_windows.slide(length, size, stride)
      assert spans_of(found, text) == expected
      np.testing.assert_array_equal(
        best[text].numpy() - before,
        task_windows.best_windows(expected, length),
      )
      before += len(expected)
    assert len(found.text_index) == before


def test_no_text_has_more_windows_than_it_may():
  lengths = int64([10, 11, 4])
  found = windows.slide(lengths, int64([4, 4, 4]), 3, max_windows=3)
  assert spans_of(found, 0) == [(0, 4), (3, 7), (6, 10)]
  assert spans_of(found, 1) == [(0, 4), (3, 7), (6, 10)]
  assert spans_of(found, 2) == [(0, 4)]
  assert found.is_cut.numpy().tolist() == [False, True, False]
  best = windows.best_windows(found, lengths)
  # Of the seven windows none has the last piece.
  assert best[1].numpy().tolist() == [3, 3, 3, 3, 4, 4, 4, 5, 5, 5, 7]
  assert best[2].numpy().tolist() == [6] * 4


def test_windows_hold_what_stands_in_the_texts():
  pieces = tf.ragged.constant([[1, 2, 3, 4, 5], [], [6, 7]], dtype=tf.int32)
  found = windows.slide(pieces.row_lengths(), int64([3, 3, 3]), 2, ALL)
  assert found.gather(pieces).to_list() == [[1, 2, 3], [3, 4, 5], [], [6, 7]]
  starts = tf.maximum(found.starts - 1, 0)
  assert found.gather(pieces, starts).to_list()[1] == [2, 3, 4, 5]


def test_what_makes_windows_is_positive():
  windows.check_positive(doc_stride=1, max_windows=2)
  with pytest.raises(ValueError, match=r"max_windows \(0\) must be positive"):
    windows.check_positive(doc_stride=1, max_windows=0)
