"""Windows as run_squad.py of google-research/bert has them."""

import random

import pytest

from keras_bert_impl.tasks import windows


def test_what_fits_is_one_window():
  assert windows.slide(7, 7, 3) == [(0, 7)]
  assert windows.slide(1, 7, 3) == [(0, 1)]
  assert windows.slide(0, 7, 3) == [(0, 0)]


def test_the_next_window_begins_a_stride_further_on():
  assert windows.slide(10, 4, 3) == [(0, 4), (3, 7), (6, 10)]
  assert windows.slide(11, 4, 3) == [(0, 4), (3, 7), (6, 10), (9, 11)]


def test_a_stride_above_the_size_leaves_no_gap():
  assert windows.slide(10, 4, 9) == [(0, 4), (4, 8), (8, 10)]


@pytest.mark.parametrize("size, stride", [(0, 1), (1, 0), (4, -2)])
def test_windows_that_do_not_advance_are_refused(size, stride):
  with pytest.raises(ValueError, match=rf"\({size}\) .* \({stride}\)"):
    windows.slide(10, size, stride)


def test_a_position_belongs_to_the_window_with_the_most_context():
  # The example of the original: "bought" has 1 word of context to its right
  # in B = (3, 8) and 3 to its left in C = (6, 11).
  spans = [(0, 5), (3, 8), (6, 11)]
  assert windows.best_windows(spans, 11).tolist() == [
    *(0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2),
  ]


def test_of_equal_contexts_the_longer_then_the_first_wins():
  assert windows.best_windows([(0, 4), (2, 6)], 6)[2:4].tolist() == [0, 1]
  assert windows.best_windows([(0, 3), (2, 6)], 6)[2] == 1
  assert windows.best_windows([(0, 3), (0, 3)], 3).tolist() == [0, 0, 0]


def _original_best(spans, position):
  """The rule in the original's words, for one position."""
  scores = [
    min(position - start, end - 1 - position) + 0.01 * (end - start)
    if start <= position < end
    else -1.0
    for start, end in spans
  ]
  return scores.index(max(scores))


def test_all_positions_agree_with_the_rule_said_one_by_one():
  rng = random.Random(0)
  for _ in range(200):
    length, size = rng.randrange(1, 60), rng.randrange(1, 20)
    spans = windows.slide(length, size, rng.randrange(1, 25))
    covered = {p for start, end in spans for p in range(start, end)}
    assert covered == set(range(length))
    assert all(end - start <= size for start, end in spans)
    assert windows.best_windows(spans, length).tolist() == [
      _original_best(spans, position) for position in range(length)
    ]
