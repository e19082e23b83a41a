"""What the encoders of 2020 to 2026 compute that others do not."""

import dataclasses
import json
import pathlib
import shutil

import numpy as np
import pytest

from keras_bert_impl import models
from keras_bert_impl.checkpoints.descriptions import config_json
from tests import architectures

PARITY = pathlib.Path(__file__).parents[1] / "data/parity"


def read(**values):
  return config_json.from_dict(values, "there/config.json").config


def weights_of(model):
  return {weight.path: weight for weight in model.weights}


def test_keys_of_a_group_are_those_of_each_of_its_heads():
  config = architectures.small(
    **architectures.EUROBERT, num_attention_heads=4, num_hidden_layers=1
  )
  config = dataclasses.replace(config, num_key_value_heads=2)
  grouped = models.TransformerEncoder(config)
  whole = models.TransformerEncoder(
    dataclasses.replace(config, num_key_value_heads=None)
  )
  own = weights_of(grouped)
  for path, weight in weights_of(whole).items():
    value = np.asarray(own[path])
    if value.shape != weight.shape:  # [H, 2 D], each head of it twice
      heads = value.reshape(16, 2, 1, 4)
      value = np.tile(heads, (1, 1, 2, 1)).reshape(16, 16)
    weight.assign(value)
  found, expected = (
    model(architectures.INPUTS)["sequence_output"] for model in (grouped, whole)
  )
  np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize(
  ("changes", "message"),
  [
    ({"num_key_value_heads": 3}, "num_key_value_heads .3. must divide"),
    (
      {"num_key_value_heads": 1, **architectures.DEBERTA},
      "num_key_value_heads .1. must be None with",
    ),
    ({"output_embedding_size": 4}, "output_embedding_size .4. must be None"),
    (
      {"decoder_transform": False, "classifier_pooling": "cls"},
      "decoder_transform .False. must be True",
    ),
    (
      {
        "position_embedding_type": "rotary",
        "rotary_table": True,
        "rotary_factor": 2.0,
      },
      "rotary_table .True. must be False",
    ),
    ({"rotary_factor": 2.0}, "rotary_factor .2.0. needs"),
    (
      {
        "relative_attention_num_buckets": 12,
        "relative_attention_max_distance": 5,
      },
      "must be an even number from 4 to 10",
    ),
  ],
)
def test_what_does_not_go_together_is_refused(changes, message):
  with pytest.raises(ValueError, match=message):
    architectures.small(**changes)


def test_a_table_of_positions_limits_the_length():
  config = architectures.small(
    position_embedding_type="rotary", rotary_table=True
  )
  assert config.longest_input == 16
  encoder = models.TransformerEncoder(config)
  with pytest.raises(ValueError, match="sequence length .17. must be at most"):
    encoder(architectures.inputs((1, 17)))


def test_tokens_are_read_for_the_tasks_that_are_given():
  plain = models.from_checkpoint(PARITY / "ernie_encoder")
  encoder = models.TransformerEncoder(plain.config, use_task_type_ids=True)
  encoder.set_weights(plain.get_weights())
  tasks = np.array([[0, 2, 1, 1, 0, 2, 2]] * 3, "int32")

  def states(model, **given):
    return np.asarray(model(architectures.INPUTS | given)["sequence_output"])

  expected = states(plain)
  np.testing.assert_array_equal(states(encoder), expected)
  found = states(encoder, task_type_ids=tasks)
  assert not np.allclose(found, expected, atol=1e-3)
  second = states(encoder, task_type_ids=0 * tasks + 2)
  # A table of other rows, all read for task 0.
  table = weights_of(plain)["bert/embeddings/task_type_embeddings"]
  table.assign(np.asarray(table)[[2, 0, 1]])
  np.testing.assert_array_equal(second, states(plain))
  with pytest.raises(ValueError, match="task_type_ids"):
    encoder(architectures.INPUTS | {"task_type_ids": tasks + 1})


def test_tokens_are_as_far_apart_as_the_factor_says():
  def states(factor, places):
    config = architectures.small(
      position_embedding_type="rotary", rotary_factor=factor
    )
    encoder = models.TransformerEncoder(config)
    rng = np.random.default_rng(0)
    for weight in encoder.weights:
      weight.assign(rng.normal(size=weight.shape) / 4)
    ids, mask = np.zeros((1, 9), "int32"), np.zeros((1, 9), "int32")
    ids[0, places], mask[0, places] = [7, 8, 9], 1
    output = encoder({"input_ids": ids, "input_mask": mask})
    return np.asarray(output["sequence_output"])[0, places]

  near, far = states(1.0, [0, 2, 4]), states(2.0, [0, 4, 8])
  np.testing.assert_allclose(near, far, atol=1e-5)
  assert not np.allclose(near, states(1.0, [0, 4, 8]), atol=1e-3)


@pytest.mark.parametrize(
  "rope",
  [
    {"rope_parameters": {"rope_type": "yarn", "factor": 4.0}},
    {"rope_scaling": {"type": "longrope", "factor": 4.0}},
    {"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.5}},
  ],
)
def test_other_rotary_positions_are_refused_by_name(rope):
  [value] = rope.values()
  name = value.get("rope_type") or value["type"]
  message = f"{name}.* in there/config.json .* default, linear, dynamic, ntk"
  with pytest.raises(ValueError, match=message):
    read(model_type="eurobert", **rope)


def test_fixed_ntk_is_another_base_and_a_division():
  config = read(
    model_type="new",
    hidden_size=768,
    num_attention_heads=12,
    rope_theta=20000,
    rope_scaling={"type": "ntk", "factor": 8.0},
  )
  assert config.model_type == "gte"
  assert config.rotary_base == 160000
  assert config.rotary_factor == pytest.approx(8 ** (2 / 64))
  # The angle of the last pair, as Alibaba's code has it.
  angle = (20000 * 8) ** (-62 / 64) / 8 ** (2 / 64)
  assert config.rotary_base ** (-62 / 64) / config.rotary_factor == (
    pytest.approx(angle)
  )


def test_nomics_stretched_rows_begin_after_those_of_the_training():
  config = read(
    model_type="nomic_bert",
    n_embd=768,
    n_head=12,
    n_positions=8192,
    max_trained_positions=2048,
    rotary_scaling_factor=2.0,
  )
  assert config.rotary_scaling == "dynamic"
  assert (config.rotary_factor, config.max_position_embeddings) == (2.0, 2048)


def test_code_of_the_hub_is_not_run_as_the_log_says(tmp_path, caplog):
  source = PARITY / "nomic_bert_encoder"
  values = json.loads((source / "config.json").read_text())
  values |= {"auto_map": {"AutoModel": "x--y.Z"}, "unpad_inputs": True}
  (tmp_path / "config.json").write_text(json.dumps(values))
  shutil.copy(source / "model.safetensors", tmp_path)
  with caplog.at_level("INFO", logger="absl"):
    encoder = models.from_checkpoint(tmp_path)
  [line] = [x for x in caplog.messages if "code of its own" in x]
  assert line.startswith(str(tmp_path / "config.json"))
  expected = models.from_checkpoint(source)(architectures.INPUTS)
  np.testing.assert_array_equal(
    encoder(architectures.INPUTS)["sequence_output"],
    expected["sequence_output"],
  )


@pytest.mark.parametrize(
  ("values", "message"),
  [
    (
      {"model_type": "nomic_bert", "n_embd": 8, "moe_every_n_layers": 2},
      "moe_every_n_layers .2. in there",
    ),
    (
      {"model_type": "new", "logn_attention_scale": True},
      "logn_attention_scale .True. in there",
    ),
    (
      {"model_type": "modernbert-decoder", "sliding_window": 1},
      "sliding_window .1. in there/config.json must be at least 2",
    ),
    ({"model_type": "big_bird"}, "Unknown model_type 'big_bird'"),
  ],
)
def test_what_code_of_the_hub_computes_besides_is_refused(values, message):
  with pytest.raises(ValueError, match=message):
    read(**values)
