"""Runs a model on rows of similar length together, in the graph.

Axes: R rows, L ids of the longest of them, n rows at once.
"""

import tensorflow as tf

from keras_bert_impl import features

# A quarter of the rows, but not so few that the model idles, nor more than fit
# into memory: of 32 rows of 384 ids, BERT-base takes 0.45 GB.
_FRACTION = 4
_FEWEST, _MOST = 8, 32


def map_rows(function, rows, signature):
  """Applies a function to rows, to those of similar length together.

  All at once, they would be padded to the longest: a film review has 20 ids on
  average, the longest of 32 has 67.

  Args:
    function: from {name: [n, length of the longest]} to something of [n, ...],
      any n.
    rows: {name: int32 [R, L]}, `input_mask` among them; others may be narrower.
    signature: `tf.TensorSpec` of what the function returns, without its first
      axis, or a nest of them. An axis None is as long as the rows.

  Returns:
    [R, ...], or a nest of them; 0 beyond a row.
  """
  # Tokens may be 1 or, where they are global, 2.
  lengths = tf.math.count_nonzero(
    rows[features.INPUT_MASK], axis=1, dtype=tf.int32
  )  # [R]
  num_rows, row_length = tf.unstack(tf.shape(rows[features.INPUT_MASK]))
  order = tf.argsort(lengths)
  lengths = tf.gather(lengths, order)
  rows = {name: tf.gather(values, order) for name, values in rows.items()}
  count = tf.clip_by_value(num_rows // _FRACTION, _FEWEST, _MOST)

  def apply(start):
    end = tf.minimum(start + count, num_rows)
    longest = lengths[end - 1]
    found = function({name: x[start:end, :longest] for name, x in rows.items()})
    return tf.nest.map_structure(flatten, found, signature)

  def flatten(values, spec):
    missing = row_length - tf.shape(values)[1] if None in spec.shape else 0
    sizes = [missing if size is None else 0 for size in spec.shape]
    padded = tf.pad(values, [[0, 0], *([0, size] for size in sizes)])
    # Flat, for of no rows more dimensions would be lost.
    return tf.reshape(padded, [-1])

  def in_order(values, spec):
    shape = [row_length if size is None else size for size in spec.shape]
    return tf.gather(tf.reshape(values.values, [-1, *shape]), places)

  found = tf.map_fn(
    apply,
    tf.range(0, num_rows, count),
    fn_output_signature=tf.nest.map_structure(
      lambda spec: tf.RaggedTensorSpec([None], spec.dtype, ragged_rank=0),
      signature,
    ),
    # Two at once would take the memory of both.
    parallel_iterations=1,
  )
  places = tf.math.invert_permutation(order)
  return tf.nest.map_structure(in_order, found, signature)
