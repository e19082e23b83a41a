"""Chooses whole words to mask, for a whole batch in the graph.

Axes: B batch, L sequence length, P predictions per sequence; T the tokens and W
the words of a whole batch, without padding.
"""

import tensorflow as tf

from keras_bert_impl.tasks.masking import masked_tokens


def choose(
  is_special, continues, num_to_predict, max_predictions, num_columns, seed
):
  """Returns the positions of the pieces of words drawn in a random order.

  A word that would exceed the number is left out.

  Args:
    is_special: RaggedTensor bool [B, (n)], tokens that are not part of words.
    continues: RaggedTensor bool [B, (n)], pieces that continue a word.
    num_to_predict: int32 [B], tokens to choose.
    max_predictions: int, P.
    num_columns: int, L.
    seed: int32 [2].

  Returns:
    int32 [B, P], ascending, then L.
  """
  words = _words(is_special, continues)
  keys = masked_tokens.uniform(
    tf.shape(words["start"]), seed, minval=None, maxval=None, dtype=tf.int64
  )
  # Random key, position and length in one integer: one sort moves all three.
  keys = tf.bitwise.bitwise_and(keys, (2**31 - 1) * 2**32)
  keys += words["start"] * 2**16 + words["length"]  # [W]
  keys = tf.where(words["is_ordinary"], keys, -1)
  num_rows = is_special.shape[0]
  keys = tf.RaggedTensor.from_row_splits(
    keys, words["row_splits"], validate=False
  ).to_tensor(-1, shape=[num_rows, num_columns])  # [B, L]
  keys = tf.math.top_k(keys, num_columns).values
  start = tf.bitwise.bitwise_and(tf.bitwise.right_shift(keys, 16), 2**16 - 1)
  start = tf.cast(start, tf.int32)
  length = tf.cast(tf.bitwise.bitwise_and(keys, 2**16 - 1), tf.int32)
  length = tf.where(keys >= 0, length, 0)  # 0: no word
  length = _take_words(length, num_to_predict, 2 * max_predictions)  # [B, L]
  taken = tf.where(length > 0)  # [chosen words, 2]
  start = tf.gather_nd(start, taken)
  pieces = tf.ragged.range(start, start + tf.gather_nd(length, taken))
  positions = tf.RaggedTensor.from_row_lengths(
    pieces.values, tf.reduce_sum(length, axis=1), validate=False
  ).to_tensor(num_columns, shape=[num_rows, max_predictions])
  return masked_tokens.ascending(positions)


def _words(is_special, continues):
  """Returns the words of all rows, one after the other.

  Args:
    is_special: as `choose`.
    continues: as `choose`.

  Returns:
    dict of `start` int64 [W], the position of the word's first piece in its
    row; `length` int64 [W], its number of pieces; `is_ordinary` bool [W],
    false for special tokens, which are words of their own; `row_splits` int64
    [B + 1], the words' partition into rows.
  """
  special = is_special.values  # [T]
  position = tf.ragged.range(is_special.row_lengths()).values
  after_special = tf.concat([[True], special[:-1]], 0)[: tf.size(special)]
  begins = ~continues.values | after_special | (position == 0)  # [T]
  first = tf.where(begins)[:, 0]  # [W], index into T
  num_tokens = tf.size(special, out_type=tf.int64)
  end = tf.concat([first[1:], [num_tokens]], 0)[: tf.size(first)]
  words_before = tf.concat(
    [[0], tf.cumsum(tf.cast(begins, tf.int64))], 0
  )  # [T + 1]
  return {
    "start": tf.gather(position, first),
    "length": end - first,
    "is_ordinary": ~tf.gather(special, first),
    "row_splits": tf.gather(words_before, is_special.row_splits),
  }


def _take_words(length, budget, num_likely):
  """Takes words from the left and skips those that no longer fit.

  Args:
    length: int32 [B, W], pieces of the words in the order of taking; 0 = none.
    budget: int32 [B], pieces to take.
    num_likely: int, number of words that is nearly always enough.

  Returns:
    int32 [B, W], the pieces taken of each word: all or none; where no word of
    a row fits, `budget` pieces of its first one.
  """
  taken, remaining = _take_fitting(length[:, :num_likely], budget)
  # In nearly every batch nothing remains: this costs one condition.
  taken_later, remaining = _take_fitting(length[:, num_likely:], remaining)
  taken = tf.concat([taken, taken_later], axis=1)
  nothing = (remaining == budget)[:, tf.newaxis]  # [B, 1]
  first = tf.minimum(length[:, :1], budget[:, tf.newaxis])
  rest = tf.zeros_like(taken[:, 1:])
  return tf.where(nothing, tf.concat([first, rest], axis=1), taken)


def _take_fitting(length, budget):
  """Takes words as _take_words, without splitting one; returns the rest too.

  Args:
    length: int32 [B, W].
    budget: int32 [B].

  Returns:
    int32 [B, W], pieces taken of each word; int32 [B], pieces still to take.
  """

  def may_fit(length, remaining):
    return (length > 0) & (length <= remaining[:, tf.newaxis])

  def unfinished(open_length, remaining, unused_taken):
    return tf.reduce_any(may_fit(open_length, remaining))

  def take_until_one_does_not_fit(open_length, remaining, taken):
    # Words longer than the rest will never fit: dropping them lets the
    # cumulative sum run to the next that does not fit. Rows need about as many
    # rounds as there are different lengths.
    open_length = tf.where(may_fit(open_length, remaining), open_length, 0)
    reaches = tf.cumsum(open_length, axis=1)
    fits = reaches <= remaining[:, tf.newaxis]
    now = tf.where(fits, open_length, 0)
    return (
      open_length - now,
      remaining - tf.reduce_sum(now, axis=1),
      taken + now,
    )

  _, remaining, taken = tf.while_loop(
    unfinished,
    take_until_one_does_not_fit,
    (length, budget, tf.zeros_like(length)),
  )
  return taken, remaining
