"""Lanes and parts of batches, as arithmetic."""

import pytest

from tfrecords.reading import batch_plan


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
  segments = [batch_plan.Segment(str(k), 0, n) for k, n in enumerate(counts)]
  assert batch_plan.choose_num_lanes(segments, batch_size) == number


def test_lanes_are_equal_stretches_to_a_record():
  segments = [batch_plan.Segment("a", 2, 7), batch_plan.Segment("b", 0, 4)]
  assert batch_plan.cut_into_lanes(segments, 3) == [
    [batch_plan.Segment("a", 2, 3)],
    [batch_plan.Segment("a", 5, 4)],
    [batch_plan.Segment("b", 0, 4)],
  ]
  assert batch_plan.cut_into_lanes(segments, 2) == [
    [batch_plan.Segment("a", 2, 5)],
    [batch_plan.Segment("a", 7, 2), batch_plan.Segment("b", 0, 4)],
  ]


@pytest.mark.parametrize("num_lanes", [1, 2, 3, 4, 6, 12])
@pytest.mark.parametrize("num_parts", [1, 2, 3, 4, 8, 24])
def test_the_parts_of_a_batch_are_all_of_its_rows(num_lanes, num_parts):
  rows = []
  for part in range(num_parts):
    made = batch_plan.plan_part(num_lanes, 24, part, num_parts)
    first = made.first_lane * made.rows_of_lane
    read = range(first, first + made.num_read * made.rows_of_lane)
    rows += read[made.skipped_rows : made.skipped_rows + made.rows_of_part]
    # And no lane is read for nothing.
    assert made.skipped_rows < made.rows_of_lane
    assert rows[-1] >= read[-1] - made.rows_of_lane + 1
  assert rows == list(range(24))
