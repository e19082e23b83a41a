"""Groups of rows of about the same length: little padding in any batch.

A batch whose rows are compared has texts of all lengths, and more than half of
it may be padding. So its rows are computed by length, in groups that are cut to
their longest row; or in parts of a group, cut to the same length. What is
computed does not depend on the size of a part, random numbers included.
"""

import tensorflow as tf

from keras_bert_impl import features
from tfrecords import lengths as lengths_lib

_LONGEST = 2**20
_MOST_GROUPS = 8  # Each is a part of the graph.
# Fewer rows at once cost more than padding does.
_FEWEST_ROWS = {"CPU": 16, "GPU": 128}


class RowGroups:
  """The rows of a batch, divided into parts of groups, on one replica.

  Args:
    inputs: {name: tensor [N, L, ...]}.
    index: int32 scalar, of the batch and replica.
    size: int, the most rows of a part; None: those of a group.
    cuts: bool, whether groups are cut to their longest row; where L is fixed,
      there is one group, which is not.

  Attributes:
    number: int, of the parts.
    num_tokens: float32 scalar, of all rows.
    num_positions: float32 scalar, of all rows, without what is cut off.
  """

  def __init__(self, inputs, index, size, cuts):
    mask = inputs[features.INPUT_MASK]
    self._num_rows = mask.shape[0]
    self._cuts = cuts and mask.shape[1] is None
    device = "GPU" if tf.config.list_logical_devices("GPU") else "CPU"
    fewest, groups = _FEWEST_ROWS[device], _MOST_GROUPS if self._cuts else 1
    of_group = fewest * -(-self._num_rows // (fewest * groups))
    most = min(size or of_group, of_group)
    size = next(k for k in range(most, 0, -1) if of_group % k == 0)
    self._size = min(size, self._num_rows)
    self.number = -(-self._num_rows // self._size)
    self._parts_of_group = of_group // self._size
    self._num_groups = -(-self.number // self._parts_of_group)
    self._index = index
    self._length = tf.shape(mask)[1]
    self.num_tokens = tf.cast(tf.reduce_sum(mask), tf.float32)
    self._lengths = tf.fill([self.number], self._length)
    if self._cuts:
      masks = [mask, inputs.get(features.POOLING_MASK, mask)]
      used = tf.reduce_sum(tf.reduce_max(masks, axis=0), axis=1)  # [N]
      self._order = tf.argsort(-used, stable=True)
      # The first of a group is its longest.
      first = tf.gather(self._order, [*range(0, self._num_rows, of_group)])
      longest = _rounded_up(tf.gather(used, first), self._length)
      self._lengths = tf.repeat(longest, self._parts_of_group)[: self.number]
    positions = self._size * tf.reduce_sum(self._lengths)
    self.num_positions = tf.cast(positions, tf.float32)
    self._inputs = tf.nest.map_structure(self.parts, inputs)

  def part(self, i):
    """Returns {name: [size, length, ...]}, group and place of part i.

    The group is numbered among those of all batches, the place in the group.
    """
    group, place = i // self._parts_of_group, i % self._parts_of_group
    inputs = {name: self.cut(x[i], i) for name, x in self._inputs.items()}
    return inputs, self._index * self._num_groups + group, place

  def cut(self, x, i):
    """Returns [size, L, ...] of part i cut to its length."""
    if not self._cuts:
      return x
    return x[:, : self._lengths[i]]

  def fill(self, x, i):
    """Returns [size, length, D] of part i with zeros, [size, L, D]."""
    if not self._cuts:
      return x
    rest = self._length - tf.shape(x)[1]
    filled = tf.pad(x, [[0, 0], [0, rest], [0, 0]])
    return tf.ensure_shape(filled, [x.shape[0], None, x.shape[2]])

  def parts(self, x):
    """Returns [N, ...] as [parts, size, ...], with rows of zeros at the end."""
    if self._cuts:
      x = tf.gather(x, self._order)
    rest = self.number * self._size - self._num_rows
    x = tf.pad(x, [[0, rest]] + [[0, 0]] * (len(x.shape) - 1))
    shape = tf.concat([[self.number, self._size], tf.shape(x)[1:]], axis=0)
    shaped = [self.number, self._size, *x.shape[1:]]
    return tf.ensure_shape(tf.reshape(x, shape), shaped)

  def rows(self, x):
    """Returns [parts, size, ...] as [N, ...], in the order of the batch."""
    shape = tf.concat([[self.number * self._size], tf.shape(x)[2:]], axis=0)
    x = tf.reshape(x, shape)[: self._num_rows]
    x = tf.ensure_shape(x, [self._num_rows, *x.shape[1:]])
    if not self._cuts:
      return x
    return tf.gather(x, tf.math.invert_permutation(self._order))


def _rounded_up(lengths, most):
  """Returns lengths with an eighth of padding at most: few shapes to compile.

  Args:
    lengths: int32 [N].
    most: int32 scalar, the length of the batch.
  """
  steps = tf.constant(lengths_lib.padded_lengths(_LONGEST))
  return tf.minimum(tf.gather(steps, tf.searchsorted(steps, lengths)), most)
