"""Random numbers by row of the whole batch, however the batch is divided."""

import functools
import math

import tensorflow as tf

from keras_bert_impl.layers.basics import dropout

_BLOCK = 4  # numbers that Philox makes of one value of its counter
# Named, because TPUs would choose a generator of their own: how that counts is
# not known, and rows of different chips might meet the same numbers.
_ALGORITHM = tf.random.Algorithm.PHILOX.value


def random_seed(seed, index, part):
  """Makes layers draw the random numbers of a part of the whole batch.

  Args:
    seed: int, of the run.
    index: int32 scalar, of the batch.
    part: int32 scalar, which of the equal parts of the batch it is.
  """
  return dropout.random_seed([seed, index], functools.partial(uniform, part))


def uniform(part, shape, seed, dtype="float32"):
  """Returns the random numbers of a part's rows in a draw of the whole batch.

  The generator counts the blocks that it makes: starting at those of the first
  row costs no more than starting at 0. Every row begins a block of its own, so
  that it does not matter where it lies.

  Args:
    part: int32 scalar tensor, which of the equal parts of a batch it is; the
      rows of part 1 follow those of part 0.
    shape: tuple of int or int32 scalar tensors, of the part, rows first.
    seed: int32 tensor [2], the same for all parts.
    dtype: "float32", or "uint16", of which a block has twice as many.

  Returns:
    `dtype` of `shape`: floats in [0, 1), or all integers.
  """
  num_rows, *others = shape
  size = math.prod(others)  # numbers in a row
  per_block = _BLOCK if dtype == "float32" else 2 * _BLOCK
  num_blocks = -(-size // per_block)
  key, counter = tf.raw_ops.StatelessRandomGetKeyCounter(seed=seed)
  first_row = tf.cast(part, tf.uint64) * tf.cast(num_rows, tf.uint64)
  first_block = first_row * tf.cast(num_blocks, tf.uint64)
  arguments = {
    "shape": [num_rows, num_blocks * _BLOCK],
    "key": key,
    "counter": counter + tf.stack([first_block, 0]),  # [low, high]
    "alg": _ALGORITHM,
  }
  if dtype == "float32":
    rows = tf.raw_ops.StatelessRandomUniformV2(**arguments, dtype=tf.float32)
  else:
    rows = tf.raw_ops.StatelessRandomUniformFullIntV2(
      **arguments, dtype=tf.uint32
    )
    rows = tf.reshape(tf.bitcast(rows, tf.uint16), [num_rows, -1])
  return tf.reshape(rows[:, :size], shape)
