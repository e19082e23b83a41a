"""Models called with `input_ids` alone, on each backend of Keras."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]

PROGRAM = """
import tempfile
import keras
import numpy as np
import keras_bert_impl as kb

sizes = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=2)
config = kb.EncoderConfig(
  30, **sizes, intermediate_size=8, max_position_embeddings=10
)
ids = np.random.default_rng(0).integers(1, 30, (4, 6)).astype("int32")
ones, zeros = np.ones_like(ids), np.zeros_like(ids)
everything = {"input_ids": ids, "input_mask": ones, "segment_ids": zeros}
labels = np.arange(4) % 2


def wired():
  encoder = kb.TransformerEncoder(config)
  hidden = encoder.hidden_states[-1][:, 0]
  return kb.Model(encoder.input, {"logits": keras.layers.Dense(2)(hidden)})


def inside():
  encoder = kb.TransformerEncoder(config)
  ids = keras.Input((None,), dtype="int32", name="input_ids")
  pooled = encoder({"input_ids": ids})["pooled_output"]
  return kb.Model({"input_ids": ids}, {"logits": keras.layers.Dense(2)(pooled)})


def check(make, names):
  x = {name: everything[name] for name in names}
  model = make()
  if make is not inside:
    expected = keras.ops.convert_to_numpy(model(everything)["logits"])
    found = keras.ops.convert_to_numpy(model(x)["logits"])
    np.testing.assert_allclose(found, expected, atol=1e-6)
  jit = "auto" if keras.backend.backend() == "jax" else False
  loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
  model.compile("sgd", loss, jit_compile=jit)
  model.fit(x, labels, verbose=0)
  model.evaluate(x, labels, verbose=0)
  model.train_on_batch(x, labels)
  model.test_on_batch(x, labels)
  found = model.predict_on_batch(x)["logits"]
  np.testing.assert_allclose(
    model.predict(x, verbose=0)["logits"], found, atol=1e-6
  )
  return model, x, found


classifier = lambda: kb.SequenceClassifier(config, 2)
check(classifier, ["input_ids"])
check(classifier, ["input_ids", "segment_ids"])
check(inside, ["input_ids"])
model, x, expected = check(wired, ["input_ids"])
with tempfile.TemporaryDirectory() as folder:
  model.save(f"{folder}/model.keras")
  model = keras.models.load_model(f"{folder}/model.keras")
  found = model.predict(x, verbose=0)["logits"]
np.testing.assert_allclose(found, expected, atol=1e-6)
print("done on", keras.backend.backend())
"""


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_all_but_the_ids_may_be_left_out(backend):
  if importlib.util.find_spec(backend) is None:
    pytest.skip(f"{backend} is not installed")
  environment = {"KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu"}
  result = subprocess.run(
    [sys.executable, "-c", PROGRAM],
    capture_output=True,
    text=True,
    env=os.environ | environment,
    cwd=ROOT,
  )
  assert result.returncode == 0, result.stderr
  assert f"done on {backend}" in result.stdout
