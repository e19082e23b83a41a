"""Every family and head against arrays computed with transformers 5."""

import pathlib

import keras
import numpy as np
import pytest

from keras_bert_impl import features, heads, models

# What the reference calls the outputs of a masked language model.
_TOKENS = {"logits": "token_logits", "prediction_logits": "token_logits"}
_SENTENCES = ("seq_relationship_logits", "sop_logits")
MASKED_LM_OUTPUTS = _TOKENS | dict.fromkeys(_SENTENCES, "sentence_logits")
PARITY = pathlib.Path(__file__).parents[1] / "data/parity"
FOLDERS = sorted(PARITY.iterdir())


def read_expected(folder):
  """Returns the inputs under our names, and the outputs."""
  arrays = dict(np.load(folder / "expected.npz"))
  ids = arrays["in.input_ids"]
  inputs = {
    "input_ids": ids,
    "input_mask": arrays["in.attention_mask"],
    "segment_ids": arrays.get("in.token_type_ids", np.zeros_like(ids)),
  }
  for name in ("perm_mask", "target_mapping"):
    if f"in.{name}" in arrays:
      inputs[name] = arrays[f"in.{name}"]
  outputs = {
    name.removeprefix("out."): array
    for name, array in arrays.items()
    if name.startswith("out.")
  }
  return inputs, outputs


def assert_close(tensor, expected):
  array = keras.ops.convert_to_numpy(tensor)
  np.testing.assert_allclose(array, expected, atol=1e-5)


def rows_of(inputs):
  """Returns inputs of an encoder: choices are sequences like any others."""
  return {
    name: array.reshape(-1, array.shape[-1])
    if name in features.ENCODER_INPUTS
    else array
    for name, array in inputs.items()
  }


def test_no_model_is_lost():
  assert len(FOLDERS) == 58


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_outputs_and_hidden_states_are_those_of_the_reference(folder):
  inputs, expected = read_expected(folder)
  model = models.from_checkpoint(folder, heads="encoder" not in folder.name)
  renamed = {
    "last_hidden_state": "sequence_output",
    "pooler_output": "pooled_output",
  }
  if {heads.FILL_MASK} & {*model.heads}:
    renamed = MASKED_LM_OUTPUTS
  logits = {
    renamed.get(name, name): values
    for name, values in expected.items()
    if not name.startswith("hidden_states")
  }
  outputs = model(inputs)
  assert outputs.keys() == logits.keys()
  for name, output in outputs.items():
    assert_close(output, logits[name])
  encoder = getattr(model, "encoder", model)
  states = encoder.hidden_states
  if getattr(encoder, "query_states", None):
    # The reference has the streams in turns.
    pairs = zip(states, encoder.query_states, strict=True)
    states = [state for pair in pairs for state in pair]
  outputs = keras.Model(encoder.input, states)(rows_of(inputs))
  assert f"hidden_states.{len(outputs)}" not in expected
  for index, hidden in enumerate(outputs):
    assert_close(hidden, expected[f"hidden_states.{index}"])


@pytest.mark.parametrize(
  "name", ["bert_multiple_choice", "deberta_masked_lm", "xlnet_classifier"]
)
def test_the_bare_encoder_is_one_line_away(name):
  folder = PARITY / name
  encoder = models.from_checkpoint(folder)
  inputs, expected = read_expected(folder)
  last = encoder.config.num_hidden_layers
  assert_close(
    encoder(rows_of(inputs))["sequence_output"],
    expected[f"hidden_states.{last}"],
  )
