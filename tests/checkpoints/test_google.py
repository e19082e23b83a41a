import os
import pathlib

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import configs, layers, models
from keras_bert_impl.checkpoints import google, tf_format

TINY = configs.EncoderConfig(
  vocab_size=20,
  hidden_size=8,
  num_hidden_layers=1,
  num_attention_heads=2,
  intermediate_size=16,
  max_position_embeddings=10,
)

DATA = os.environ.get("KERAS_BERT_DATA")
needs_data = pytest.mark.skipif(
  not DATA, reason="KERAS_BERT_DATA, the folder of real data, is not set"
)


def assert_same_weights(model, other):
  for weight, expected in zip(model.weights, other.weights, strict=True):
    np.testing.assert_array_equal(weight, expected)


def test_weights_survive_the_checkpoint(tmp_path):
  model, other = models.PretrainingModel(TINY), models.PretrainingModel(TINY)
  google.save_weights(model, tmp_path / "bert_model.ckpt")
  assert google.load_weights(other, tmp_path / "bert_model.ckpt") == []
  assert_same_weights(other, model)


def test_slots_step_and_heads_in_the_file_are_left_alone(tmp_path):
  model = models.PretrainingModel(TINY)
  arrays = {weight.path: np.array(weight) for weight in model.weights}
  slots = {f"{path}/adam_m": 0 * array for path, array in arrays.items()}
  tf_format.write(tmp_path / "c", {**arrays, **slots, "global_step": 20})
  encoder = models.TransformerEncoder(TINY)
  google.load_weights(encoder, tmp_path / "c")
  assert_same_weights(encoder, model.encoder)


def test_weights_missing_in_the_file_are_all_named_and_nothing_changes(
  tmp_path,
):
  google.save_weights(models.TransformerEncoder(TINY), tmp_path / "c")
  model = models.PretrainingModel(TINY)
  before = model.get_weights()
  with pytest.raises(ValueError) as error:
    google.load_weights(model, tmp_path / "c")
  heads = [w.path for w in model.weights if w.path.startswith("cls/")]
  assert len(heads) == 7
  assert all(path in str(error.value) for path in heads)
  for weight, expected in zip(model.get_weights(), before, strict=True):
    np.testing.assert_array_equal(weight, expected)


def test_heads_stay_initialized_if_told_so(tmp_path):
  encoder = models.TransformerEncoder(TINY)
  google.save_weights(encoder, tmp_path / "c")
  model = models.PretrainingModel(TINY)
  head = np.array(model.get_layer("seq_relationship").output_weights)
  kept = google.load_weights(model, tmp_path / "c", may_be_missing=("cls/",))
  assert len(kept) == 7 and all(path.startswith("cls/") for path in kept)
  assert_same_weights(model.encoder, encoder)
  np.testing.assert_array_equal(
    model.get_layer("seq_relationship").output_weights, head
  )


def test_a_wrong_shape_is_named_with_both_shapes(tmp_path):
  google.save_weights(models.TransformerEncoder(TINY), tmp_path / "c")
  config = configs.EncoderConfig.from_dict(TINY.to_dict() | {"vocab_size": 21})
  with pytest.raises(
    ValueError, match=r"word_embeddings: \[20, 8\].*\[21, 8\]"
  ):
    google.load_weights(models.TransformerEncoder(config), tmp_path / "c")


def test_a_model_of_layers_loads_too(tmp_path):
  inputs = keras.Input((None, 8))
  outputs, _ = layers.TransformerBlock(2, 16, name="layer_0")(inputs)
  model = keras.Model(inputs, outputs)
  google.save_weights(model, tmp_path / "c")
  assert google.load_weights(model, tmp_path / "c") == []


def names_of(prefix, *layers_and_weights):
  return {
    f"{prefix}/{layer}/{weight}"
    for layer, weights in layers_and_weights
    for weight in weights.split()
  }


def test_variable_paths_are_the_names_of_the_original():
  dense, norm = "kernel bias", "gamma beta"
  expected = {
    "bert/embeddings/word_embeddings",
    "bert/embeddings/token_type_embeddings",
    "bert/embeddings/position_embeddings",
    "cls/predictions/output_bias",
    "cls/seq_relationship/output_weights",
    "cls/seq_relationship/output_bias",
    *names_of("bert/embeddings", ("LayerNorm", norm)),
    *names_of(
      "bert/encoder/layer_0/attention",
      ("self/query", dense),
      ("self/key", dense),
      ("self/value", dense),
      ("output/dense", dense),
      ("output/LayerNorm", norm),
    ),
    *names_of(
      "bert/encoder/layer_0",
      ("intermediate/dense", dense),
      ("output/dense", dense),
      ("output/LayerNorm", norm),
    ),
    *names_of("bert/pooler", ("dense", dense)),
    *names_of(
      "cls/predictions/transform", ("dense", dense), ("LayerNorm", norm)
    ),
  }
  model = models.PretrainingModel(TINY)
  assert sorted(w.path for w in model.weights) == sorted(expected)


@needs_data
def test_bert_base_chinese_has_our_names_and_shapes():
  folder = pathlib.Path(DATA) / "weights/google_zh_bert_base_INDEX_ONLY"
  config = configs.EncoderConfig.from_json_file(folder / "bert_config.json")
  model = models.PretrainingModel(config)
  released = tf.train.list_variables(str(folder / "bert_model.ckpt"))
  ours = {weight.path: list(weight.shape) for weight in model.weights}
  assert ours == dict(released)


@needs_data
def test_a_tensorflow_1_checkpoint_with_slots_goes_in_and_out(tmp_path):
  folder = pathlib.Path(DATA) / "weights/kerasbert_tiny_tf1"
  config = configs.EncoderConfig.from_json_file(folder / "bert_config.json")
  model = models.PretrainingModel(config)
  google.load_weights(model, folder / "bert_model.ckpt")
  google.save_weights(model, tmp_path / "c")
  original = tf_format.read(folder / "bert_model.ckpt")
  written = tf_format.read(tmp_path / "c")
  weights = [n for n in original if not n.endswith(("adam_m", "adam_v"))]
  assert sorted([*written, "global_step"]) == weights
  for name in written:
    np.testing.assert_array_equal(written[name], original[name])
