"""Blocks computed again for their gradient: the same results, less memory."""

import os
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import layers, models
from tests import slow
from tests.training import (
  rematerialized_memory,
  replica_equality,
)

CONFIG = replica_equality.encoder_config(
  dropout=0.2, num_hidden_layers=2, initializer_range=0.2
)
FAMILIES = (
  "bert",
  "albert",
  "electra",
  "deberta",
  "deberta_v3",
  "pair",
  "elmo",
)


def gradients(task, model, rematerialize, jit_compile):
  """Returns losses and gradients of one batch, under dropout."""
  [batch] = replica_equality.dataset(1)

  @tf.function(jit_compile=jit_compile)
  def run(batch):
    with (
      layers.random_seed([3, 4]),
      layers.rematerialize(rematerialize),
      tf.GradientTape() as tape,
    ):
      inputs = {tensor.name: batch[tensor.name] for tensor in model.inputs}
      outputs = model(inputs, training=True)
      losses = task.losses(batch, outputs)
      loss = tf.add_n(list(losses.values()))
    variables = [v.value for v in model.trainable_variables]
    values = map(tf.convert_to_tensor, tape.gradient(loss, variables))
    return list(losses.values()), list(values)

  return tf.nest.map_structure(np.array, run(batch))


@pytest.mark.integration
@pytest.mark.parametrize("family", slow.all_but(("bert",), FAMILIES))
def test_losses_and_gradients_do_not_change(family):
  check_gradients(family, jit_compile=False)


@pytest.mark.xla
@pytest.mark.parametrize(
  "family", slow.all_but((), FAMILIES, by_hand=FAMILIES[1:])
)
def test_nor_do_they_under_xla(family):
  check_gradients(family, jit_compile=True)


def check_gradients(family, jit_compile):
  task = replica_equality.make_task(family, CONFIG)
  keras.utils.set_random_seed(1)
  model = task.build_model()
  (losses, expected), (again, found) = (
    gradients(task, model, rematerialize, jit_compile)
    for rematerialize in (False, True)
  )
  np.testing.assert_allclose(again, losses, rtol=1e-6)
  paths = [variable.path for variable in model.trainable_variables]
  # Of all: the bias of the keys has no gradient but rounding.
  scale = max(np.abs(gradient).max() for gradient in expected)
  for path, a, b in zip(paths, expected, found):
    np.testing.assert_allclose(b, a, rtol=0, atol=1e-6 * scale, err_msg=path)


@pytest.mark.skipif(
  not sys.platform.startswith("linux"), reason="reads the peak from /proc"
)
@pytest.mark.parametrize(
  "kind", slow.all_but((), ("graph", "xla"), by_hand=("xla",))
)
def test_it_takes_less_memory(kind):
  peaks = []
  for is_on in ("0", "1"):
    output = subprocess.run(
      [sys.executable, rematerialized_memory.__file__, kind, is_on],
      capture_output=True,
      env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
      check=True,
    ).stdout
    peaks.append(int(output.split()[0]))
  # Measured: 430 MB with the graph, 245 MB with XLA.
  assert peaks[0] - peaks[1] > 100e6


def test_the_model_says_nothing_of_it():
  with layers.rematerialize():
    model = models.TransformerEncoder(CONFIG)
  assert model.get_config() == models.TransformerEncoder(CONFIG).get_config()


def test_without_a_seed_it_is_refused():
  model = models.TransformerEncoder(CONFIG)
  ids = np.ones((1, 4), "int32")
  with (
    layers.rematerialize(),
    pytest.raises(ValueError, match="must be used inside of random_seed"),
  ):
    model({"input_ids": ids}, training=True)
  with layers.rematerialize():
    model({"input_ids": ids}, training=False)
