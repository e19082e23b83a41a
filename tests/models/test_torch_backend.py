"""The layers and models on Keras' torch backend, in processes of their own."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from tests.models import every_model, test_parity

ROOT = pathlib.Path(__file__).parents[2]

pytestmark = [
  pytest.mark.slow,
  pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed"
  ),
]

COMPUTE = """
import pathlib
import sys
import keras
import numpy as np
from keras_bert_impl import layers, models

assert keras.backend.backend() == "torch"
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.keras")):
  model = keras.models.load_model(path)
  inputs = dict(np.load(path.with_suffix(".inputs.npz")))
  outputs = model.predict_on_batch(inputs)
  np.savez(path.with_suffix(".outputs.npz"), **outputs)

  def loss(seed, rematerialize=False):
    model.zero_grad()
    with layers.random_seed(seed), layers.rematerialize(rematerialize):
      outputs = model(inputs, training=True)
    floats = (x for x in outputs.values() if x.is_floating_point())
    value = sum((x.float() ** 2).sum() for x in floats)
    value.backward()
    gradients = [v.value.grad for v in model.trainable_variables]
    return float(value.detach()), [x for x in gradients if x is not None]

  values = []
  for seed in ([1, 2], [1, 2], [1, 3]):
    value, gradients = loss(seed)
    values.append(value)
    assert gradients and all(x.isfinite().all() for x in gradients)
  assert values[0] == values[1] != values[2], (path, values)
  if path.stem in ("bert", "xlnet", "deberta", "modernbert"):
    value, found = loss([1, 3], rematerialize=True)
    np.testing.assert_allclose(value, values[2], rtol=1e-6)
    scale = max(float(x.abs().max()) for x in gradients)
    for a, b in zip(found, gradients, strict=True):
      assert float((a - b).abs().max()) <= 1e-6 * scale
"""

FIT = """
import sys
import keras
import numpy as np
import keras_bert_impl as kb

assert keras.backend.backend() == "torch"
keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
ids = rng.integers(5, 30, (16, 8)).astype("int32")
labels = (ids[:, 1] > 17).astype("int32")
for folder in sys.argv[1:]:
  model = kb.SequenceClassifier.from_checkpoint(folder, num_classes=2)
  loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
  model.compile(keras.optimizers.AdamW(2e-3), {"logits": loss})
  inputs, targets = {"input_ids": ids}, {"logits": labels}
  history = model.fit(inputs, targets, batch_size=4, epochs=10, verbose=0)
  first, *_, last = history.history["loss"]
  assert last < 0.8 * first, (folder, history.history)
"""


def run_on_torch(*arguments):
  environment = os.environ | {"KERAS_BACKEND": "torch"}
  result = subprocess.run(
    [sys.executable, *map(str, arguments)],
    capture_output=True,
    text=True,
    env=environment,
    cwd=ROOT,
  )
  assert result.returncode == 0, result.stdout[-5000:] + result.stderr[-5000:]
  return result.stdout


def test_torch_computes_what_transformers_does():
  names = "-p no:cacheprovider -q -n 0 tests/models/test_parity.py".split()
  assert "skipped" not in run_on_torch("-m", "pytest", *names)


def test_torch_computes_the_same_as_tensorflow(tmp_path):
  expected = {}
  for name, make in every_model.MODELS.items():
    model = make()
    inputs = every_model.make_inputs(model)
    model.save(tmp_path / f"{name}.keras")
    np.savez(tmp_path / f"{name}.inputs.npz", **inputs)
    expected[name] = every_model.outputs_of(model)
  run_on_torch("-c", COMPUTE, tmp_path)
  for name, outputs in expected.items():
    found = np.load(tmp_path / f"{name}.outputs.npz")
    # One step of bfloat16 between 2 and 4.
    tolerance = 0.016 if name == "xlnet_mixed" else 1e-5
    for key, values in outputs.items():
      np.testing.assert_allclose(
        found[key], values, atol=tolerance, err_msg=f"{name} {key}"
      )


def test_a_classifier_learns_by_fit_on_torch():
  names = ("bert", "modernbert")
  folders = [test_parity.PARITY / f"{name}_classifier" for name in names]
  run_on_torch("-c", FIT, *folders)
