"""Masked language models whose output matrix is not the embedding table."""

import json
import pathlib
import shutil

import keras
import numpy as np
import pytest
import safetensors.numpy

from keras_bert_impl import models
from keras_bert_impl.checkpoints import extension, reading
from keras_bert_impl.checkpoints.naming import mappings, names
from keras_bert_impl.model_folders import conversion
from tests import slow

DATA = pathlib.Path(__file__).parents[1] / "data"
PARITY = DATA / "parity"
UNTIED = DATA / "bert_untied_masked_lm"
IDS = {"input_ids": np.arange(5, 22)[None]}
# {model: theirs of the output matrix, of the table}.
OTHERS = {
  "albert_pretraining": ("predictions.decoder", "albert.embeddings."),
  "deberta_v2_masked_lm": ("cls.predictions.decoder", "deberta.embeddings."),
  "distilbert_masked_lm": ("vocab_projector", "distilbert.embeddings."),
  "electra_generator": ("generator_lm_head", "electra.embeddings."),
  "modernbert_masked_lm": ("decoder", "model.embeddings."),
  "roberta_masked_lm": ("lm_head.decoder", "roberta.embeddings."),
  "xlnet_language_model": ("lm_loss", "transformer."),
}


def logits(model):
  inputs = IDS | {"target_mapping": np.eye(17, dtype="float32")[None]}
  return np.asarray(model(inputs)["token_logits"])


def changed(source, folder, change=None, **values):
  """Copies a model with other weights and values of its config.json."""
  shutil.copytree(source, folder)
  config = json.loads((folder / "config.json").read_text()) | values
  (folder / "config.json").write_text(json.dumps(config))
  if change:
    weights = safetensors.numpy.load_file(folder / "model.safetensors")
    change(weights)
    safetensors.numpy.save_file(weights, folder / "model.safetensors")
  return folder


def load(folder):
  return models.from_checkpoint(folder, heads=True)


def test_logits_are_those_of_transformers(tmp_path):
  expected = dict(np.load(UNTIED / "expected.npz"))
  inputs = {
    "input_ids": expected["in.input_ids"],
    "input_mask": expected["in.attention_mask"],
    "segment_ids": expected["in.token_type_ids"],
  }
  found = load(UNTIED)(inputs)["token_logits"]
  np.testing.assert_allclose(found, expected["out.logits"], atol=1e-5)
  # Its own bias counts, which transformers reads alone, and it is written.
  again = str(tmp_path / "again")
  conversion.convert(conversion.ConversionConfig(str(UNTIED), again))
  weights, written = (
    safetensors.numpy.load_file(pathlib.Path(folder, "model.safetensors"))
    for folder in (UNTIED, again)
  )
  assert weights.keys() == written.keys()
  for name in written.keys() - {"cls.predictions.bias"}:
    np.testing.assert_array_equal(written[name], weights[name])


def test_a_matrix_that_differs_counts_whatever_the_configuration_says(tmp_path):
  said = changed(UNTIED, tmp_path / "model", tie_word_embeddings=True)
  assert load(said).config.tie_word_embeddings is False
  np.testing.assert_array_equal(logits(load(said)), logits(load(UNTIED)))


def test_a_copy_of_the_table_is_left_out(tmp_path):
  def copy(weights):
    table = weights["bert.embeddings.word_embeddings.weight"]
    weights["cls.predictions.decoder.weight"] = table

  found = load(changed(UNTIED, tmp_path / "a", copy, tie_word_embeddings=True))
  assert found.config.tie_word_embeddings
  assert not any(weight.path == names.DECODER for weight in found.weights)
  own = load(changed(UNTIED, tmp_path / "b", copy))
  assert any(weight.path == names.DECODER for weight in own.weights)
  np.testing.assert_allclose(logits(own), logits(found), atol=1e-5)


@pytest.mark.parametrize("name", slow.all_but(("roberta_masked_lm",), OTHERS))
def test_every_family_has_a_matrix_of_its_own(name, tmp_path):
  decoder, embeddings = OTHERS[name]

  def double(weights):
    [table] = [
      weights[key]
      for key in weights
      if key.startswith(embeddings) and weights[key].shape[0] == 120
    ]
    weights[f"{decoder}.weight"] = 2 * table

  found = load(changed(PARITY / name, tmp_path / "model", double))
  tied = load(PARITY / name)
  bias = [w for w in tied.weights if w.path == "cls/predictions/output_bias"]
  bias = np.asarray(bias[0])
  expected = 2 * (logits(tied) - bias) + bias
  np.testing.assert_allclose(logits(found), expected, atol=2e-5)


def test_it_is_trained_saved_extended_and_written(tmp_path):
  model = load(UNTIED)
  [matrix] = [w for w in model.weights if w.path == names.DECODER]
  before = np.asarray(matrix)
  loss = {"token_logits": keras.losses.MeanSquaredError()}
  model.compile("sgd", loss, run_eagerly=True)
  model.fit(IDS, {"token_logits": np.zeros((1, 17, 120))}, verbose=0)
  assert np.abs(np.asarray(matrix) - before).max() > 1e-4
  model.save(tmp_path / "model.keras")
  opened = keras.models.load_model(tmp_path / "model.keras")
  np.testing.assert_allclose(logits(opened), logits(model), atol=1e-6)
  tensors = mappings.Arrays({w.path: w for w in model.weights})
  longer = extension.extend(tensors, {120: [7, 9]})
  expected = np.asarray(matrix)[[7, 9]].mean(axis=0)
  np.testing.assert_allclose(longer[names.DECODER][120], expected)
  target = str(tmp_path / "again")
  conversion.convert(
    conversion.ConversionConfig(str(tmp_path / "model.keras"), target)
  )
  np.testing.assert_allclose(logits(load(target)), logits(model), atol=1e-6)
  config = json.loads(pathlib.Path(target, "config.json").read_text())
  assert config["tie_word_embeddings"] is False
  with pytest.raises(ValueError, match="tie_word_embeddings .* no place in Go"):
    conversion.convert(
      conversion.ConversionConfig(target, str(tmp_path / "g"), format="google")
    )
  assert reading.open_checkpoint(target).tensors.shapes[names.DECODER]
