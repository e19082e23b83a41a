"""Presets of KerasHub.

tests/data/keras_hub was written by its version 0.32 on Keras 3.15, with random
weights: `save_to_preset` of a BertMaskedLM (with a BertTokenizer), of
text classifiers on RoBERTa, ALBERT and DistilBERT, of an ElectraBackbone, of a
T5Backbone and of a gated T5Seq2SeqLM (with a T5Tokenizer); and their outputs.
"""

import json
import pathlib
import shutil

import h5py
import numpy as np
import pytest

import keras_bert_impl as kb
from keras_bert_impl import files, heads, models, tokenizers
from keras_bert_impl.checkpoints import reading, writing
from tests.checkpoints import originals

DATA = pathlib.Path(__file__).parents[1] / "data/keras_hub"
HEADS = {
  "albert_classifier": heads.CLASSIFICATION,
  "bert_masked_lm": heads.FILL_MASK,
  "distilbert_classifier": heads.CLASSIFICATION,
  "electra_encoder": heads.ENCODER,
  "roberta_classifier": heads.CLASSIFICATION,
}


def changed(folder, tmp_path, file_name, change):
  """Returns a copy of a preset with another content of a JSON file."""
  shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
  values = json.loads((tmp_path / file_name).read_text())
  change(values)
  (tmp_path / file_name).write_text(json.dumps(values))
  return tmp_path


@pytest.mark.parametrize("name", HEADS)
def test_an_encoder_has_the_outputs_of_the_original(name):
  model = models.from_checkpoint(DATA / name)
  assert model.config.model_type == name.partition("_")[0]
  originals.assert_outputs(model, DATA / name)


@pytest.mark.parametrize("name", sorted(HEADS.keys() - {"electra_encoder"}))
def test_a_head_has_the_outputs_of_the_original(name):
  described = reading.open_checkpoint(DATA / name).described()
  assert described.head == HEADS[name]
  # The masked LM head there has the exact GELU and an epsilon of its own.
  atol = 1e-2 if described.head == heads.FILL_MASK else 1e-5
  model = models.from_checkpoint(DATA / name, heads=True)
  originals.assert_outputs(model, DATA / name, atol)


@pytest.mark.parametrize("name", ["t5_gated", "t5_tied"])
def test_t5_is_read_with_its_decoder(name):
  model = models.from_checkpoint(DATA / name, heads=True)
  assert model.config.model_type == "t5"
  assert model.config.gated_feed_forward == (name == "t5_gated")
  arrays = np.load(DATA / name / "expected.npz")
  names = ("input_ids", "input_mask", "decoder_ids")
  inputs = {key: arrays[f"in.{key}"] for key in names}
  found = model(inputs)["token_logits"]
  np.testing.assert_allclose(found, arrays["out.token_logits"], atol=1e-5)
  encoder = models.from_checkpoint(DATA / name)
  del inputs["decoder_ids"]
  states, expected = (
    np.asarray(x)[inputs["input_mask"] > 0]
    for x in (encoder(inputs)["sequence_output"], arrays["out.sequence_output"])
  )
  np.testing.assert_allclose(states, expected, atol=1e-5)


def test_the_tokenizer_of_t5_is_read():
  arrays = np.load(DATA / "t5_gated/expected.npz")
  tokenizer = kb.load_tokenizer(str(DATA / "t5_gated"))
  for text, ids in zip(arrays["texts"], arrays["ids"], strict=True):
    [found] = np.asarray(tokenizer([str(text)])["input_ids"])
    assert found.tolist() == [*map(int, ids.split()), 1]


def test_xlm_roberta_is_read_as_roberta(tmp_path):
  folder = changed(
    DATA / "roberta_classifier",
    tmp_path,
    "config.json",
    lambda values: values.update(class_name="XLMRobertaBackbone"),
  )
  model = models.from_checkpoint(folder, heads=True)
  assert model.config.model_type == "xlm-roberta"
  originals.assert_outputs(model, folder)


@pytest.mark.parametrize(
  "change, message",
  [
    (
      lambda values: values.update(class_name="GemmaBackbone", module="os"),
      "describes a GemmaBackbone; .* only .*BertBackbone.* are",
    ),
    (
      lambda values: values["config"].update(num_inner_repetitions=2),
      "num_inner_repetitions .2. in .* only 1 is",
    ),
    (lambda values: values["config"].update(hidden_dim="8"), "hidden_size"),
    (
      lambda values: values["config"].update(num_layers=None),
      "num_hidden_layers",
    ),
    (
      lambda values: values["config"].update(intermediate_dim=24),
      "intermediate",
    ),
    (
      lambda values: values["config"].pop("embedding_dim"),
      "lacks the .* key 'embedding_dim'",
    ),
  ],
)
def test_a_configuration_that_is_not_ours_is_refused(change, message, tmp_path):
  folder = changed(DATA / "albert_classifier", tmp_path, "config.json", change)
  with pytest.raises(ValueError, match=message):
    models.from_checkpoint(folder)


def test_bfloat16_is_read(tmp_path):
  shutil.copytree(DATA / "electra_encoder", tmp_path, dirs_exist_ok=True)
  name = "layers/reversible_embedding/vars/0"
  with h5py.File(tmp_path / "model.weights.h5", "r+") as file:
    table = file[name][()]
    del file[name]
    # Keras writes the higher half of each float32.
    halves = (table.view(np.uint32) >> 16).astype(np.uint16).view("V2")
    file.create_dataset(name, data=halves).attrs["dtype"] = "bfloat16"
  tensors = reading.open_checkpoint(tmp_path).tensors
  found = tensors["bert/embeddings/word_embeddings"]
  np.testing.assert_allclose(found, table, rtol=2**-7)


def test_a_damaged_file_is_one_line(tmp_path):
  shutil.copytree(DATA / "electra_encoder", tmp_path, dirs_exist_ok=True)
  path = tmp_path / "model.weights.h5"
  path.write_bytes(path.read_bytes()[:2000])
  with pytest.raises(ValueError, match="model.weights.h5 is damaged"):
    models.from_checkpoint(tmp_path)


def test_weights_alone_say_what_is_missing(tmp_path):
  shutil.copy(DATA / "electra_encoder/model.weights.h5", tmp_path)
  with pytest.raises(FileNotFoundError, match="There is no config.json beside"):
    models.from_checkpoint(tmp_path)


def test_the_tokenizer_is_found_with_its_options():
  tokenizer = tokenizers.load(DATA / "bert_masked_lm")
  # The ids of KerasHub's `BertTokenizer`.
  ids = tokenizer(["The quicker fox, d!"])["input_ids"]
  np.testing.assert_array_equal(ids, [[2, 5, 6, 7, 8, 17, 19, 18, 3]])
  assert tokenizer.options.family == "bert"


def test_a_tokenizer_that_keeps_case_does_so(tmp_path):
  folder = changed(
    DATA / "bert_masked_lm",
    tmp_path,
    "tokenizer.json",
    lambda values: values["config"].update(lowercase=False),
  )
  ids = tokenizers.load(folder)(["The fox"])["input_ids"]
  np.testing.assert_array_equal(ids, [[2, 1, 8, 3]])


def test_a_copied_tokenizer_has_the_same_ids(tmp_path):
  source = changed(
    DATA / "bert_masked_lm",
    tmp_path / "source",
    "tokenizer.json",
    lambda values: values["config"].update(lowercase=False),
  )
  target = tmp_path / "target"
  target.mkdir()
  writing.copy_tokenizer_files(files.Folder(source), target, "spiece.model")
  copy, original = tokenizers.load(target), tokenizers.load(source)
  assert copy.options == original.options
  assert copy.vocabulary.tokens == original.vocabulary.tokens


@pytest.mark.parametrize(
  "change, message",
  [
    ({"class_name": "GemmaTokenizer"}, "describes a GemmaTokenizer; "),
    ({"config": {"split": False}}, "split .False. in .* only True is"),
  ],
)
def test_another_tokenizer_is_refused_by_name(change, message, tmp_path):
  folder = changed(
    DATA / "bert_masked_lm",
    tmp_path,
    "tokenizer.json",
    lambda values: values.update(change),
  )
  with pytest.raises(ValueError, match=message):
    tokenizers.load(folder)
