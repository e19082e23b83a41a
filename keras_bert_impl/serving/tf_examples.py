"""Serialized tf.Examples, the form in which batch pipelines send texts."""

import numpy as np
import tensorflow as tf


def parse(examples, specs):
  """Returns the inputs of `answer`, {input: string [B, ...]}.

  Args:
    examples: string [B], serialized tf.Examples with the inputs as features.
      Where an input has an axis more, an example may hold any number of
      strings; it gets "" where others of the batch have more.
    specs: {input: `tf.TensorSpec`}.
  """
  columns = {
    name: tf.io.RaggedFeature(tf.string)
    if spec.shape.rank > 1
    else tf.io.FixedLenFeature([], tf.string)
    for name, spec in specs.items()
  }
  parsed = tf.io.parse_example(examples, columns)
  return {
    name: value.to_tensor() if isinstance(value, tf.RaggedTensor) else value
    for name, value in parsed.items()
  }


def serialize(inputs):
  """Returns the tf.Example of {input: strings of a batch of one}, bytes."""
  example = tf.train.Example()
  for name, values in inputs.items():
    strings = np.array(values, object).reshape(-1)
    example.features.feature[name].bytes_list.value.extend(
      text.encode("utf-8") for text in strings
    )
  return example.SerializeToString(deterministic=True)
