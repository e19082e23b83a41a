"""The layers and models on Keras' JAX backend, in a process of their own."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from tests.models import every_model

pytestmark = pytest.mark.integration

ROOT = pathlib.Path(__file__).parents[2]

PARITY = ROOT / "tests/data/parity"
FAST = ["bert", "packed_long", "deberta"]
OTHERS = [name for name in every_model.MODELS if name not in FAST]

PROGRAM = """
import functools
import pathlib
import sys
import jax
import keras
import numpy as np
from keras_bert_impl import layers, models
from keras_bert_impl.layers.attention import scores

# So that long rows are cut into blocks.
scores.FEW_SCORES, scores.CHUNK_SIZE = 0, 3
RECOMPUTED = ("bert", "albert", "electra", "xlnet", "deberta", "modernbert")
assert keras.backend.backend() == "jax"
model = models.from_checkpoint(sys.argv[2], heads=True)
arrays = dict(np.load(f"{sys.argv[2]}/expected.npz"))
outputs = jax.jit(model)({
  "input_ids": arrays["in.input_ids"],
  "input_mask": arrays["in.attention_mask"],
  "segment_ids": arrays["in.token_type_ids"],
})
names = {"token_logits": "prediction_logits", "sentence_logits": "sop_logits"}
assert outputs.keys() == names.keys()
for name, theirs in names.items():
  np.testing.assert_allclose(outputs[name], arrays[f"out.{theirs}"], atol=1e-5)

def is_recurrent(path):
  # Where it copies a recurrent layer, Keras looks for types of TensorFlow.
  return path.stem.endswith(("bilstm", "tagger"))

for path in sorted(pathlib.Path(sys.argv[1]).glob("*.keras"), key=is_recurrent):
  model = keras.models.load_model(path)
  if path.stem == "packed_long":
    assert model.encoder.get_layer("layer_0").kind.chunk_size == 3
  inputs = dict(np.load(path.with_suffix(".inputs.npz")))
  np.savez(path.with_suffix(".outputs.npz"), **jax.jit(model)(inputs))

  def loss(trainable, seed, rematerialize=False):
    with layers.random_seed(seed), layers.rematerialize(rematerialize):
      outputs, _ = model.stateless_call(
        trainable,
        [v.value for v in model.non_trainable_variables],
        inputs,
        training=True,
      )
    floats = (x for x in outputs.values() if "float" in str(x.dtype))
    return sum((x**2).sum() for x in floats)

  run = jax.jit(jax.value_and_grad(loss))
  trainable = [v.value for v in model.trainable_variables]
  values = []
  for seed in ([1, 2], [1, 2], [1, 3]):
    value, gradients = run(trainable, np.array(seed, "int32"))
    values.append(float(value))
    assert all(np.isfinite(gradient).all() for gradient in gradients)
  assert values[0] == values[1] != values[2], (path, values)
  for name, wrong in (("input_ids", -1), ("input_ids", 30), ("segment_ids", 4)):
    if name == "segment_ids" and model.config.type_vocab_size < 2:
      continue
    ids = inputs[name].copy()
    ids[..., 0] = wrong
    try:
      model(inputs | {name: ids})
    except ValueError as error:
      assert f"{name} ({wrong}) must be from 0" in str(error), error
    else:
      raise AssertionError(f"{path}: {name} {wrong} was taken")
  assert is_recurrent(path) or "tensorflow" not in sys.modules, path
  if path.stem not in RECOMPUTED:
    continue
  run = jax.jit(jax.value_and_grad(functools.partial(loss, rematerialize=True)))
  value, found = run(trainable, np.array([1, 3], "int32"))
  np.testing.assert_allclose(value, values[2], rtol=1e-6)
  scale = max(abs(gradient).max() for gradient in gradients)
  for a, b in zip(found, gradients, strict=True):
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-6 * scale)
"""


@pytest.mark.skipif(
  importlib.util.find_spec("jax") is None, reason="JAX is not installed"
)
@pytest.mark.parametrize(
  "names",
  [FAST, pytest.param(OTHERS, marks=pytest.mark.acceptance)],
  ids=[" ".join(FAST), "others"],
)
def test_jax_computes_the_same_as_tensorflow(tmp_path, names):
  expected = {}
  for name in names:
    model = every_model.MODELS[name]()
    inputs = every_model.make_inputs(model)
    model.save(tmp_path / f"{name}.keras")
    np.savez(tmp_path / f"{name}.inputs.npz", **inputs)
    expected[name] = model(inputs)
  environment = os.environ | {
    "KERAS_BACKEND": "jax",
    "JAX_PLATFORMS": "cpu",
    # Much of the time would go into making fast what runs once.
    "XLA_FLAGS": "--xla_backend_optimization_level=0",
  }
  result = subprocess.run(
    [sys.executable, "-c", PROGRAM, tmp_path, PARITY / "albert_pretraining"],
    capture_output=True,
    text=True,
    env=environment,
    cwd=ROOT,
  )
  assert result.returncode == 0, result.stderr
  for name, outputs in expected.items():
    found = np.load(tmp_path / f"{name}.outputs.npz")
    # Processors with products of bfloat16 sum them in another order.
    atol = 4e-2 if "mixed" in name else 1e-5
    for key in set(outputs) - set(every_model.DRAWN):
      np.testing.assert_allclose(
        found[key], outputs[key], atol=atol, err_msg=f"{name} {key}"
      )
