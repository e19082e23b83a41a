"""Chooses single tokens to mask, for a whole batch in the graph.

Axes: B batch, L sequence length, P predictions per sequence.
"""

import numpy as np
import tensorflow as tf

# Every draw names its algorithm: "auto_select" differs between devices.
_RNG = "philox"


def uniform(shape, seed, **options):
  """Returns random numbers, as `tf.random.stateless_uniform`."""
  return tf.random.stateless_uniform(shape, seed, alg=_RNG, **options)


def split(seed, number=2):
  """Returns a list of seeds, int32 [2] each, made of one."""
  return tf.unstack(tf.random.split(seed, number, alg=_RNG))


def choose(is_ordinary, num_to_predict, max_predictions, seed):
  """Returns the positions of tokens drawn uniformly in each row.

  Args:
    is_ordinary: bool [B, L], whether a token may be chosen.
    num_to_predict: int32 [B], tokens to choose; all if there are fewer.
    max_predictions: int, P.
    seed: int32 [2].

  Returns:
    int32 [B, P], ascending, then L.
  """
  num_columns = is_ordinary.shape[1]
  num_ordinary = tf.reduce_sum(tf.cast(is_ordinary, tf.int32), axis=1)  # [B]
  chosen, is_chosen = sample(
    num_ordinary,
    tf.minimum(num_to_predict, num_ordinary),
    max_predictions,
    seed,
  )  # [B, P]
  # From "the k-th ordinary token of row b" to its position.
  row_start = tf.cumsum(num_ordinary, exclusive=True)[:, tf.newaxis]
  chosen = tf.where(is_chosen, row_start + chosen, 0)
  index = tf.where(tf.reshape(is_ordinary, [-1]))[:, 0]  # into B * L
  index = tf.concat([index, [0]], axis=0)  # there may be no ordinary token
  index = tf.cast(tf.gather(index, chosen), tf.int32)
  return ascending(tf.where(is_chosen, index % num_columns, num_columns))


def ascending(values):
  """Returns `values` int32 [B, P], each row sorted ascending."""
  return -tf.math.top_k(-values, values.shape[1]).values


def sample(population, size, max_size, seed):
  """Draws a uniformly random set of `size` different numbers in each row.

  Floyd's algorithm, all draws at once (top_k over random keys of all tokens
  takes three times as long): draw k is uniform in [0, last_k], where
  last_k = population - size + k; a number that was drawn before is replaced by
  last_k, which cannot have been.

  Args:
    population: int32 [B], numbers are drawn from [0, population).
    size: int32 [B], at most population.
    max_size: int, P.
    seed: int32 [2].

  Returns:
    int32 [B, P], the numbers in arbitrary order; bool [B, P], true for the
    first `size`.

  Source: Bentley and Floyd 1987, "A sample of brilliance".
  """
  k = tf.range(max_size)[tf.newaxis]  # [1, P]
  is_drawn = k < size[:, tf.newaxis]
  lowest_last = (population - size)[:, tf.newaxis]  # [B, 1]
  last = lowest_last + k  # [B, P]
  drawn = uniform(tf.shape(last), seed) * tf.cast(last + 1, tf.float32)
  draw = tf.cast(drawn, tf.int32)
  # A number was drawn before if an earlier draw gave it, or if it is the last
  # of an earlier draw (its owner) that gave way to it.
  same = draw[:, :, tf.newaxis] == draw[:, tf.newaxis, :]  # [B, P, P]
  earlier = tf.constant(np.tri(max_size, k=-1, dtype=np.bool_))
  repeated = tf.reshape(tf.reduce_any(same & earlier, axis=2), [-1])  # [B * P]
  owner = draw - lowest_last
  has_owner = tf.reshape((owner >= 0) & (owner < k), [-1])
  row_start = tf.range(tf.shape(draw)[0])[:, tf.newaxis] * max_size
  owner = tf.where(has_owner, tf.reshape(row_start + owner, [-1]), 0)

  def follow(before, unused_changed):
    after = before | (has_owner & tf.gather(before, owner))
    return after, tf.reduce_any(after != before)

  # Each round follows chains of owners by one link; few are longer than one.
  repeated, _ = tf.while_loop(
    lambda unused_repeated, changed: changed, follow, (repeated, True)
  )
  repeated = tf.reshape(repeated, tf.shape(draw))
  return tf.where(repeated, last, draw), is_drawn
