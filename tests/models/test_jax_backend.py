"""The layers and models on Keras' JAX backend, in a process of their own."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from keras_bert_impl import configs, models

ROOT = pathlib.Path(__file__).parents[2]

CONFIG = configs.EncoderConfig(
  vocab_size=30,
  hidden_size=16,
  num_hidden_layers=1,
  num_attention_heads=2,
  intermediate_size=32,
  max_position_embeddings=9,
  initializer_range=0.2,
)

PROGRAM = """
import sys
import jax
import keras
import numpy as np
from keras_bert_impl import configs, layers, models

assert keras.backend.backend() == "jax"
folder = sys.argv[1]
config = configs.EncoderConfig.from_json_file(f"{folder}/bert_config.json")
model = models.PretrainingModel(config)
weights = np.load(f"{folder}/weights.npz")
for weight in model.weights:
  weight.assign(weights[weight.path])
inputs = dict(np.load(f"{folder}/inputs.npz"))
outputs = model(inputs)
np.savez(f"{folder}/outputs.npz", **outputs)

def loss(trainable, seed):
  with layers.random_seed(seed):
    outputs, _ = model.stateless_call(
      trainable,
      [v.value for v in model.non_trainable_variables],
      inputs,
      training=True,
    )
  return (outputs["masked_lm_logits"] ** 2).sum()

run = jax.jit(jax.value_and_grad(loss))
trainable = [v.value for v in model.trainable_variables]
values = []
for seed in ([1, 2], [1, 2], [1, 3]):
  value, gradients = run(trainable, np.array(seed, "int32"))
  values.append(float(value))
  assert all(np.isfinite(gradient).all() for gradient in gradients)
assert values[0] == values[1] != values[2], values
assert "tensorflow" not in sys.modules
"""


@pytest.mark.skipif(
  importlib.util.find_spec("jax") is None, reason="JAX is not installed"
)
def test_jax_computes_the_same_as_tensorflow(tmp_path):
  model = models.PretrainingModel(CONFIG)
  rng = np.random.default_rng(0)
  inputs = {
    "input_ids": rng.integers(0, 30, (2, 8)).astype("int32"),
    "input_mask": np.tri(2, 8, 6, dtype="int32"),
    "segment_ids": rng.integers(0, 2, (2, 8)).astype("int32"),
    "masked_lm_positions": rng.integers(0, 8, (2, 3)).astype("int32"),
  }
  CONFIG.to_json_file(tmp_path / "bert_config.json")
  np.savez(tmp_path / "inputs.npz", **inputs)
  np.savez(
    tmp_path / "weights.npz", **{w.path: np.array(w) for w in model.weights}
  )
  environment = os.environ | {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
  result = subprocess.run(
    [sys.executable, "-c", PROGRAM, str(tmp_path)],
    capture_output=True,
    text=True,
    env=environment,
    cwd=ROOT,
  )
  assert result.returncode == 0, result.stderr
  outputs = np.load(tmp_path / "outputs.npz")
  for name, expected in model(inputs).items():
    np.testing.assert_allclose(outputs[name], expected, atol=1e-5)
