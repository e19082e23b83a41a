"""Quantized and mixed models, saved and loaded again."""

import os
import pathlib
import subprocess
import sys
import warnings

import keras
import numpy as np
import pytest

from keras_bert_impl import layers, models
from keras_bert_impl.checkpoints import reading
from keras_bert_impl.layers.basics import layer as layer_lib
from tests import slow
from tests.models import every_model

ROOT = pathlib.Path(__file__).parents[2]
CONFIG = every_model.DEEP
# The others have the same layers, and take about ten seconds each.
NAMES = slow.all_but(
  ("classifier_bilstm",),
  every_model.MODELS,
  by_hand=every_model.MODELS.keys() - {"classifier_bilstm", "bert", "tagger"},
)


def assert_reloads(model, folder):
  """Asserts that a model saved to a .keras file computes the same."""
  model.save(folder / "model.keras")
  again = keras.models.load_model(folder / "model.keras")
  assert policies_of(again) == policies_of(model)
  expected, found = every_model.outputs_of(model), every_model.outputs_of(again)
  for name in expected:
    np.testing.assert_array_equal(found[name], expected[name], name)


def policies_of(model):
  return [
    each.dtype_policy.name for each in (model, *layer_lib.inner_layers(model))
  ]


def quantized(model):
  with warnings.catch_warnings():
    # Of layers that are not quantized.
    warnings.simplefilter("ignore")
    model.quantize("int8")
  assert any("int8" in name for name in policies_of(model))
  return model


@pytest.mark.integration
@pytest.mark.parametrize("name", NAMES)
def test_a_quantized_model_computes_the_same_after_loading(tmp_path, name):
  assert_reloads(quantized(every_model.MODELS[name]()), tmp_path)


@pytest.mark.acceptance
def test_a_quantized_model_does_so_on_jax_too(tmp_path):
  pytest.importorskip("jax")
  program = (
    "import pathlib, sys, keras\n"
    "from tests.models import test_dtype_policies as t\n"
    "assert keras.backend.backend() == 'jax'\n"
    "for name in sys.argv[2:]:\n"
    "  model = t.quantized(t.every_model.MODELS[name]())\n"
    "  t.assert_reloads(model, pathlib.Path(sys.argv[1]))\n"
  )
  result = subprocess.run(
    [sys.executable, "-c", program, str(tmp_path), *every_model.MODELS],
    capture_output=True,
    text=True,
    env=os.environ | {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"},
    cwd=ROOT,
  )
  assert result.returncode == 0, result.stderr


@pytest.mark.slow
def test_quantized_layers_reload_in_any_model(tmp_path):
  encoder = models.TransformerEncoder(CONFIG)
  # Their paths are others after loading: without "bert/encoder/".
  model = quantized(
    keras.Model(encoder.input, {"logits": encoder.hidden_states[-1]})
  )
  assert_reloads(model, tmp_path)


def test_what_was_left_unquantized_stays_so(tmp_path):
  model = models.TransformerEncoder(CONFIG)
  model.get_layer("layer_1").feed_forward.output_layer.dense.quantize("int8")
  assert sum("int8" in name for name in policies_of(model)) == 1
  assert_reloads(model, tmp_path)


@pytest.mark.skipif(
  not hasattr(keras.quantizers, "Int8QuantizationConfig"),
  reason="this Keras quantizes in one way only",
)
def test_weights_quantized_alone_stay_so(tmp_path):
  model = models.TransformerEncoder(CONFIG)
  config = keras.quantizers.Int8QuantizationConfig(activation_quantizer=None)
  model.get_layer("layer_1").feed_forward.output_layer.dense.quantize(
    "int8", config=config
  )
  assert_reloads(model, tmp_path)


def test_each_layer_keeps_a_policy_of_its_own(tmp_path):
  model = models.TransformerEncoder(CONFIG)
  expected = every_model.outputs_of(model)["sequence_output"]
  for layer in model.layers:
    if isinstance(layer, layers.TransformerBlock):
      layer.feed_forward.output_layer.dense.dtype_policy = "mixed_bfloat16"
  assert (every_model.outputs_of(model)["sequence_output"] != expected).any()
  assert_reloads(model, tmp_path)


def test_a_map_of_policies_is_kept(tmp_path):
  dtype = keras.dtype_policies.DTypePolicyMap(
    "float32",
    {
      "bert/encoder/layer_1.*": keras.dtype_policies.get("mixed_bfloat16"),
    },
  )
  model = models.SequenceClassifier(CONFIG, 3, dtype=dtype)
  plain = models.SequenceClassifier(CONFIG, 3)
  plain.set_weights(model.get_weights())
  assert (
    every_model.outputs_of(model)["logits"]
    != every_model.outputs_of(plain)["logits"]
  ).any()
  assert_reloads(model, tmp_path)


def test_a_quantized_model_is_no_checkpoint_to_convert(tmp_path):
  model = models.TransformerEncoder(CONFIG)
  model.get_layer("layer_1").feed_forward.output_layer.dense.quantize("int8")
  model.save(tmp_path / "model.keras")
  with pytest.raises(ValueError, match=r"model\.keras is quantized"):
    reading.open_checkpoint(tmp_path)
