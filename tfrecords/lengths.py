"""Lengths of batches whose rows are of about the same length.

Rows are drawn in random order; then, within a pool of some batches, they are
sorted by length, cut into batches and the batches shuffled. A batch is padded
to the shortest of `padded_lengths` that fits, so there are few shapes to
compile.

Standard library only.
"""

_POOL_BATCHES = 50
_SHORTEST = 8


def padded_lengths(max_seq_length, by_length=True):
  """Returns the lengths of batches, ascending tuple of int.

  Eight steps from each power of two to the next: at most an eighth of the
  longest row is padding, and there are 24 shapes up to 512.

  Args:
    max_seq_length: int, the last of them.
    by_length: bool, whether there are any others.
  """
  if not by_length:
    return (max_seq_length,)
  lengths, length = [], _SHORTEST
  while length < max_seq_length:
    lengths.append(length)
    length += max(8, 1 << (length.bit_length() - 4))
  return (*lengths, max_seq_length)


def pool_batches(num_rows, batch_size):
  """Returns the number of batches of a pool, at most an epoch of rows."""
  return max(1, min(_POOL_BATCHES, num_rows // batch_size))
