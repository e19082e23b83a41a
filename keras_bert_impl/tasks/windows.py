"""Sliding windows over texts that are longer than a row.

Where windows overlap, a piece is in several of them; the one in which it has
the most context counts. For training and, in the graph, for serving.

Axes: B texts, N pieces of all of them, W windows of all of them.

Source: google-research/bert, run_squad.py, doc spans.
"""

from typing import NamedTuple

import tensorflow as tf


class Windows(NamedTuple):
  """The windows of B texts, those of a text one after the other.

  Attributes:
    text_index: int64 [W], the text that each window is of.
    starts: int64 [W], its first piece, counted in the text.
    ends: int64 [W], the piece after its last one.
    is_cut: bool [B], whether the text goes on after its last window.
  """

  text_index: tf.Tensor
  starts: tf.Tensor
  ends: tf.Tensor
  is_cut: tf.Tensor

  def gather(self, pieces, starts=None):
    """Returns values of the pieces in each window, ragged [W, (pieces)].

    Args:
      pieces: RaggedTensor [B, (pieces)], something of each piece.
      starts: int64 [W], in place of the windows' own.
    """
    starts = self.starts if starts is None else starts
    offsets = tf.gather(pieces.row_starts(), self.text_index)
    places = tf.ragged.range(offsets + starts, offsets + self.ends)
    return tf.gather(pieces.flat_values, places)


def slide(lengths, sizes, stride, max_windows=None):
  """Returns windows that cover texts from their beginning on.

  Args:
    lengths: int64 [B], pieces of each text; none makes one empty window.
    sizes: int64 [B], most pieces of a window of each text, at least 1.
    stride: int >= 1, pieces from one window to the next; if it is above the
      size, the next begins where the last one ends.
    max_windows: int >= 1, most windows of a text, what they do not reach being
      left out; None: as many as it takes.

  Returns:
    `Windows`.
  """
  steps = tf.minimum(sizes, stride)
  beyond_first = tf.maximum(lengths - sizes, 0)
  counts = 1 + (beyond_first + steps - 1) // steps  # [B]
  kept = counts if max_windows is None else tf.minimum(counts, max_windows)
  text_index = tf.repeat(tf.range(tf.size(lengths, tf.int64)), kept)  # [W]
  numbers = tf.ragged.range(kept).flat_values
  starts = numbers * tf.gather(steps, text_index)
  ends = tf.minimum(
    starts + tf.gather(sizes, text_index), tf.gather(lengths, text_index)
  )
  return Windows(text_index, starts, ends, counts > kept)


def best_windows(windows, lengths):
  """Returns the window in which each piece has the most context.

  Context is the smaller of the pieces to the left and to the right, plus a
  hundredth of the window's length. Of equal windows the first counts.

  Args:
    windows: `Windows`.
    lengths: int64 [B], as `slide` got them.

  Returns:
    int64 RaggedTensor [B, (pieces)]: 0 <= window < W, of all texts; W for a
    piece that is in none.

  Source: google-research/bert, run_squad.py, _check_is_max_context.
  """
  num_windows = tf.size(windows.starts, tf.int64)
  num_pieces = tf.reduce_sum(lengths)
  places = tf.ragged.range(windows.starts, windows.ends)  # [W, (pieces)]
  window, place = places.value_rowids(), places.flat_values  # each [P]
  starts = tf.gather(windows.starts, window)
  ends = tf.gather(windows.ends, window)
  # float64, as in the original, so that ties break the same way.
  sides = tf.cast(tf.minimum(place - starts, ends - 1 - place), tf.float64)
  contexts = sides + 0.01 * tf.cast(ends - starts, tf.float64)
  offsets = tf.cumsum(lengths, exclusive=True)
  pieces = place + tf.gather(offsets, tf.gather(windows.text_index, window))
  most = tf.math.unsorted_segment_max(contexts, pieces, num_pieces)  # [N]
  # Of equal windows the first.
  first = tf.math.unsorted_segment_min(
    tf.where(contexts == tf.gather(most, pieces), window, num_windows),
    pieces,
    num_pieces,
  )
  return tf.RaggedTensor.from_row_lengths(
    tf.minimum(first, num_windows), lengths
  )
