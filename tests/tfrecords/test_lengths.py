"""Padded lengths of batches, and their pools."""

import itertools

from tfrecords import lengths


def test_lengths_rise_to_the_longest():
  assert lengths.padded_lengths(512, by_length=False) == (512,)
  steps = lengths.padded_lengths(512)
  assert steps[-1] == 512
  assert len(steps) == 32
  # A row longer than 64 has at most an eighth of padding.
  pairs = [(a, b) for a, b in itertools.pairwise(steps) if a >= 64]
  assert all(b - a <= b / 8 for a, b in pairs)


def test_lengths_end_with_a_limit_that_is_no_step():
  assert lengths.padded_lengths(20) == (8, 16, 20)
  assert lengths.padded_lengths(5) == (5,)


def test_a_pool_is_no_larger_than_an_epoch():
  assert lengths.pool_batches(10**6, 32) == 50
  assert lengths.pool_batches(330, 32) == 10
  assert lengths.pool_batches(3, 32) == 1
