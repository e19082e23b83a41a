"""Writes models as LiteRT files (.tflite), with TensorFlow's converter.

Source: tensorflow, lite/g3doc/performance/post_training_quantization.md.
"""

import contextlib
import os
import re

import tensorflow as tf
from tensorflow.lite.python import convert_phase  # tf.lite lacks its error.


def convert(graph, weights_dtype="float32"):
  """Returns the content of a .tflite file, bytes.

  Args:
    graph: `graphs.Graph`.
    weights_dtype: "float32"; "float16"; or "int8", of all matrices, where
      products are of int8, too, with the range of each row of a batch.

  Raises:
    ValueError: LiteRT lacks an op of the model.
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
  try:
    with _silenced():
      return converter.convert()
  except (convert_phase.ConverterError, RuntimeError) as error:
    missing = sorted({*re.findall(r"\btf\.(\w+)\(", str(error))})
    named = f" the ops {', '.join(missing)}" if missing else " some of its ops"
    raise ValueError(
      f"LiteRT cannot hold this model: it lacks{named}. Give a fixed_length, or"
      " take another format."
    ) from error


@contextlib.contextmanager
def _silenced():
  """Drops what the converter writes to stderr: the graph, if it fails."""
  kept = os.dup(2)
  nowhere = os.open(os.devnull, os.O_WRONLY)
  try:
    os.dup2(nowhere, 2)
    yield
  finally:
    os.dup2(kept, 2)
    os.close(nowhere)
    os.close(kept)
