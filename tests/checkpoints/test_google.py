"""Google's checkpoints of BERT, ALBERT and ELECTRA, both ways."""

import dataclasses
import json
import os
import pathlib

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import given_arrays, heads, models
from keras_bert_impl.checkpoints import assignment, reading, writing
from keras_bert_impl.checkpoints.descriptions import description
from keras_bert_impl.checkpoints.formats import tf_format
from keras_bert_impl.checkpoints.naming import mappings
from tests import architectures

BERT = architectures.tiny()
ALBERT = dataclasses.replace(
  BERT,
  embedding_size=4,
  num_hidden_layers=2,
  num_hidden_groups=1,
  hidden_act="gelu_new",
  model_type="albert",
)
ELECTRA = dataclasses.replace(
  BERT,
  embedding_size=4,
  pooler_act="gelu",
  model_type="electra",
)

DATA = os.environ.get("KERAS_BERT_DATA")
needs_data = pytest.mark.skipif(
  not DATA, reason="KERAS_BERT_DATA, the folder of real data, is not set"
)

DENSE, NORM = "kernel bias", "gamma beta"
EMBEDDINGS = (
  ("word_embeddings", ""),
  ("token_type_embeddings", ""),
  ("position_embeddings", ""),
  ("LayerNorm", NORM),
)
BLOCK = (
  ("attention/self/query", DENSE),
  ("attention/self/key", DENSE),
  ("attention/self/value", DENSE),
  ("attention/output/dense", DENSE),
  ("attention/output/LayerNorm", NORM),
  ("intermediate/dense", DENSE),
  ("output/dense", DENSE),
  ("output/LayerNorm", NORM),
)
# Names of albert/modeling.py.
ALBERT_BLOCK = (
  ("attention_1/self/query", DENSE),
  ("attention_1/self/key", DENSE),
  ("attention_1/self/value", DENSE),
  ("attention_1/output/dense", DENSE),
  ("LayerNorm", NORM),
  ("ffn_1/intermediate/dense", DENSE),
  ("ffn_1/intermediate/output/dense", DENSE),
  ("LayerNorm_1", NORM),
)
PREDICTIONS = (
  ("transform/dense", DENSE),
  ("transform/LayerNorm", NORM),
  ("output_bias", ""),
)
SENTENCES = (("seq_relationship", "output_weights output_bias"),)


def under(scope, *groups):
  """Returns the full names of (layer, its weights) below `scope`, a set."""
  return {
    "/".join(part for part in (scope, layer, weight) if part)
    for group in groups
    for layer, weights in group
    for weight in weights.split() or [""]
  }


POOLER = (("pooler/dense", DENSE),)
BERT_NAMES = (
  under("bert/embeddings", EMBEDDINGS)
  | under("bert/encoder/layer_0", BLOCK)
  | under("bert", POOLER)
  | under("cls/predictions", PREDICTIONS)
  | under("cls", SENTENCES)
)
ALBERT_NAMES = (
  under("bert/embeddings", EMBEDDINGS)
  | under("bert/encoder", (("embedding_hidden_mapping_in", DENSE),))
  | under("bert/encoder/transformer/group_0/inner_group_0", ALBERT_BLOCK)
  | under("bert", POOLER)
  | under("cls/predictions", PREDICTIONS)
  | under("cls", SENTENCES)
)
ELECTRA_NAMES = (
  under("electra/embeddings", EMBEDDINGS)
  | under("electra", (("embeddings_project", DENSE),))
  | under("electra/encoder/layer_0", BLOCK)
  | under("generator", (("embeddings_project", DENSE),))
  | under("generator/encoder/layer_0", BLOCK)
  | under(
    "generator_predictions",
    (("dense", DENSE), ("LayerNorm", NORM), ("output_bias", "")),
  )
  | under("discriminator_predictions", (("dense", DENSE), ("dense_1", DENSE)))
)


def electra_pretraining():
  generator = dataclasses.replace(
    ELECTRA, hidden_size=12, num_attention_heads=3
  )
  return models.ElectraPretrainingModel(ELECTRA, generator)


MODELS = {
  "bert": (lambda: models.PretrainingModel(BERT), BERT_NAMES),
  "albert": (lambda: models.PretrainingModel(ALBERT), ALBERT_NAMES),
  "electra": (electra_pretraining, ELECTRA_NAMES),
}


def tensors_of(model):
  return mappings.Arrays({weight.path: weight for weight in model.weights})


def write(folder, model):
  writing.write_google(
    folder, tensors_of(model), description.Description(model.config)
  )


def assert_same(tensors, expected):
  assert set(tensors) == set(expected)
  for name in expected:
    np.testing.assert_array_equal(tensors[name], expected[name])


@pytest.fixture(name="family", params=MODELS)
def fixture_family(request):
  make, expected = MODELS[request.param]
  return make(), expected


def test_names_are_the_originals_and_ours_again(family, tmp_path):
  model, expected = family
  write(tmp_path, model)
  [index] = tmp_path.glob("*.index")
  written = tf.train.list_variables(str(index.with_suffix("")))
  assert {name for name, _ in written} == expected
  checkpoint = reading.open_checkpoint(tmp_path)
  assert_same(checkpoint.tensors, tensors_of(model))
  assert checkpoint.described().config == model.config


def test_a_run_of_ours_has_our_names_in_every_family(family, tmp_path):
  model, _ = family
  tensors = tensors_of(model)
  tf_format.write(tmp_path / "model.ckpt-1", dict(tensors))
  model.config.to_json_file(tmp_path / "bert_config.json")
  checkpoint = reading.open_checkpoint(tmp_path)
  assert_same(checkpoint.tensors, tensors)
  assert checkpoint.described().config == model.config


def test_a_released_albert_configuration_has_tanh_gelu(tmp_path):
  write(tmp_path, models.PretrainingModel(ALBERT))
  # Beside the keys that Google's code reads there are those of no use to it.
  released = json.loads((tmp_path / "albert_config.json").read_text())
  assert released["hidden_act"] == "gelu"
  assert released["num_hidden_groups"] == released["inner_group_num"] == 1
  read = reading.open_checkpoint(tmp_path).described().config
  assert read.hidden_act == "gelu_new"
  (tmp_path / "albert_config.json").write_text(
    json.dumps(released | {"inner_group_num": 2})
  )
  with pytest.raises(ValueError, match="inner_group_num .2. .* only 1 is"):
    reading.open_checkpoint(tmp_path)
  # albert_zh's says less.
  for key in ("num_hidden_groups", "inner_group_num", "net_structure_type"):
    del released[key]
  (tmp_path / "albert_config.json").write_text(
    json.dumps(released | {"ln_type": "postln", "directionality": "bidi"})
  )
  assert reading.open_checkpoint(tmp_path).described().config == read
  # Its xlarge normalizes before each block.
  (tmp_path / "albert_config.json").write_text(
    json.dumps(released | {"ln_type": "preln"})
  )
  with pytest.raises(ValueError, match="ln_type .'preln'. .* only 'postln' is"):
    reading.open_checkpoint(tmp_path)


def test_a_released_electra_is_known_by_its_shapes(tmp_path):
  config = dataclasses.replace(
    ELECTRA, hidden_size=128, intermediate_size=96, num_hidden_layers=2
  )
  generator = models.electra_generator_config(config, 0.5)
  model = models.ElectraPretrainingModel(config, generator)
  write(tmp_path, model)
  # Google's has weights, a state file and a vocabulary.
  (tmp_path / "bert_config.json").unlink()
  found = reading.open_checkpoint(tmp_path).described()
  assert found.config == config
  assert found.head == heads.REPLACED_TOKENS


def test_electras_code_finds_its_newest_checkpoint(tmp_path):
  write(tmp_path, electra_pretraining())
  newest = tf.train.latest_checkpoint(str(tmp_path))
  assert newest and tf.train.list_variables(newest)


def test_slots_and_counters_are_no_weights(tmp_path):
  model = models.PretrainingModel(BERT)
  arrays = dict(tensors_of(model))
  slots = {
    f"{name}/{slot}": 0 * array
    for name, array in arrays.items()
    for slot in ("adam_m", "adam_v")
  }
  tf_format.write(tmp_path / "c", {**arrays, **slots, "global_step": 20})
  assert set(reading.open_checkpoint(tmp_path / "c").tensors) == set(arrays)


def test_roberta_has_no_format_of_googles(tmp_path):
  config = dataclasses.replace(BERT, position_offset=2, model_type="roberta")
  with pytest.raises(ValueError, match="Roberta has no format of Google's"):
    write(tmp_path, models.TransformerEncoder(config))
  assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
  ("config", "field"),
  [
    (dataclasses.replace(BERT, use_causal_mask=True), "use_causal_mask"),
    (dataclasses.replace(BERT, layer_norm_eps=1e-5), "layer_norm_eps"),
    (dataclasses.replace(BERT, embedding_size=4), "embedding_size"),
    (dataclasses.replace(ALBERT, hidden_act="gelu"), "hidden_act"),
  ],
)
def test_what_googles_code_would_compute_otherwise_is_refused(
  config, field, tmp_path
):
  with pytest.raises(ValueError, match=f"{field}.*has no place in Google's"):
    write(tmp_path, models.TransformerEncoder(config))


def test_variable_paths_are_the_names_of_the_original():
  paths = [weight.path for weight in models.PretrainingModel(BERT).weights]
  assert sorted(paths) == sorted(BERT_NAMES)


@needs_data
def test_bert_base_chinese_has_our_names_and_shapes():
  folder = pathlib.Path(DATA) / "weights/google_zh_bert_base_INDEX_ONLY"
  checkpoint = reading.open_checkpoint(folder)
  with given_arrays.awaited():
    model = models.PretrainingModel(checkpoint.described().config)
  released = tf.train.list_variables(str(folder / "bert_model.ckpt"))
  ours = {weight.path: list(weight.shape) for weight in model.weights}
  assert ours == dict(released)
  assert checkpoint.described().head == heads.PRETRAINING


@needs_data
def test_a_tensorflow_1_checkpoint_with_slots_goes_in_and_out(tmp_path):
  folder = pathlib.Path(DATA) / "weights/kerasbert_tiny_tf1"
  checkpoint = reading.open_checkpoint(folder)
  model = models.PretrainingModel(checkpoint.described().config)
  variables = {weight.path: weight for weight in model.weights}
  result = assignment.assign(variables, checkpoint.tensors, "")
  assert not result.left_over
  write(tmp_path, model)
  original = tf_format.read(folder / "bert_model.ckpt")
  written = tf_format.read(tmp_path / "bert_model.ckpt")
  weights = [n for n in original if not n.endswith(("adam_m", "adam_v"))]
  assert sorted([*written, "global_step"]) == weights
  for name in written:
    np.testing.assert_array_equal(written[name], original[name])
