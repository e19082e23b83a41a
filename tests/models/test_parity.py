"""The whole model against arrays computed with transformers 5.23."""

import json
import pathlib
import re

import keras
import numpy as np
import pytest

from keras_bert_impl import configs, models

FOLDER = pathlib.Path(__file__).parents[1] / "data/parity/bert_pretraining"

# From the names here to those of the safetensors layout.
RENAMES = (
  ("/", "."),
  (r"layer_(\d+)", r"layer.\1"),
  (
    "word_embeddings|position_embeddings|token_type_embeddings",
    r"\g<0>.weight",
  ),
  ("kernel|gamma|output_weights", "weight"),
  ("beta", "bias"),
  (r"output_bias", "bias"),
)


def read_safetensors(path):
  data = path.read_bytes()
  start = 8 + int.from_bytes(data[:8], "little")
  header = json.loads(data[8:start])
  header.pop("__metadata__", None)
  return {
    name: np.frombuffer(
      data[start + entry["data_offsets"][0] : start + entry["data_offsets"][1]],
      "<f4",
    ).reshape(entry["shape"])
    for name, entry in header.items()
  }


def load_weights(model, path):
  arrays = read_safetensors(path)
  for weight in model.weights:
    name = weight.path
    for pattern, replacement in RENAMES:
      name = re.sub(pattern, replacement, name)
    array = arrays.pop(name)
    weight.assign(array.T if weight.path.endswith("kernel") else array)
  assert not arrays, f"left over: {sorted(arrays)}"


@pytest.fixture(scope="module", name="model")
def fixture_model():
  values = json.loads((FOLDER / "config.json").read_text())
  known = configs.EncoderConfig(vocab_size=1).to_dict()
  config = configs.EncoderConfig.from_dict(
    {name: value for name, value in values.items() if name in known}
  )
  model = models.PretrainingModel(config)
  load_weights(model, FOLDER / "model.safetensors")
  return model


@pytest.fixture(scope="module", name="expected")
def fixture_expected():
  return dict(np.load(FOLDER / "expected.npz"))


def make_inputs(expected):
  ids = expected["in.input_ids"]
  return {
    "input_ids": ids,
    "input_mask": expected["in.attention_mask"],
    "segment_ids": expected["in.token_type_ids"],
    "masked_lm_positions": np.broadcast_to(np.arange(ids.shape[1]), ids.shape),
  }


def test_the_logits_are_those_of_the_reference(model, expected):
  outputs = model(make_inputs(expected))
  np.testing.assert_allclose(
    outputs["masked_lm_logits"], expected["out.prediction_logits"], atol=1e-5
  )
  np.testing.assert_allclose(
    outputs["next_sentence_logits"],
    expected["out.seq_relationship_logits"],
    atol=1e-5,
  )


def test_the_hidden_states_are_those_of_the_reference(model, expected):
  hidden_states = model.encoder.hidden_states
  outputs = keras.Model(model.input, hidden_states)(make_inputs(expected))
  assert f"out.hidden_states.{len(outputs)}" not in expected
  for index, hidden in enumerate(outputs):
    np.testing.assert_allclose(
      hidden, expected[f"out.hidden_states.{index}"], atol=1e-5
    )
