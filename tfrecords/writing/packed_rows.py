"""Packs several texts into the rows of a training."""

import bisect


def fill(texts, room, rng):
  """Returns rows of texts that leave little room.

  Best fit, the longest text first: each goes into the row that it leaves the
  least room in, or begins a row. The rows are shuffled then.

  Args:
    texts: list of Instance, in random order.
    room: int, most tokens of a row; no text is longer.
    rng: random.Random.

  Returns:
    list of lists of Instance.
  """
  rows = []
  free = []  # (tokens that fit, row), ascending
  for text in sorted(texts, key=lambda text: -text.num_tokens):
    best = bisect.bisect_left(free, (text.num_tokens,))
    if best == len(free):
      free.append((room, len(rows)))
      rows.append([])
    left, row = free.pop(best)
    rows[row].append(text)
    bisect.insort(free, (left - text.num_tokens, row))
  rng.shuffle(rows)
  return rows
