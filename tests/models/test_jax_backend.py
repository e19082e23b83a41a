"""The layers and models on Keras' JAX backend, in a process of their own."""

import dataclasses
import importlib.util
import os
import pathlib
import subprocess
import sys

import keras
import numpy as np
import pytest

from keras_bert_impl import configs, models
from tests import architectures

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
ALBERT = dataclasses.replace(
  CONFIG, embedding_size=8, num_hidden_groups=1, hidden_act="gelu_new"
)
ROBERTA = dataclasses.replace(CONFIG, position_offset=2, type_vocab_size=1)
MPNET = dataclasses.replace(
  ROBERTA, type_vocab_size=0, relative_attention_num_buckets=8
)
ELECTRA = dataclasses.replace(CONFIG, embedding_size=8)
XLNET = dataclasses.replace(
  CONFIG, position_embedding_type="transformer_xl", type_vocab_size=4
)
DEBERTA = dataclasses.replace(
  CONFIG,
  **architectures.DEBERTA | {"type_vocab_size": 2},
  norm_rel_ebd="layer_norm",
  conv_kernel_size=3,
)
MODERNBERT = dataclasses.replace(
  CONFIG,
  **architectures.MODERNBERT | {"attention_window": 2},
  classifier_pooling="mean",
  decoder_bias=False,
)

MODELS = {
  "bert": lambda: models.PretrainingModel(CONFIG),
  "roberta": lambda: models.MaskedLanguageModel(ROBERTA),
  "albert": lambda: models.MaskedLanguageModel(ALBERT, True),
  "spanbert": lambda: models.SpanBoundaryModel(CONFIG),
  "electra": lambda: models.ElectraPretrainingModel(
    ELECTRA, models.electra_generator_config(ELECTRA, 0.5)
  ),
  "packed": lambda: models.PretrainingModel(
    MPNET, use_sentence_head=False, use_sequence_ids=True
  ),
  # Attention in blocks.
  "long": lambda: models.MaskedLanguageModel(
    dataclasses.replace(CONFIG, max_position_embeddings=1100)
  ),
  "xlnet": lambda: models.PermutationLanguageModel(XLNET, use_mems=True),
  "deberta": lambda: models.MaskedLanguageModel(DEBERTA),
  "modernbert": lambda: models.MaskedLanguageModel(MODERNBERT),
  "modernbert_choice": lambda: models.MultipleChoice(MODERNBERT),
  "deberta_decoder": lambda: models.MaskedLanguageModel(
    dataclasses.replace(DEBERTA, conv_kernel_size=0), use_mask_decoder=True
  ),
  "deberta_v3": lambda: models.ElectraPretrainingModel(
    DEBERTA,
    models.electra_generator_config(DEBERTA, 1, 0.5),
    embedding_sharing="gdes",
  ),
  "pair": lambda: models.BidirectionalLanguageModel(
    dataclasses.replace(CONFIG, **architectures.PAIR)
  ),
  "elmo": lambda: models.ElmoLanguageModel(
    dataclasses.replace(CONFIG, **architectures.ELMO)
  ),
  "choice": lambda: models.MultipleChoice(CONFIG),
  "embeddings": lambda: models.EmbeddingModel(
    models.TransformerEncoder(CONFIG),
    ("cls", "mean", "weightedmean", "lasttoken", "max"),
    [keras.layers.Dense(4), keras.layers.UnitNormalization()],
    include_prompt=False,
  ),
}
FAST = ["bert", "packed", "long"]
OTHERS = [name for name in MODELS if name not in FAST]
# Drawn differently by different backends.
DRAWN = ("replaced_token_logits", "is_replaced")

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
for path in pathlib.Path(sys.argv[1]).glob("*.keras"):
  model = keras.models.load_model(path)
  if path.stem == "long":
    assert model.encoder.get_layer("layer_0").kind.chunk_size == 3
  inputs = dict(np.load(path.with_suffix(".inputs.npz")))
  np.savez(path.with_suffix(".outputs.npz"), **model(inputs))

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
  if path.stem not in RECOMPUTED:
    continue
  run = jax.jit(jax.value_and_grad(functools.partial(loss, rematerialize=True)))
  value, found = run(trainable, np.array([1, 3], "int32"))
  np.testing.assert_allclose(value, values[2], rtol=1e-6)
  scale = max(abs(gradient).max() for gradient in gradients)
  for a, b in zip(found, gradients, strict=True):
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-6 * scale)
assert "tensorflow" not in sys.modules
"""


def make_inputs(model):
  """Returns random inputs of `model`: B = 2, four choices, L = 8, P = 3."""
  rng = np.random.default_rng(0)
  shapes = {1: (2,), 2: (2, 8), 3: (2, 4, 8)}
  inputs = {}
  for tensor in model.inputs:
    if tensor.name in ("perm_mask", "target_mapping", "mems"):
      continue
    is_prediction = tensor.name.startswith("masked_lm")
    shape = (2, 3) if is_prediction else shapes[len(tensor.shape)]
    inputs[tensor.name] = rng.integers(0, 2, shape).astype("int32")
  inputs["input_ids"] += rng.integers(0, 28, inputs["input_ids"].shape)
  inputs["input_mask"][:] = np.arange(8) < 6
  if "sequence_ids" in inputs:
    inputs["sequence_ids"][0] = [1, 1, 2, 2, 2, 3, 0, 0]
    inputs["sequence_ids"][1] = [1, 2, 2, 2, 2, 2, 0, 0]
  if "masked_lm_positions" in inputs:
    inputs["masked_lm_positions"][:] = [[1, 3, 5], [2, 4, 0]]
  if "target_mapping" in model.input:
    inputs["perm_mask"] = np.triu(np.ones((2, 8, 8), "float32"))
    inputs["target_mapping"] = np.eye(8, dtype="float32")[[[1, 3], [2, 4]]]
    inputs["mems"] = rng.normal(size=(2, 2, 3, 16)).astype("float32")
  if "masked_lm_weights" in inputs:
    inputs["masked_lm_weights"] = np.ones((2, 3), "float32")
  if "span_boundaries" in inputs:
    inputs["span_boundaries"] = np.array(
      [[[0, 2], [2, 4], [4, 6]], [[1, 3], [3, 5], [0, 0]]], "int32"
    )
  return inputs


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
    model = MODELS[name]()
    inputs = make_inputs(model)
    model.save(tmp_path / f"{name}.keras")
    np.savez(tmp_path / f"{name}.inputs.npz", **inputs)
    expected[name] = model(inputs)
  environment = os.environ | {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
  result = subprocess.run(
    [sys.executable, "-c", PROGRAM, str(tmp_path)],
    capture_output=True,
    text=True,
    env=environment,
    cwd=ROOT,
  )
  assert result.returncode == 0, result.stderr
  for name, outputs in expected.items():
    found = np.load(tmp_path / f"{name}.outputs.npz")
    for key in set(outputs) - set(DRAWN):
      np.testing.assert_allclose(
        found[key], outputs[key], atol=1e-5, err_msg=f"{name} {key}"
      )
