"""What ModernBERT has that other families have not."""

import dataclasses
import json
import pathlib

import keras
import numpy as np
import pytest

from keras_bert_impl import configs, models
from keras_bert_impl.checkpoints.descriptions import config_json, description

PARITY = pathlib.Path(__file__).parents[1] / "data/parity"
VALUES = json.loads((PARITY / "modernbert_encoder/config.json").read_text())
NEW_KEYS = ("rope_parameters", "layer_types")


def read(**changes):
  values = {k: x for k, x in (VALUES | changes).items() if x is not ...}
  return config_json.from_dict(values, "config.json").config


def test_both_forms_of_its_configuration_are_read():
  config = read(
    rope_parameters={
      "full_attention": {"rope_theta": 500.0},
      "sliding_attention": {"rope_theta": 20.0, "rope_type": "default"},
    },
    layer_types=["full_attention", "sliding_attention", "full_attention"],
  )
  assert (config.rotary_base, config.local_rotary_base) == (500.0, 20.0)
  assert config.global_attention_every == 2
  old = dict.fromkeys(NEW_KEYS, ...) | {
    "global_rope_theta": 500.0,
    "local_rope_theta": 20.0,
    "global_attn_every_n_layers": 2,
  }
  assert read(**old) == config
  assert read(**old | {"local_rope_theta": None}).local_rotary_base == 500.0


def test_a_key_that_is_left_out_means_what_it_means_in_transformers():
  sizes = ("vocab_size", "hidden_size", "num_hidden_layers")
  sizes += ("num_attention_heads", "intermediate_size")
  sizes += ("max_position_embeddings", "model_type")
  config = read(**dict.fromkeys(VALUES.keys() - set(sizes), ...))
  assert config == dataclasses.replace(
    configs.EncoderConfig.preset("modernbert_base"),
    **{name: VALUES[name] for name in sizes},
    classifier_pooling="cls",
  )


def test_the_form_of_transformers_5_is_written():
  config = dataclasses.replace(
    read(), num_hidden_layers=5, global_attention_every=2, rotary_base=7.0
  )
  for source in ({}, VALUES, VALUES | {"global_rope_theta": 3.0}):
    values = config_json.to_dict(
      description.Description(config, use_pooler=False, source=source)
    )
    assert values["rope_parameters"]["full_attention"]["rope_theta"] == 7.0
    assert "global_rope_theta" not in values
    assert values["layer_types"] == [
      f"{kind}_attention"
      for kind in ("full", "sliding", "full", "sliding", "full")
    ]
    assert values["pad_token_id"] == 0
    assert config_json.from_dict(values, "config.json").config == config


@pytest.mark.parametrize(
  ("changes", "message"),
  [
    (
      {"rope_parameters": {"full_attention": {"rope_type": "yarn"}}},
      "rope_parameters .*'yarn'.* not supported; only those of rope_type 'def",
    ),
    ({"rope_parameters": 3}, "rope_parameters .3. in config.json are not supp"),
    ({"rope_scaling": {"factor": 2}}, "rope_scaling .* in .* not supported"),
    ({"layer_types": ["full_attention"]}, "layer_types .* for the first of 3"),
    (
      {"layer_types": ["sliding_attention"] * 3},
      "layer_types .* must have 'full_attention' for the first of 3 layers",
    ),
    (
      {"num_attention_heads": 32},
      "size of attention heads .1: .* must be even",
    ),
    ({"local_attention": 1}, "attention_window .1. must be at least 2"),
    (
      {"layer_types": ..., "global_attn_every_n_layers": 0},
      "global_attention_every .0. must be an integer in .1,",
    ),
    ({"classifier_pooling": "max"}, "classifier_pooling .'max'. must be one"),
    ({"is_decoder": True}, "is_decoder .True. in .* not supported"),
    ({"norm_bias": "no"}, "norm_bias .'no'. must be one of"),
  ],
)
def test_wrong_configurations_are_refused_in_one_line(changes, message):
  with pytest.raises(ValueError, match=message) as error:
    read(**changes)
  assert "\n" not in str(error.value)


def test_heads_begin_with_that_of_the_masked_language_model():
  name = "cls/predictions/transform/dense/kernel"
  for model in (
    models.SequenceClassifier(read(), 3),
    models.TokenClassifier(read(), 3),
    models.QuestionAnswering(read()),
    models.MultipleChoice(read()),
    models.MaskedLanguageModel(read()),
  ):
    paths = [weight.path for weight in model.weights]
    assert name in paths and "bert/pooler/dense/kernel" not in paths


def test_the_mean_is_that_of_the_tokens():
  config = dataclasses.replace(read(), classifier_pooling="mean")
  encoder = models.TransformerEncoder(config)
  mask = (np.arange(20) < 9)[None].astype("int32")
  found = encoder({"input_ids": np.arange(20)[None] + 3, "input_mask": mask})
  mean = np.array(found["sequence_output"])[:, :9].mean(axis=1)
  np.testing.assert_allclose(found["pooled_output"], mean, atol=1e-5)


def test_the_probabilities_of_attention_are_those_of_its_windows():
  model = models.from_checkpoint(PARITY / "modernbert_encoder")
  probs = keras.Model(model.input, model.attention_probs)
  ids = np.arange(17)[None]
  near = np.abs(ids - ids.T) <= 3
  ones = np.ones_like(ids)
  found = probs({"input_ids": ids, "input_mask": ones, "segment_ids": 0 * ids})
  for number, layer in enumerate(found):
    seen = near if number % 3 else np.ones_like(near)
    np.testing.assert_array_equal(
      np.array(layer) > 0, np.broadcast_to(seen, layer.shape)
    )


def test_bfloat16_computes_about_the_same():
  keras.utils.set_random_seed(0)
  model = models.MaskedLanguageModel(read(), dtype="mixed_bfloat16")
  exact = models.MaskedLanguageModel(read())
  exact.set_weights(model.get_weights())
  inputs = {"input_ids": np.arange(30)[None]}
  expected = exact(inputs)["token_logits"]
  for training in (False, True):
    found = model(inputs, training=training)["token_logits"]
    np.testing.assert_allclose(found, expected, atol=5e-3)
