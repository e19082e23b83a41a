"""Sliding windows over texts that are longer than a row.

Where windows overlap, a piece counts in the window that gives it the most
context. Training uses these functions eagerly, SavedModels in their graph.

Axes: B texts, N pieces of all of them, W windows of all of them.

Source: google-research/bert, run_squad.py, doc spans.
"""

from typing import NamedTuple

import tensorflow as tf

from keras_bert_impl.tokenizers.graph import alignment


class Windows(NamedTuple):
  """The windows of B texts, those of a text one after the other.

  Attributes:
    text_index: int64 [W], index of the text of each window.
    starts: int64 [W], position of its first piece in the text.
    ends: int64 [W], position after its last piece.
    is_cut: bool [B], whether the text continues after its last window.
  """

  text_index: tf.Tensor
  starts: tf.Tensor
  ends: tf.Tensor
  is_cut: tf.Tensor

  def gather(self, pieces, starts=None):
    """Returns the values of the pieces of each window, ragged [W, (pieces)].

    Args:
      pieces: RaggedTensor [B, (pieces)], one value per piece of each text.
      starts: int64 [W], first pieces to use instead of `self.starts`.
    """
    starts = self.starts if starts is None else starts
    offsets = tf.gather(pieces.row_starts(), self.text_index)
    places = tf.ragged.range(offsets + starts, offsets + self.ends)
    return tf.gather(pieces.flat_values, places)


def slide(lengths, sizes, stride, max_windows=None):
  """Returns the sliding windows over each text.

  Args:
    lengths: int64 [B], pieces of each text; an empty text gets one empty
      window.
    sizes: int64 [B], maximum number of pieces of a window of each text, >= 1.
    stride: int >= 1, pieces from one window to the next; windows touch but do
      not overlap if it is at least the size.
    max_windows: int >= 1, maximum number of windows per text, which drops the
      rest of longer texts; None for no limit.

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

  Context is the smaller of the numbers of pieces to the left and to the right,
  plus 0.01 times the length of the window. Ties go to the first window.

  Args:
    windows: `Windows`.
    lengths: int64 [B], pieces of each text, as for `slide`.

  Returns:
    (best, is_best): int64 RaggedTensor [B, (pieces)], index of the window among
    those of all texts, 0 <= index < W, W for a piece that no window contains;
    bool RaggedTensor [W, (pieces)], the same seen from the windows: whether
    this one is the best for the piece.

  Source: google-research/bert, run_squad.py, _check_is_max_context.
  """
  num_windows = tf.size(windows.starts, tf.int64)
  num_pieces = tf.reduce_sum(lengths)
  sizes = windows.ends - windows.starts  # [W]
  left = tf.ragged.range(sizes)  # [W, (pieces)]
  right = tf.ragged.range(sizes - 1, -1, -1)
  window = tf.cast(alignment.rows_of(left), tf.int64)  # [P]
  # float64, as in the original, so that ties break the same way.
  sides = tf.cast(tf.minimum(left.flat_values, right.flat_values), tf.float64)
  contexts = sides + tf.gather(0.01 * tf.cast(sizes, tf.float64), window)
  offsets = tf.gather(tf.cumsum(lengths, exclusive=True), windows.text_index)
  pieces = tf.ragged.range(
    offsets + windows.starts, offsets + windows.ends
  ).flat_values
  most = tf.math.unsorted_segment_max(contexts, pieces, num_pieces)  # [N]
  # Ties go to the first window.
  first = tf.math.unsorted_segment_min(
    tf.where(contexts == tf.gather(most, pieces), window, num_windows),
    pieces,
    num_pieces,
  )
  best = tf.RaggedTensor.from_row_lengths(
    tf.minimum(first, num_windows), lengths
  )
  return best, left.with_flat_values(tf.gather(first, pieces) == window)
