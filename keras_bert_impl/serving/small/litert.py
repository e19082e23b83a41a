"""Writes models as LiteRT files (.tflite), with TensorFlow's converter.

Source: tensorflow, lite/g3doc/performance/post_training_quantization.md.
"""

import tensorflow as tf


def convert(graph, weights_dtype="float32", calibration=None):
  """Returns the content of a .tflite file, bytes.

  Args:
    graph: `graphs.Graph`.
    weights_dtype: "float32"; "float16"; or "int8", of all matrices, where
      products are of int8, too, with the range of each row of a batch.
    calibration: iterable of {input: array}; with int8, activations have ranges
      that are found with these, and are int8 throughout.
  """
  holder = tf.Module()
  holder.weights = graph.weights
  converter = tf.lite.TFLiteConverter.from_concrete_functions(
    [graph.trace()], holder
  )
  if weights_dtype != "float32":
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
  if weights_dtype == "float16":
    converter.target_spec.supported_types = [tf.float16]
  if calibration is not None:
    converter.representative_dataset = lambda: calibration
  return converter.convert()
