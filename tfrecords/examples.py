"""Bytes of examples: records of pre-training and rows of fine-tuning."""

import tensorflow as tf


def serialize(values, float_names=()):
  """Returns the bytes of an example, always the same for the same values.

  Args:
    values: {feature: sequence of int or float}.
    float_names: container of str, the features that are float32.
  """
  example = tf.train.Example()
  for name, numbers in values.items():
    feature = example.features.feature[name]
    is_float = name in float_names
    kind = feature.float_list if is_float else feature.int64_list
    kind.value.extend(numbers)
  # Maps have no order of their own.
  return example.SerializeToString(deterministic=True)
