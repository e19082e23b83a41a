"""Encoder and decoder as a Keras model: built, trained and saved."""

import json
import pathlib
import shutil

import keras
import numpy as np
import pytest

import keras_bert_impl as kb

DATA = pathlib.Path(__file__).parents[1] / "data/decoders"
SIZES = {
  "vocab_size": 40,
  "hidden_size": 32,
  "num_hidden_layers": 2,
  "num_decoder_layers": 1,
  "num_attention_heads": 4,
  "intermediate_size": 64,
}
PRESETS = ("bart_base", "t5_small_encoder")


def model_of(preset, dtype=None, **changes):
  keras.utils.set_random_seed(0)
  config = kb.EncoderConfig.preset(preset, **SIZES, **changes)
  return kb.EncoderDecoder(config, dtype=dtype)


def batch():
  """Returns inputs and labels: a text is copied, some labels are left out."""
  ids = np.random.default_rng(0).integers(4, 40, (16, 6)).astype("int32")
  first = np.full((16, 1), 2, "int32")
  read = np.concatenate([first, ids[:, :-1]], axis=1)
  labels = np.where(np.arange(6) < 5, ids, -100)
  mask = np.ones_like(ids)
  inputs = {"input_ids": ids, "input_mask": mask, "decoder_ids": read}
  return inputs, labels


def compiled(model):
  loss = keras.losses.SparseCategoricalCrossentropy(
    from_logits=True, ignore_class=-100
  )
  model.compile(keras.optimizers.Adam(1e-2), loss)
  return model


@pytest.mark.parametrize("dtype", [None, "mixed_bfloat16"])
@pytest.mark.parametrize("preset", PRESETS)
def test_fit_lowers_the_loss(preset, dtype):
  inputs, labels = batch()
  model = compiled(model_of(preset, dtype))
  before = [np.array(weight) for weight in model.trainable_variables]
  losses = model.fit(inputs, labels, epochs=12, verbose=0).history["loss"]
  assert losses[-1] < 0.8 * losses[0]
  for weight, old in zip(model.trainable_variables, before, strict=True):
    # A bias of keys changes nothing: softmax takes it away.
    if not weight.path.endswith("key/bias"):
      assert np.abs(np.asarray(weight) - old).max() > 0, weight.path


def test_labels_that_are_left_out_do_not_count():
  inputs, labels = batch()
  model = compiled(model_of("bart_base"))
  loss = model.evaluate(inputs, labels, verbose=0)
  logits = np.asarray(model(inputs)["token_logits"])
  shares = np.asarray(keras.ops.log_softmax(logits))
  chosen = np.take_along_axis(shares, np.maximum(labels, 0)[..., None], 2)
  np.testing.assert_allclose(loss, -chosen[labels >= 0].mean(), rtol=1e-4)


def test_there_is_dropout_in_training_alone():
  inputs, _ = batch()
  model = model_of("bart_base")
  first, second, dropped = (
    np.asarray(model(inputs, training=training)["token_logits"])
    for training in (False, False, True)
  )
  np.testing.assert_array_equal(first, second)
  assert np.abs(first - dropped).max() > 0.01
  states = kb.Model(model.input, model.decoder_states)
  known, drawn = (
    [np.asarray(x) for x in states(inputs, training=training)]
    for training in (False, True)
  )
  assert all(np.abs(a - b).max() > 0 for a, b in zip(known, drawn, strict=True))


def test_paths_of_weights_are_those_of_google():
  paths = {weight.path for weight in model_of("bart_base").weights}
  assert {
    "bert/embeddings/word_embeddings",
    "bert/encoder/layer_1/attention/self/query/kernel",
    "bert/decoder/embeddings/position_embeddings",
    "bert/decoder/layer_0/attention/self/query/kernel",
    "bert/decoder/layer_0/crossattention/output/LayerNorm/gamma",
    "bert/decoder/layer_0/output/dense/kernel",
    "cls/predictions/output_bias",
  } <= paths


def test_low_rank_adapters_are_in_encoder_and_decoder():
  inputs, labels = batch()
  model = model_of("t5_small_encoder")
  kb.lora(model, rank=2)
  trained = {w.path.split("lora_")[0] for w in model.trainable_variables}
  half = "crossattention/self/query/"
  assert {"bert/encoder/layer_0/attention/self/query/"} <= trained
  assert {f"bert/decoder/layer_0/{half}"} <= trained
  losses = compiled(model).fit(inputs, labels, epochs=4, verbose=0)
  assert losses.history["loss"][-1] < losses.history["loss"][0]


@pytest.mark.parametrize("preset", PRESETS)
def test_a_model_is_saved_and_loaded(preset, tmp_path):
  inputs, _ = batch()
  model = model_of(preset)
  model.save(tmp_path / "model.keras")
  loaded = keras.models.load_model(tmp_path / "model.keras")
  assert [w.path for w in loaded.weights] == [w.path for w in model.weights]
  first, second = (
    np.asarray(each(inputs)["token_logits"]) for each in (model, loaded)
  )
  np.testing.assert_array_equal(first, second)


def test_the_head_is_the_one_of_the_configuration():
  model = model_of("bart_base", decoder_transform=True)
  paths = {weight.path for weight in model.weights}
  assert "cls/predictions/transform/dense/kernel" in paths


def test_a_decoder_may_begin_from_an_encoder():
  folder = DATA / "bart"
  encoder = kb.from_checkpoint(folder)
  with pytest.warns(UserWarning, match="bert/decoder/"):
    model = kb.EncoderDecoder.from_encoder(encoder)
  for weight, own in zip(encoder.weights, model.encoder.weights, strict=True):
    np.testing.assert_array_equal(np.asarray(weight), np.asarray(own))
  whole = kb.EncoderDecoder.from_checkpoint(folder)
  assert type(whole) is type(kb.from_checkpoint(folder, heads=True))


def test_an_encoder_alone_has_no_decoder():
  config = kb.EncoderConfig.preset("bert_tiny")
  with pytest.raises(ValueError, match=r"num_decoder_layers \(0\) must be"):
    kb.EncoderDecoder(config)


def test_ids_beyond_the_table_are_named():
  inputs, _ = batch()
  inputs["decoder_ids"][0, 0] = 40
  for call in (model := model_of("bart_base")), model.predict:
    with pytest.raises(ValueError, match=r"decoder_ids \(40\) must be from 0"):
      call(inputs)


@pytest.mark.parametrize("preset", PRESETS)
def test_attention_is_shown_of_encoder_decoder_and_between(preset):
  inputs, _ = batch()
  model = model_of(preset)
  inputs["input_mask"][3, 4:] = 0
  inputs["decoder_ids"] = inputs["decoder_ids"][:, :4]
  found = kb.Model(model.input, model.attention_probs)(inputs)
  shapes = {name: [x.shape for x in probs] for name, probs in found.items()}
  assert shapes == {
    "encoder": [(16, 4, 6, 6)] * 2,
    "decoder": [(16, 4, 4, 4)],
    "cross": [(16, 4, 4, 6)],
  }
  for probs in (x for several in found.values() for x in several):
    np.testing.assert_allclose(np.asarray(probs).sum(-1), 1, atol=1e-5)
  [own], [cross] = (np.asarray(found[name]) for name in ("decoder", "cross"))
  assert np.triu(own, 1).max() == 0
  assert cross[3, :, :, 4:].max() == 0
  # A memory of which one token alone is seen has all the attention.
  inputs["input_mask"][:, 1:] = 0
  found = kb.Model(model.input, model.attention_probs)(inputs)
  assert np.asarray(found["cross"][0])[..., 0].min() == 1


def test_a_classifier_reads_the_decoder_at_the_last_token_of_a_row():
  folder = DATA.parent / "parity/bart_classifier"
  model = kb.SequenceClassifier.from_checkpoint(folder)
  ids = np.load(folder / "expected.npz")["in.input_ids"]
  padded = np.pad(ids, [(0, 0), (0, 3)], constant_values=1)
  mask = (np.arange(padded.shape[1]) < ids.shape[1]) * np.ones_like(padded)
  whole = np.asarray(model({"input_ids": ids})["logits"])
  found = model({"input_ids": padded, "input_mask": mask})["logits"]
  np.testing.assert_allclose(found, whole, atol=1e-5)
  cut = np.asarray(
    model({"input_ids": ids, "input_mask": mask[:, 3:]})["logits"]
  )
  assert np.abs(cut - whole).max() > 1e-3


@pytest.mark.parametrize("architecture", ["", "BartForSequenceClassification"])
def test_a_classifier_says_that_it_reads_the_decoder(architecture, tmp_path):
  ids = {"decoder_start_token_id": 0, "eos_token_id": 2}
  config = json.loads((DATA / "bart/config.json").read_text())
  shutil.copytree(DATA / "bart", tmp_path, dirs_exist_ok=True)
  config |= {"architectures": [architecture], **ids}
  (tmp_path / "config.json").write_text(json.dumps(config))
  if architecture:
    with pytest.raises(ValueError, match=r"_token_id \(0\) in .* must be eos"):
      kb.from_checkpoint(tmp_path)
  else:
    assert kb.from_checkpoint(tmp_path).config.pooler_reads == "mean"


def test_a_pooler_reads_no_decoder_that_there_is_not():
  with pytest.raises(ValueError, match="needs num_decoder_layers above 0"):
    kb.EncoderConfig(vocab_size=9, pooler_reads="decoder")
