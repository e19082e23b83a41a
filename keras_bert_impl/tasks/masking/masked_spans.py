"""Chooses spans of whole words to mask, for a whole batch in the graph.

Axes: B batch, L sequence length, P predictions per sequence.
"""

import numpy as np
import tensorflow as tf

from keras_bert_impl.tasks.masking import masked_tokens


def ngram_shares(longest=3):
  """Returns float64 [longest], the shares of 1, 2, ... words: as 1/n.

  Source: Lan et al. 2020, section 4.1.
  """
  weights = 1.0 / np.arange(1, longest + 1)
  return weights / weights.sum()


def geometric_shares(p=0.2, longest=10):
  """Returns float64 [longest], the shares of 1, 2, ... words.

  The geometric distribution, cut off after `longest` words and normalised: 3.8
  words on average.

  Source: Joshi et al. 2020, section 3.1.
  """
  weights = p * (1.0 - p) ** np.arange(longest)
  return weights / weights.sum()


def choose(begins, is_ordinary, budget, shares, max_spans, seed):
  """Returns bool [B, L]: the tokens of spans chosen at random in each row.

  Each round adds a span to every row. Its number of words is drawn by `shares`,
  its place uniformly among the places with enough room: ordinary words that fit
  into the remaining budget and do not touch an earlier span. If no place has
  enough room, the span gets fewer words. A row is finished when no word has
  room.

  If not a single word fits, the first pieces of one are chosen.

  Args:
    begins: bool [B, L], true for the first piece of a word; each token that is
      not ordinary is a word.
    is_ordinary: bool [B, L], whether a token may be chosen.
    budget: int32 [B], tokens to choose, at least 1.
    shares: float [N], probabilities of 1, 2, ..., N words.
    max_spans: int, most spans of a row.
    seed: int32 [2].
  """
  num_columns = begins.shape[1]
  column = tf.range(num_columns)[tf.newaxis]  # [1, L]
  word_here = tf.cumsum(tf.cast(begins, tf.int32), axis=1)  # [B, L]
  word = tf.concat([word_here, word_here[:, -1:] + 1], axis=1)  # [B, L + 1]
  shape = [tf.shape(begins)[0], max_spans]
  length_seed, place_seed = masked_tokens.split(seed)
  lengths = _draw_lengths(shape, shares, length_seed)
  places = masked_tokens.uniform(shape, place_seed)

  # The latest end of a span that starts here, or this position if none can
  # start here.
  limit = tf.where(begins, _next_true(~is_ordinary), column)

  def add_a_span(index, limit, remaining, chosen, unused_unfinished):
    end = tf.minimum(limit, column + remaining)
    reach = tf.gather(word, end, batch_dims=1) - word_here  # whole words
    reach = tf.minimum(reach, lengths[:, index, tf.newaxis])
    num_words = tf.reduce_max(reach, axis=1, keepdims=True)  # [B, 1]
    start = _draw_place(
      reach == tf.maximum(num_words, 1), places[:, index, tf.newaxis]
    )
    first = tf.gather(word, start, batch_dims=1)
    before, stop, after = _bounds(word, first, num_words)
    limit = tf.where(
      column < before,
      tf.minimum(limit, before),
      tf.where(column < after, column, limit),
    )
    remaining -= stop - start
    chosen |= (column >= start) & (column < stop)
    unfinished = tf.reduce_any((stop > start) & (remaining > 0))
    return index + 1, limit, remaining, chosen, unfinished

  _, _, remaining, chosen, _ = tf.while_loop(
    lambda *state: state[-1],
    add_a_span,
    (
      0,
      limit,
      budget[:, tf.newaxis],
      tf.zeros_like(begins),
      True,
    ),
    maximum_iterations=max_spans,
  )
  start = _draw_place(begins & is_ordinary, places[:, :1])
  pieces = _leading_pieces(word_here, word, start, budget[:, tf.newaxis])
  return chosen | (pieces & (remaining == budget[:, tf.newaxis]))


def _bounds(word, first, num_words):
  """Returns the bounds of a span and of its neighbouring words.

  Args:
    word: int32 [B, L + 1], the number of the word at each position, ascending.
    first: int32 [B, 1], the first word of the span.
    num_words: int32 [B, 1], words of the span.

  Returns:
    int32 [B, 1] each: the start of the word before the span, the end of the
    span, and the end of the word after it, both exclusive.
  """
  bounds = tf.searchsorted(
    word,
    tf.concat([first - 1, first + num_words, first + num_words + 1], axis=1),
  )
  return tf.split(bounds, 3, axis=1)


def _leading_pieces(word_here, word, start, number):
  """Returns bool [B, L]: the first `number` [B, 1] pieces of a word."""
  column = tf.range(word_here.shape[1])[tf.newaxis]  # [1, L]
  pieces = (column >= start) & (column < start + number)
  return pieces & (word_here == tf.gather(word, start, batch_dims=1))


def find(flags, rank):
  """Returns int32 [B, K]: the position of the `rank`-th true of each row.

  Args:
    flags: bool [B, L].
    rank: int32 [B, K], counted from 1; L where there are fewer.
  """
  return tf.searchsorted(tf.cumsum(tf.cast(flags, tf.int32), axis=1), rank)


def runs(positions, is_prediction):
  """Returns the run of consecutive positions around each prediction.

  Args:
    positions: int32 [B, P], ascending where they are predictions.
    is_prediction: bool [B, P].

  Returns:
    int32 [B, P], [B, P]: index of the first and of the last prediction of the
    same run; undefined where there is no prediction.
  """
  # Equal within a run, greater from run to run.
  offset = positions - tf.range(positions.shape[1])[tf.newaxis]
  offset = tf.where(is_prediction, offset, tf.int32.max)
  first = tf.searchsorted(offset, offset, side="left")
  return first, tf.searchsorted(offset, offset, side="right") - 1


def _draw_lengths(shape, shares, seed):
  """Returns int32 of `shape`, numbers of words drawn by `shares`."""
  uniform = masked_tokens.uniform(shape, seed)
  bounds = np.cumsum(shares)[:-1].astype(np.float32)
  flat = tf.searchsorted(bounds, tf.reshape(uniform, [-1]), side="right")
  return tf.reshape(flat, shape) + 1


def _draw_place(flags, uniform):
  """Returns int32 [B, 1]: one of the true positions of each row, L if none.

  Args:
    flags: bool [B, L].
    uniform: float32 [B, 1] in [0, 1), decides which.
  """
  num_columns = flags.shape[1]
  count = tf.reduce_sum(tf.cast(flags, tf.float32), axis=1, keepdims=True)
  rank = tf.cast(uniform * count, tf.int32)
  # Takes half the time of `find`, because it sums nothing along the rows.
  index = tf.where(tf.reshape(flags, [-1]))[:, 0]  # into B * L
  index = tf.concat([tf.cast(index, tf.int32), [0]], axis=0)
  row_start = tf.cumsum(tf.cast(count, tf.int32), axis=0, exclusive=True)
  position = tf.gather(index, row_start + rank) % num_columns
  return tf.where(count > 0, position, num_columns)


def _next_true(flags):
  """Returns int32 [B, L]: the first true position from each one on, or L."""
  before = tf.cumsum(tf.cast(flags, tf.int32), axis=1, exclusive=True)
  return find(flags, before + 1)
