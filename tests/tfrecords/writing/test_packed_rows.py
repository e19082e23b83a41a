import random

from tfrecords.writing import instances, packed_rows


def texts_of(lengths):
  """Returns instances of these numbers of tokens, all different."""
  return [
    instances.Instance(((1000 * k, 1000 * k + length - 2),))
    for k, length in enumerate(lengths)
  ]


def fill(lengths, room, seed=1):
  return packed_rows.fill(texts_of(lengths), room, random.Random(seed))


def test_each_text_goes_where_it_leaves_the_least_room():
  rows = fill([4, 10, 7, 3, 6], 10)
  lengths = sorted([text.num_tokens for text in row] for row in rows)
  assert lengths == [[6, 4], [7, 3], [10]]


def test_every_text_is_in_one_row_and_no_row_is_too_long():
  rng = random.Random(0)
  lengths = [rng.randint(3, 64) for _ in range(500)]
  rows = fill(lengths, 64)
  assert sorted(t for row in rows for t in row) == texts_of(lengths)
  assert max(sum(t.num_tokens for t in row) for row in rows) <= 64


def test_short_documents_leave_less_than_two_percent_of_padding():
  rng = random.Random(0)
  for mean in (20, 120, 250):
    lengths = [
      min(max(round(rng.expovariate(1 / mean)), 3), 512) for _ in range(3000)
    ]
    rows = fill(lengths, 512)
    assert 1 - sum(lengths) / (512 * len(rows)) < 0.02, mean


def test_rows_are_in_random_order_the_same_for_a_seed():
  lengths = [64, 32, 32, 60, 16] * 20
  rows = fill(lengths, 64)
  assert rows == fill(lengths, 64) != fill(lengths, 64, seed=2)
  firsts = [row[0].num_tokens for row in rows]
  assert firsts != sorted(firsts, reverse=True)


def test_no_text_makes_no_row():
  assert fill([], 64) == []
