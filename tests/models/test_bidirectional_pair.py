"""A pair of encoders is the two encoders, side by side."""

import dataclasses

import keras
import numpy as np
import pytest

from keras_bert_impl import configs, models
from keras_bert_impl.checkpoints.formats import tf_format
from tests import architectures
from tests.models import directions

CONFIG = configs.EncoderConfig(**architectures.SMALL, **architectures.PAIR)
IDS, MASK, INPUTS = architectures.IDS, architectures.MASK, architectures.INPUTS


def test_its_outputs_are_those_of_both_encoders():
  pair = models.make_encoder(CONFIG)
  assert isinstance(pair, models.BidirectionalPair)
  weights = {weight.path: weight for weight in pair.weights}
  states, found = [], pair(INPUTS)
  for direction, prefix in (
    ("left_to_right", ""),
    ("right_to_left", "right_to_left/"),
  ):
    alone = models.TransformerEncoder(
      dataclasses.replace(CONFIG, causal_direction=direction)
    )
    for weight in alone.weights:
      weight.assign(weights.pop(prefix + weight.path))
    every_layer = keras.Model(alone.input, alone.hidden_states)
    filled = INPUTS | {"segment_ids": np.zeros_like(IDS)}
    states.append((alone(INPUTS), every_layer(filled)))
  assert not weights
  (forward, of_forward), (backward, of_backward) = states
  for name in ("sequence_output", "pooled_output"):
    np.testing.assert_allclose(
      found[name],
      np.concatenate([forward[name], backward[name]], axis=-1),
      atol=1e-6,
    )
  hidden = keras.Model(pair.input, pair.hidden_states)(filled)
  for layer, *both in zip(hidden, of_forward, of_backward, strict=True):
    np.testing.assert_allclose(layer, np.concatenate(both, -1), atol=1e-6)


def test_a_checkpoint_of_both_language_models_is_read_as_a_pair(tmp_path):
  model = models.BidirectionalLanguageModel(CONFIG, shares_embeddings=True)
  tf_format.write(
    tmp_path / "model.ckpt", {weight.path: weight for weight in model.weights}
  )
  CONFIG.to_json_file(tmp_path / "bert_config.json")
  again = models.from_checkpoint(tmp_path, heads=True)
  expected, found = model(INPUTS), again(INPUTS)
  assert found.keys() == {"token_logits", "backward_token_logits"}
  for name, logits in expected.items():
    np.testing.assert_allclose(found[name], logits, atol=1e-5)
  pair = models.from_checkpoint(tmp_path)
  np.testing.assert_allclose(
    pair(INPUTS)["sequence_output"],
    model.encoder(INPUTS)["sequence_output"],
    atol=1e-5,
  )


def test_no_language_model_sees_what_it_predicts():
  found = [*directions.differences(models.BidirectionalLanguageModel(CONFIG))]
  assert len(found) == 2
  for unchanged, others in found:
    assert unchanged.max() < 1e-6 < others.min()


def test_another_objective_refuses_its_configuration():
  with pytest.raises(ValueError, match="--objective=bidirectional_pair trains"):
    models.PretrainingModel(CONFIG)
