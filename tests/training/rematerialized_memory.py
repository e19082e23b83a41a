"""Prints the peak memory (bytes) of a gradient; run as a process.

Arguments: "graph" or "xla", and 0 or 1: whether blocks are rematerialized.
"""

import pathlib
import sys

import keras
import numpy as np
import tensorflow as tf

from keras_bert_impl import configs, layers, models

BATCH, LENGTH, HIDDEN = 32, 128, 128


def peak_memory():
  # Not ru_maxrss, in which a process begins with the peak of its parent.
  for line in pathlib.Path("/proc/self/status").read_text().splitlines():
    if line.startswith("VmHWM:"):
      return 1024 * int(line.split()[1])


def main():
  keras.utils.set_random_seed(0)
  is_compiled, is_on = sys.argv[1] == "xla", bool(int(sys.argv[2]))
  encoder = models.TransformerEncoder(
    configs.EncoderConfig(
      vocab_size=10,
      hidden_size=HIDDEN,
      num_hidden_layers=8,
      num_attention_heads=2,
      intermediate_size=4 * HIDDEN,
      max_position_embeddings=LENGTH,
    ),
    use_pooler=False,
  )
  variables = [variable.value for variable in encoder.trainable_variables]

  @tf.function(jit_compile=is_compiled, reduce_retracing=True)
  def gradient(input_ids):
    with (
      layers.random_seed([1, 2]),
      layers.rematerialize(is_on),
      tf.GradientTape() as tape,
    ):
      outputs = encoder({"input_ids": input_ids}, training=True)
      loss = tf.reduce_sum(outputs["sequence_output"] ** 3)
    return tf.linalg.global_norm(tape.gradient(loss, variables))

  norm = gradient(np.ones((BATCH, LENGTH), "int32"))
  print(peak_memory(), float(norm))


if __name__ == "__main__":
  main()
