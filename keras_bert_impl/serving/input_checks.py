"""Checks the inputs of a signature in its graph.

TF Serving passes on any request: it compares neither rank nor size with the
signature. An op that gets another rank than it was traced for may crash the
server, and an id out of range may be read as another one.

Axes: B rows, L ids of the longest of them.
"""

import functools

import tensorflow as tf

from keras_bert_impl import features


def check(function, specs, find_faults=lambda inputs: []):
  """Returns a function that refuses invalid inputs.

  Args:
    function: of tensors by name.
    specs: {input: `tf.TensorSpec`}. Inputs must have these ranks, and agree in
      the sizes of the axes that they share.
    find_faults: function from {input: tensor} to further assertions.

  Returns:
    The function, of the same tensors; raises tf.errors.InvalidArgumentError.
  """

  @functools.wraps(function)
  def checked(*inputs, **named_inputs):
    inputs = dict(zip(specs, inputs, strict=False)) | named_inputs
    inputs = {
      name: tf.ensure_shape(tensor, specs[name].shape)
      for name, tensor in inputs.items()
    }
    # Nothing sees an input before all of them are known to be right.
    with tf.control_dependencies(_compare_sizes(inputs) + find_faults(inputs)):
      inputs = {name: tf.identity(tensor) for name, tensor in inputs.items()}
    return function(**inputs)

  return checked


def longest_input(model):
  """Returns the most ids of a row, int; or None: no table has their positions.

  Args:
    model: with `config`, and perhaps `use_mask_decoder`.
  """
  # DeBERTa's decoder has a table where the encoder has none.
  has_table = getattr(model, "use_mask_decoder", False)
  config = model.config
  return config.max_sequence_length if has_table else config.longest_input


def check_ids(config, longest, inputs):
  """Returns assertions that ids, masks, segments and lengths are in range.

  Args:
    config: that of the model.
    longest: int, the most ids of a row; None for any number.
    inputs: {name of `features`: int32 [..., L]}.
  """
  limits = {
    features.INPUT_MASK: 2,
    **config.num_ids,
    # With one segment they are ignored, and may be those of pairs.
    features.SEGMENT_IDS: max(2, config.num_ids[features.SEGMENT_IDS]),
  }
  checks = [_check_range(k, x, limits[k]) for k, x in inputs.items()]
  if longest is not None:
    length = tf.shape(inputs[features.INPUT_IDS])[-1]
    message = [f"A row must have at most {longest} ids, but has", length]
    checks.append(tf.debugging.Assert(length <= longest, message))
  return checks


def _check_range(name, values, limit):
  least, largest = tf.reduce_min(values), tf.reduce_max(values)
  return tf.debugging.Assert(
    # Without values the least is the largest integer, and this is true.
    (least >= 0) & (largest < limit),
    [
      f"{name} must be from 0 to {limit - 1}, but are from",
      least,
      "to",
      largest,
    ],
  )


def _compare_sizes(inputs):
  """Returns assertions that inputs have equal sizes along shared axes.

  Args:
    inputs: {input: tensor of a known rank}.
  """
  (first, shape), *others = (
    (name, tf.shape(tensor)) for name, tensor in inputs.items()
  )

  def compare(name, other):
    shared = min(shape.shape[0], other.shape[0])
    return tf.debugging.Assert(
      tf.reduce_all(shape[:shared] == other[:shared]),
      [
        f"{first} and {name} must be equally long, but have the shapes",
        shape,
        "and",
        other,
      ],
    )

  return [compare(*other) for other in others]
