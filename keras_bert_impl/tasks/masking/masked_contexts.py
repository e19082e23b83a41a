"""Chooses spans to predict, each in a context of its own, for a whole batch.

Axes: B batch, L sequence length, S most spans of a row.
"""

import numpy as np
import tensorflow as tf

from keras_bert_impl.tasks.masking import masked_spans, masked_tokens

_MOST_WORDS = 5


def choose(begins, is_ordinary, share, num_to_predict, max_predictions, seed):
  """Returns the positions of spans chosen at random in each row.

  A row is a sequence of contexts. Of each, n words are chosen, at a random
  place; it has n / `share` words. n is 1 to 5, with a probability proportional
  to 1/n. The last tokens are left out where these are too many; where they are
  too few, single tokens are chosen too.

  Args:
    begins: bool [B, L], true for the first piece of a word; each token that is
      not ordinary is a word.
    is_ordinary: bool [B, L], whether a token may be chosen.
    share: float, words of a span divided by those of its context; 1/K.
    num_to_predict: int32 [B], tokens to choose; all if there are fewer.
    max_predictions: int, P.
    seed: int32 [2].

  Returns:
    int32 [B, P], ascending, then L.

  Source: Yang et al. 2019, section 3.1 (K = 6); zihangdai/xlnet, data_utils.py,
  _sample_mask. Differs from it: contexts are measured in words, not in tokens,
  and what may not be chosen counts as a word.
  """
  length = begins.shape[1]
  span_seed, other_seed = masked_tokens.split(seed)
  in_span = _in_spans(begins, share, span_seed)
  column = tf.range(length, dtype=tf.float32) / length
  other = masked_tokens.uniform(tf.shape(begins), other_seed)
  rank = tf.where(in_span, column, 1.0 + other)  # the lowest are chosen
  rank = tf.where(is_ordinary, rank, 3.0)
  found = tf.math.top_k(-rank, min(max_predictions, length))
  is_chosen = tf.range(found.indices.shape[1]) < num_to_predict[:, tf.newaxis]
  is_chosen &= found.values > -3.0
  positions = tf.where(is_chosen, found.indices, length)
  missing = max_predictions - found.indices.shape[1]
  positions = tf.pad(positions, [[0, 0], [0, missing]], constant_values=length)
  return masked_tokens.ascending(positions)


def _in_spans(begins, share, seed):
  """Returns bool [B, L], the tokens of the spans of all contexts."""
  num_spans = max(1, int(np.ceil(begins.shape[1] * share)))  # S
  shape = [tf.shape(begins)[0], num_spans]
  words_seed, place_seed = masked_tokens.split(seed)
  shares = masked_spans.ngram_shares(_MOST_WORDS)
  drawn = masked_tokens.uniform(shape, words_seed)
  bounds = tf.constant(np.cumsum(shares)[:-1], tf.float32)
  num_words = 1 + tf.reduce_sum(
    tf.cast(drawn[:, :, tf.newaxis] >= bounds, tf.int32), axis=2
  )
  size = tf.cast(tf.cast(num_words, tf.float32) / share, tf.int32)
  room = tf.cast(size - num_words + 1, tf.float32)
  place = masked_tokens.uniform(shape, place_seed) * room
  start = tf.cumsum(size, axis=1, exclusive=True) + tf.cast(place, tf.int32)
  word = tf.cumsum(tf.cast(begins, tf.int32), axis=1)[:, :, tf.newaxis] - 1
  first = start[:, tf.newaxis]  # [B, 1, S]
  in_span = (word >= first) & (word < first + num_words[:, tf.newaxis])
  return tf.reduce_any(in_span, axis=2)
