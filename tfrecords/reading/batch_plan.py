"""Plans which records make up which batch, without opening files.

The records of some files are cut into *lanes*, stretches of equal size, and
every lane gives the same number of rows to every batch. A lane has epochs and
an order of its own, so that a worker that needs some rows of each batch reads
only the files of its lanes. The number of lanes, and so the batches, depends on
the files and the size of the batch, not on the number of workers.
"""

import dataclasses
import itertools

_MIN_ROWS = 64  # of a lane in a batch; 32 would take a third more time each
_MAX_LANES = 64


@dataclasses.dataclass(frozen=True)
class Segment:
  """`count` records of a file, from record `start` on."""

  file: str
  start: int
  count: int


@dataclasses.dataclass(frozen=True)
class Plan:
  """The lanes and rows to read for one of the equal parts of every batch.

  The rows of a batch are those of its lanes, one lane after the other.

  Attributes:
    num_lanes: int, lanes that the records are cut into.
    rows_of_lane: int, rows of each lane in a batch.
    first_lane: int, the first of the lanes that the part lies in.
    num_read: int, lanes that it lies in.
    skipped_rows: int, rows of these lanes that come before the part.
    rows_of_part: int, rows of the part.
  """

  num_lanes: int
  rows_of_lane: int
  first_lane: int
  num_read: int
  skipped_rows: int
  rows_of_part: int


def plan_part(num_lanes, batch_size, part=0, num_parts=1):
  """Returns the Plan of a part.

  Args:
    num_lanes: int, a divisor of `batch_size`.
    batch_size: int, rows of a batch.
    part: int, below `num_parts`.
    num_parts: int, a divisor of `batch_size`.
  """
  rows_of_lane, rows_of_part = batch_size // num_lanes, batch_size // num_parts
  first_lane, skipped_rows = divmod(part * rows_of_part, rows_of_lane)
  return Plan(
    num_lanes,
    rows_of_lane,
    first_lane,
    -(-(skipped_rows + rows_of_part) // rows_of_lane),
    skipped_rows,
    rows_of_part,
  )


def choose_num_lanes(segments, batch_size):
  """Returns the number of lanes for batches of a size.

  The largest divisor of `batch_size` that leaves every lane a file and 64 rows
  of a batch, and is at most 64.
  """
  num_files = len({segment.file for segment in segments if segment.count})
  most = max(min(num_files, batch_size // _MIN_ROWS, _MAX_LANES), 1)
  return max(n for n in range(1, most + 1) if batch_size % n == 0)


def cut_into_lanes(segments, num_lanes):
  """Returns the segments of each lane, a list of lists of Segment.

  Args:
    segments: sequence of Segment.
    num_lanes: int, at most the number of records.
  """
  total = sum(segment.count for segment in segments)
  bounds = [lane * total // num_lanes for lane in range(num_lanes + 1)]
  return [list(_stretch(segments, *x)) for x in itertools.pairwise(bounds)]


def _stretch(segments, first, end):
  """Yields the segments of records [first, end), counted over all segments."""
  for segment in segments:
    low, high = max(first, 0), min(end, segment.count)
    if low < high:
      yield Segment(segment.file, segment.start + low, high - low)
    first, end = first - segment.count, end - segment.count
