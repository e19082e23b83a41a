"""LoRA: adapters are trained, saved, exchanged with peft and merged."""

import importlib.util
import json
import os
import subprocess
import sys

import keras
import numpy as np
import pytest
import safetensors.numpy

import keras_bert_impl as kb
from keras_bert_impl.checkpoints import writing
from keras_bert_impl.checkpoints.descriptions import description
from keras_bert_impl.checkpoints.naming import mappings
from tests import architectures

NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
CONFIG = kb.EncoderConfig(**architectures.SMALL, **NO_DROPOUT)
LABELS = np.array([0, 1, 0])


def classifier(config=CONFIG):
  return kb.SequenceClassifier(config, 2)


def logits(model):
  outputs = model(architectures.INPUTS)
  outputs = outputs["logits"] if isinstance(outputs, dict) else outputs
  return keras.ops.convert_to_numpy(outputs)


def draw(model, seed=0):
  """Gives all that is trained random values; returns the model."""
  random = np.random.default_rng(seed)
  for weight in model.trainable_weights:
    weight.assign(random.normal(0, 0.1, weight.shape))
  return model


def fit(model, epochs=1):
  model.fit(
    architectures.INPUTS, LABELS, epochs=epochs, verbose=0, shuffle=False
  )


def compiled(model, run_eagerly=True):
  loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
  optimizer = keras.optimizers.Adam(0.01)
  model.compile(optimizer, loss, run_eagerly=run_eagerly)
  return model


def values(variables):
  return [keras.ops.convert_to_numpy(variable) for variable in variables]


def test_adapters_and_the_head_alone_are_trained_from_the_same_outputs():
  model = classifier()
  before = logits(model)
  assert kb.lora(model, 4, alpha=8) is model
  np.testing.assert_array_equal(logits(model), before)
  adapted = [
    f"bert/encoder/layer_{number}/attention/self/{name}/lora_kernel_{part}"
    for number in (0, 1)
    for name in ("query", "value")
    for part in ("a", "b")
  ]
  head = ["bert/pooler/dense/kernel", "bert/pooler/dense/bias"]
  head += ["classifier/output_weights", "classifier/output_bias"]
  assert [w.path for w in model.trainable_weights] == adapted + head

  frozen = values(model.non_trainable_weights)
  fit(compiled(model), 2)
  for now, then in zip(
    values(model.non_trainable_weights), frozen, strict=True
  ):
    np.testing.assert_array_equal(now, then)
  assert all(np.any(kernel) for kernel in values(model.trainable_weights))


def own_head(model):
  """Returns a model of the user on the encoder of a model."""
  encoder = model.encoder
  outputs = keras.layers.Dense(2)(encoder.hidden_states[-1][:, 0])
  return kb.Model(encoder.input, outputs)


def test_adapters_compute_in_half_precision_too():
  model = draw(
    kb.lora(kb.SequenceClassifier(CONFIG, 2, dtype="mixed_bfloat16"))
  )
  expected = kb.lora(classifier(), 8)
  expected.set_weights(model.get_weights())
  np.testing.assert_allclose(logits(model), logits(expected), atol=0.1)
  assert model.trainable_weights[0].dtype == "float32"


@pytest.mark.integration
@pytest.mark.parametrize("make", [classifier, lambda: own_head(classifier())])
def test_a_keras_file_keeps_adapters_and_the_state_of_the_optimizer(
  make, tmp_path
):
  model = kb.lora(make(), 4, ("query", "output/dense"), alpha=2.0)
  fit(compiled(model), 2)
  model.save(tmp_path / "model.keras")
  again = keras.models.load_model(tmp_path / "model.keras")
  assert [w.trainable for w in again.weights] == [
    w.trainable for w in model.weights
  ]
  assert len(again.optimizer.variables) == len(model.optimizer.variables)
  for one, other in zip(
    values([*again.weights, *again.optimizer.variables]),
    values([*model.weights, *model.optimizer.variables]),
    strict=True,
  ):
    np.testing.assert_array_equal(one, other)
  # On it goes, from weights and moments both.
  fit(model)
  fit(again)
  for one, other in zip(
    values(again.weights), values(model.weights), strict=True
  ):
    np.testing.assert_allclose(one, other, atol=1e-6)


def test_merging_keeps_the_outputs_and_opening_merges(tmp_path):
  model = draw(kb.lora(classifier(), 4, ("value", "intermediate/dense"), 3.0))
  expected = logits(model)
  compiled(model, run_eagerly=False)
  model.save(tmp_path / "model.keras")
  opened = kb.from_checkpoint(tmp_path / "model.keras", heads=True)
  np.testing.assert_allclose(logits(opened), expected, atol=1e-5)
  trace = model.predict(architectures.INPUTS, verbose=0)["logits"]
  kb.merge_lora(model)
  assert [w.path for w in model.weights] == [w.path for w in opened.weights]
  np.testing.assert_allclose(logits(model), expected, atol=1e-5)
  # By the function that was traced with adapters, too.
  outputs = model.predict(architectures.INPUTS, verbose=0)["logits"]
  np.testing.assert_allclose(outputs, trace, atol=1e-5)
  np.testing.assert_allclose(trace, expected, atol=1e-5)


@pytest.mark.parametrize(
  ("make", "fields"),
  [
    (classifier, {}),
    (lambda config: kb.TokenClassifier(config, 3), {}),
    (kb.QuestionAnswering, {}),
    (lambda config: kb.TransformerEncoder(config, use_pooler=True), {}),
    (classifier, {"model_type": "electra"}),
  ],
  ids=["classes", "tags", "answers", "encoder", "electra"],
)
def test_adapters_come_back_from_a_folder_of_peft(make, fields, tmp_path):
  config = CONFIG.from_dict(CONFIG.to_dict() | fields)
  model = make(config)
  other = make(config)
  other.set_weights(model.get_weights())
  draw(kb.lora(model, 3, ("key", "attention/output/dense"), 5.0))
  kb.save_lora(model, tmp_path / "peft", base="base")
  assert kb.load_lora(other, tmp_path / "peft") is other
  assert [w.path for w in other.trainable_weights] == [
    w.path for w in model.trainable_weights
  ]
  for one, two in zip(
    values(other.weights), values(model.weights), strict=True
  ):
    np.testing.assert_array_equal(one, two)


def test_the_folder_has_the_names_of_peft(tmp_path):
  model = draw(kb.lora(classifier(), 3, ("query",), 5.0))
  kb.save_lora(model, tmp_path / "peft", base="some/base")
  config = json.loads((tmp_path / "peft/adapter_config.json").read_text())
  assert config["peft_type"] == "LORA" and config["task_type"] == "SEQ_CLS"
  assert config["base_model_name_or_path"] == "some/base"
  assert (config["r"], config["lora_alpha"]) == (3, 5.0)
  assert config["modules_to_save"] == ["bert.pooler.dense", "classifier"]
  layers = [f"bert.encoder.layer.{n}.attention.self.query" for n in (0, 1)]
  assert config["target_modules"] == layers
  stored = safetensors.numpy.load_file(
    tmp_path / "peft/adapter_model.safetensors"
  )
  adapters = [f"{x}.lora_{part}.weight" for x in layers for part in "AB"]
  head = ["bert.pooler.dense.weight", "bert.pooler.dense.bias"]
  head += ["classifier.weight", "classifier.bias"]
  expected = {f"base_model.model.{name}" for name in adapters + head}
  assert stored.keys() == expected
  a = stored[f"base_model.model.{adapters[0]}"]
  assert a.shape == (3, CONFIG.hidden_size)


# Calls with one mistake, and what the message says.
WRONG = [
  (lambda: kb.lora(classifier(), 0), r"rank \(0\) must be an integer in \[1,"),
  (lambda: kb.lora(classifier(), 4, alpha=0.0), r"alpha \(0.0\) must be"),
  (
    lambda: kb.lora(classifier(), 4, ("query", "q_proj")),
    r"targets \('q_proj'\) must be ends .*: dense, key, query, value",
  ),
  (lambda: kb.lora(classifier(), 4, ()), r"targets \(''\) must be ends"),
  (lambda: kb.lora(kb.lora(classifier())), "has adapters already"),
  (lambda: kb.lora(compiled(classifier())), "is compiled: add adapters before"),
  (lambda: kb.merge_lora(classifier()), "has no adapters"),
  (lambda: kb.lora(classifier()).quantize("int8"), "merge them with kb.merge"),
]


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_wrong_calls_say_what_to_do(call, message):
  with pytest.raises(ValueError, match=message):
    call()


def test_a_frozen_encoder_gets_no_adapters():
  tagger = kb.FeatureTagger(CONFIG, 2, "last", lstm_width=4)
  with pytest.raises(ValueError, match="is frozen: adapters need one that is"):
    kb.lora(tagger)


@pytest.mark.parametrize(
  ("changes", "message"),
  [
    ({"peft_type": "LOHA"}, r"peft_type \('LOHA'\) in .* is not supported"),
    ({"use_dora": True}, r"use_dora \(True\) in .* is not supported"),
    ({"r": "3"}, "r in .*adapter_config.json"),
    ({"r": 0}, r"r \(0\) must be .*in \[1, 4096\]. See .*adapter_config.json"),
    ({"r": -1, "use_rslora": True}, r"r \(-1\) must be an integer in"),
    ({"r": 10**9}, r"r \(1000000000\) must be an integer in"),
    ({"lora_alpha": float("nan")}, r"lora_alpha \(nan\) must be in"),
    ({"r": 4}, r"r \(4\) in .* is not the rank of .*lora_A.* \(3, 16\)"),
  ],
)
def test_other_adapters_are_refused(changes, message, tmp_path):
  kb.save_lora(kb.lora(classifier(), 3), tmp_path / "peft")
  path = tmp_path / "peft/adapter_config.json"
  path.write_text(json.dumps(json.loads(path.read_text()) | changes))
  with pytest.raises(ValueError, match=message):
    kb.load_lora(classifier(), tmp_path / "peft")


def test_adapters_of_another_model_are_refused(tmp_path):
  kb.save_lora(kb.lora(classifier(), 3), tmp_path / "peft")
  with pytest.raises(ValueError, match="for which .* has none"):
    kb.load_lora(kb.QuestionAnswering(CONFIG), tmp_path / "peft")
  modernbert = CONFIG.from_dict(CONFIG.to_dict() | {"model_type": "modernbert"})
  with pytest.raises(ValueError, match="has attention/self/in_proj for our"):
    kb.save_lora(kb.lora(classifier(modernbert)), tmp_path / "own")


@pytest.mark.slow
def test_peft_computes_the_same(tmp_path):
  pytest.importorskip("peft")
  import peft
  import torch
  import transformers

  model = classifier()
  variables = {w.path: w for w in model.weights}
  writing.write_safetensors(
    tmp_path,
    mappings.Arrays(variables),
    description.Description(CONFIG, model.heads[0], ("a", "b")),
    10**9,
  )
  draw(kb.lora(model, 3, ("query", "output/dense"), 7.0))
  kb.save_lora(model, tmp_path / "ours")
  cls = transformers.AutoModelForSequenceClassification
  theirs = peft.PeftModel.from_pretrained(
    cls.from_pretrained(tmp_path), tmp_path / "ours"
  ).eval()
  inputs = {
    "input_ids": torch.tensor(architectures.IDS).long(),
    "attention_mask": torch.tensor(architectures.MASK).long(),
  }
  found = theirs(**inputs).logits.detach().numpy()
  np.testing.assert_allclose(found, logits(model), atol=1e-5)


JAX = """
import keras
from tests.models import test_lora

assert keras.backend.backend() == "jax"
model = test_lora.kb.lora(test_lora.classifier(), 4)
test_lora.fit(test_lora.compiled(model, run_eagerly=False))
expected = test_lora.logits(model)
test_lora.kb.merge_lora(model)
found = test_lora.logits(model)
test_lora.np.testing.assert_allclose(found, expected, atol=1e-5)
"""


@pytest.mark.slow
@pytest.mark.skipif(
  importlib.util.find_spec("jax") is None, reason="JAX is not installed"
)
def test_jax_trains_and_merges_adapters():
  environment = os.environ | {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
  subprocess.run([sys.executable, "-c", JAX], env=environment, check=True)
