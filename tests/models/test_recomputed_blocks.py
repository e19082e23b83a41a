"""Encoders whose blocks are computed again for the gradient."""

import dataclasses
import pathlib

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import layers, models
from keras_bert_impl.checkpoints import reading

PARITY = pathlib.Path(__file__).parents[1] / "data/parity"


@pytest.mark.integration
@pytest.mark.parametrize(
  ("name", "table"),
  [
    ("deberta_v2_conv_encoder", "bert/encoder/relative/rel_embeddings"),
    ("modernbert_encoder", "bert/embeddings/word_embeddings"),
  ],
)
@pytest.mark.parametrize(
  "jit_compile",
  [False, pytest.param(True, marks=[pytest.mark.xla, pytest.mark.slow])],
)
def test_the_gradients_are_the_same(name, table, jit_compile):
  config = reading.open_checkpoint(PARITY / name).description.config
  keras.utils.set_random_seed(0)
  model = models.TransformerEncoder(
    dataclasses.replace(config, num_hidden_layers=1), use_pooler=False
  )
  inputs = np.load(PARITY / name / "expected.npz")

  @tf.function(jit_compile=jit_compile)
  def gradients(ids, mask, is_on):
    with tf.GradientTape() as tape, layers.random_seed([1, 2]):
      with layers.rematerialize(is_on):
        states = model({"input_ids": ids, "input_mask": mask}, training=True)
        loss = keras.ops.mean(states["sequence_output"] ** 2 * mask[..., None])
    return tape.gradient(loss, model.trainable_variables)

  ids = tf.constant(inputs["in.input_ids"])
  mask = tf.cast(inputs["in.attention_mask"], "float32")
  paths = [variable.path for variable in model.trainable_variables]
  plain, again = (
    dict(zip(paths, map(tf.convert_to_tensor, found), strict=True))
    for found in (gradients(ids, mask, is_on) for is_on in (False, True))
  )
  for path in paths:
    np.testing.assert_allclose(plain[path], again[path], atol=1e-6)
  assert np.abs(plain[table]).max() > 0
