"""Sliding windows over a sequence that is longer than a row.

Where windows overlap, a position is seen several times; what counts is the
window in which it has the most context.
"""

import numpy as np


def slide(length, size, stride):
  """Returns windows that cover all positions, in order.

  Args:
    length: int, positions of the sequence.
    size: int, most positions of a window.
    stride: int, from the start of a window to that of the next; if it is
      above `size`, the next begins where the last one ends.

  Returns:
    list of (start, end), `end` exclusive; one where all fits, and [(0, 0)] for
    an empty sequence.

  Raises:
    ValueError: if size or stride is not positive.

  Source: google-research/bert, run_squad.py, doc spans.
  """
  if size < 1 or stride < 1:
    raise ValueError(
      f"The size of a window ({size}) and its stride ({stride}) must be at "
      "least 1."
    )
  windows = [(0, min(size, length))]
  while windows[-1][1] < length:
    start = windows[-1][0] + min(size, stride)
    windows.append((start, min(start + size, length)))
  return windows


def best_windows(windows, length):
  """Returns the window in which each position has the most context.

  Context is the smaller of the positions to the left and to the right, plus a
  hundredth of the window's length. Of equal windows the first counts.

  Args:
    windows: list of (start, end) that cover all positions.
    length: int, positions of the sequence.

  Returns:
    int32 [length], indices into `windows`.

  Source: google-research/bert, run_squad.py, _check_is_max_context.
  """
  best = np.full([length], -1.0)
  index = np.zeros([length], np.int32)
  for window, (start, end) in enumerate(windows):
    left = np.arange(end - start)
    context = np.minimum(left, left[::-1]) + 0.01 * (end - start)
    is_better = context > best[start:end]
    best[start:end][is_better] = context[is_better]
    index[start:end][is_better] = window
  return index
