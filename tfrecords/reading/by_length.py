"""Batches of records of about the same length, padded no further than needed.

See `tfrecords.lengths`. Here records are a stream that may be larger than
memory; a pool of it is sorted at a time.
"""

import tensorflow as tf

from keras_bert_impl import features
from tfrecords import lengths
from tfrecords.reading import lanes as lanes_lib
from tfrecords.reading import record_parsing

# Keeps the order of the batches apart from other draws of the same seed.
_POOL = 0x706F

# Features with an entry for each token, or for each prediction.
_OF_TOKENS = (
  features.INPUT_IDS,
  features.INPUT_MASK,
  features.SEGMENT_IDS,
  features.SEQUENCE_IDS,
  features.PERMUTATION_ORDER,
)
_OF_PREDICTIONS = (
  features.MASKED_LM_POSITIONS,
  features.MASKED_LM_IDS,
  features.MASKED_LM_WEIGHTS,
  features.SPAN_BOUNDARIES,
  features.DECODER_IDS,
)


def read(records, lanes, batch_size, start_batch):
  """Returns the serialized records of each batch, from `start_batch` on.

  Args:
    records: scan.Records.
    lanes: lanes.Lanes of them, a single one without a last epoch.
    batch_size: int, B.
    start_batch: int, batches that were read before.

  Returns:
    tf.data.Dataset of string [B].
  """
  size = lengths.pool_batches(records.num_records, batch_size)
  first_pool, passed = divmod(start_batch, size)

  def sort(index, pool):
    num_tokens = record_parsing.token_ids(pool, records.layout).row_lengths()
    pool = tf.gather(pool, tf.argsort(num_tokens, stable=True))
    seed = [lanes.order.seed, tf.cast(index, tf.int32)]
    return lanes_lib.shuffled(
      tf.reshape(pool, [size, batch_size]),
      tf.random.fold_in(seed, _POOL, lanes_lib.RNG),
    )

  pools = lanes.read(
    tf.constant(0, tf.int64), passed=first_pool * size * batch_size
  ).rebatch(size * batch_size, drop_remainder=True)
  pools = pools.enumerate(first_pool).map(sort)
  return pools.prefetch(1).unbatch().skip(passed)


def cut_padding(batch):
  """Returns a batch without the padding that all of its rows have.

  Args:
    batch: {name: tensor}, of `features.INPUT_IDS` [B, L] and
      `features.MASKED_LM_WEIGHTS` [B, P], both of static shape.

  Returns:
    {name: tensor}, cut to the shortest of `lengths.padded_lengths` that hold
    all tokens and all predictions.
  """
  num_tokens = _shortest(batch[features.INPUT_MASK])
  num_predictions = _shortest(batch[features.MASKED_LM_WEIGHTS])

  def cut(name, values):
    if name in _OF_TOKENS:
      return values[:, :num_tokens]
    return values[:, :num_predictions] if name in _OF_PREDICTIONS else values

  return {name: cut(name, values) for name, values in batch.items()}


def _shortest(weights):
  """Returns the shortest padded length that holds all positive weights.

  Args:
    weights: number [B, n].

  Returns:
    int32 scalar, one of the padded lengths up to n.
  """
  steps = tf.constant(lengths.padded_lengths(weights.shape[1]))
  is_used = tf.reduce_any(weights > 0, axis=0)
  number = tf.reduce_max(
    tf.where(is_used, tf.range(1, weights.shape[1] + 1), 0)
  )
  return tf.gather(steps, tf.searchsorted(steps, [number])[0])
