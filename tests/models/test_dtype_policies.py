"""Quantized and mixed models, saved and loaded again."""

import dataclasses
import os
import pathlib
import subprocess
import sys
import warnings

import keras
import numpy as np
import pytest

from keras_bert_impl import configs, layers, models
from keras_bert_impl.checkpoints import reading
from tests import slow

ROOT = pathlib.Path(__file__).parents[2]
CONFIG = configs.EncoderConfig(
  vocab_size=30,
  hidden_size=16,
  num_hidden_layers=2,
  num_attention_heads=2,
  intermediate_size=32,
  max_position_embeddings=10,
  initializer_range=0.2,
)
ALBERT = dataclasses.replace(CONFIG, embedding_size=8, num_hidden_groups=1)
ELECTRA = dataclasses.replace(CONFIG, embedding_size=8)

MODELS = {
  "encoder": lambda: models.TransformerEncoder(CONFIG),
  "embeddings": lambda: models.EmbeddingModel(
    models.TransformerEncoder(CONFIG),
    ("cls", "mean", "weightedmean", "lasttoken", "max"),
    [keras.layers.Dense(4), keras.layers.UnitNormalization()],
    include_prompt=False,
  ),
  "shared_layers": lambda: models.TransformerEncoder(ALBERT),
  "classifier": lambda: models.SequenceClassifier(CONFIG, 3),
  "classifier_bilstm": lambda: models.SequenceClassifier(
    CONFIG, 3, bilstm_width=4
  ),
  "token_classifier": lambda: models.TokenClassifier(CONFIG, 3),
  "question_answering": lambda: models.QuestionAnswering(CONFIG),
  "multiple_choice": lambda: models.MultipleChoice(CONFIG),
  "replaced_tokens": lambda: models.ReplacedTokenDetector(ELECTRA),
  "masked_lm": lambda: models.MaskedLanguageModel(CONFIG, True),
  "pretraining": lambda: models.PretrainingModel(CONFIG),
  "span_boundary": lambda: models.SpanBoundaryModel(CONFIG),
  "electra": lambda: models.ElectraPretrainingModel(
    ELECTRA, models.electra_generator_config(ELECTRA, 0.5)
  ),
  "disentangled": lambda: models.ElectraPretrainingModel(
    ELECTRA,
    models.electra_generator_config(ELECTRA, 0.5),
    embedding_sharing="gdes",
  ),
  "tagger": lambda: models.FeatureTagger(
    CONFIG, 3, features="weighted_sum_all", lstm_width=4
  ),
}
# The others have the same layers, and take about ten seconds each.
NAMES = slow.all_but(
  ("classifier_bilstm",),
  MODELS,
  by_hand=MODELS.keys() - {"classifier_bilstm", "pretraining", "tagger"},
)
IDS = np.array([[2, 7, 8, 3, 0], [2, 9, 10, 11, 3]], "int32")
MASK = (IDS > 0).astype("int32")
# What the sampler drew.
DRAWN = ("replaced_token_logits", "is_replaced")


def make_inputs(model):
  """Returns inputs of B = 2, two choices, L = 5, P = 2."""
  positions = np.array([[1, 2], [1, 3]], "int32")
  inputs = {
    "input_ids": IDS,
    "input_mask": MASK,
    "segment_ids": np.zeros_like(IDS),
    "pooling_mask": MASK,
    "masked_lm_positions": positions,
    "masked_lm_ids": np.array([[7, 8], [9, 11]], "int32"),
    "masked_lm_weights": np.ones((2, 2), "float32"),
    "span_boundaries": np.stack([positions - 1, positions + 1], axis=-1),
  }
  inputs = {name: inputs[name] for name in model.input}
  if isinstance(model, models.MultipleChoice):
    inputs = {name: np.stack([x, x], axis=1) for name, x in inputs.items()}
  return inputs


def outputs_of(model):
  outputs = model(make_inputs(model))
  return {
    name: keras.ops.convert_to_numpy(x)
    for name, x in outputs.items()
    if name not in DRAWN
  }


def assert_reloads(model, folder):
  """Asserts that a model saved to a .keras file computes the same."""
  model.save(folder / "model.keras")
  again = keras.models.load_model(folder / "model.keras")
  assert policies_of(again) == policies_of(model)
  expected, found = outputs_of(model), outputs_of(again)
  for name in expected:
    np.testing.assert_array_equal(found[name], expected[name], name)


def policies_of(model):
  return [layer.dtype_policy.name for layer in model._flatten_layers()]


def quantized(model):
  with warnings.catch_warnings():
    # Of layers that are not quantized.
    warnings.simplefilter("ignore")
    model.quantize("int8")
  assert any("int8" in name for name in policies_of(model))
  return model


@pytest.mark.parametrize("name", NAMES)
def test_a_quantized_model_computes_the_same_after_loading(tmp_path, name):
  assert_reloads(quantized(MODELS[name]()), tmp_path)


@pytest.mark.acceptance
def test_a_quantized_model_does_so_on_jax_too(tmp_path):
  pytest.importorskip("jax")
  program = (
    "import pathlib, sys, keras\n"
    "from tests.models import test_dtype_policies as t\n"
    "assert keras.backend.backend() == 'jax'\n"
    "for name in sys.argv[2:]:\n"
    "  model = t.quantized(t.MODELS[name]())\n"
    "  t.assert_reloads(model, pathlib.Path(sys.argv[1]))\n"
  )
  result = subprocess.run(
    [sys.executable, "-c", program, str(tmp_path), *MODELS],
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
  expected = outputs_of(model)["sequence_output"]
  for layer in model.layers:
    if isinstance(layer, layers.TransformerBlock):
      layer.feed_forward.output_layer.dense.dtype_policy = "mixed_bfloat16"
  assert (outputs_of(model)["sequence_output"] != expected).any()
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
  assert (outputs_of(model)["logits"] != outputs_of(plain)["logits"]).any()
  assert_reloads(model, tmp_path)


def test_a_quantized_model_is_no_checkpoint_to_convert(tmp_path):
  model = models.TransformerEncoder(CONFIG)
  model.get_layer("layer_1").feed_forward.output_layer.dense.quantize("int8")
  model.save(tmp_path / "model.keras")
  with pytest.raises(ValueError, match=r"model\.keras is quantized"):
    reading.open_checkpoint(tmp_path)
