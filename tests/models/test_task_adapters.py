"""Adapters of tasks beside the weights, chosen where a model is opened.

expected.npz is what transformers computes with the weights merged.
"""

import json
import pathlib
import shutil

import numpy as np
import pytest
import tensorflow as tf
from safetensors import numpy

import keras_bert_impl as kb
from keras_bert_impl.model_folders import conversion

DATA = pathlib.Path(__file__).parents[1] / "data"
FOLDER, PEFT = DATA / "task_adapters", DATA / "peft_folders"
EXPECTED, OF_PEFT = (np.load(x / "expected.npz") for x in (FOLDER, PEFT))
TASKS, FOLDERS = (
  [name for name in x if name not in ("input_ids", "attention_mask")]
  for x in (EXPECTED, OF_PEFT)
)
PROMPT = "Represent the query: "


def states_of(model, expected):
  mask = expected["attention_mask"]
  inputs = {"input_ids": expected["input_ids"], "input_mask": mask}
  outputs = model(inputs | {"segment_ids": np.zeros_like(mask)})
  return np.asarray(outputs["sequence_output"])


def opened_with(task):
  return f"{FOLDER}?adapter={task}" if task else str(FOLDER)


def assert_same(model, task, expected=EXPECTED):
  seen = expected["attention_mask"] > 0
  np.testing.assert_allclose(
    states_of(model, expected)[seen], expected[task][seen], atol=1e-5
  )


@pytest.mark.parametrize("task", TASKS)
def test_states_are_those_of_the_merged_weights(task):
  assert len(TASKS) == 6 and "" in TASKS
  assert_same(kb.from_checkpoint(opened_with(task)), task)


def test_a_file_is_opened_with_an_adapter_too():
  path = f"{FOLDER}/model.safetensors?adapter=separation"
  assert_same(kb.from_checkpoint(path), "separation")


@pytest.mark.parametrize("task", FOLDERS)
def test_an_adapter_may_stand_in_a_folder_of_peft(task, tmp_path):
  assert len(FOLDERS) == 3
  path = f"{PEFT}?adapter={task}" if task else PEFT
  assert_same(kb.from_checkpoint(path), task, OF_PEFT)
  config = conversion.ConversionConfig(str(path), str(tmp_path / "new"))
  conversion.convert(config)
  assert_same(kb.from_checkpoint(tmp_path / "new"), task, OF_PEFT)


def test_an_adapter_of_another_model_is_refused(tmp_path):
  shutil.copytree(PEFT, tmp_path / "model")
  shutil.copytree(PEFT / "retrieval_query", tmp_path / "model/deep")
  path = tmp_path / "model/deep/adapter_model.safetensors"
  arrays = numpy.load_file(path)
  renamed = {k.replace("layers.1.", "layers.9."): x for k, x in arrays.items()}
  numpy.save_file(renamed, path)
  with pytest.raises(
    ValueError, match=r"deep has adapters of .*layer_9.* lack"
  ):
    kb.from_checkpoint(f"{tmp_path}/model?adapter=deep")


@pytest.mark.parametrize("task", ["", "text-matching"])
def test_what_is_converted_holds_the_weights_that_were_opened(task, tmp_path):
  config = conversion.ConversionConfig(opened_with(task), str(tmp_path / "new"))
  conversion.convert(config)
  values = json.loads((tmp_path / "new/config.json").read_text())
  assert values["model_type"] == "jina_embeddings_v3"
  assert values["rope_parameters"]["rope_theta"] == 20000
  own = ("auto_map", "lora_adaptations", "position_embedding_type")
  assert not {*own} & {*values}
  assert_same(kb.from_checkpoint(tmp_path / "new"), task)


@pytest.fixture(name="folder", scope="module")
def fixture_folder(tmp_path_factory):
  """The model as sentence-transformers has it, with a class of its own."""
  folder = tmp_path_factory.mktemp("jina") / "model"
  shutil.copytree(FOLDER, folder)
  for path in (DATA / "tokenizers/t5").glob("tokenizer*.json"):
    shutil.copy(path, folder)
  kinds = {
    "custom_st.Transformer": "",
    "sentence_transformers.models.Pooling": "1_Pooling",
    "sentence_transformers.models.Normalize": "2_Normalize",
  }
  modules = [
    {"idx": k, "name": str(k), "path": path, "type": kind, "kwargs": ["task"]}
    for k, (kind, path) in enumerate(kinds.items())
  ]
  for name in ("1_Pooling", "2_Normalize"):
    (folder / name).mkdir()
  pooling = {"word_embedding_dimension": 16, "pooling_mode_mean_tokens": True}
  prompts = {"prompts": {"retrieval.query": PROMPT, "retrieval.passage": ""}}
  for name, values in {
    "modules.json": modules,
    "1_Pooling/config.json": pooling,
    "config_sentence_transformers.json": prompts,
  }.items():
    (folder / name).write_text(json.dumps(values))
  return folder


def test_vectors_are_made_with_an_adapter_and_saved_so(folder, tmp_path):
  encoder = kb.SentenceEncoder.from_checkpoint(
    f"{folder}?adapter=retrieval.query"
  )
  assert_same(encoder.model.encoder, "retrieval.query")
  texts = ["the cat sat", "안녕하세요"]
  vectors = encoder.encode(texts, prompt_name="retrieval.query")
  assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
  plain = kb.SentenceEncoder.from_checkpoint(folder)
  assert_same(plain.model.encoder, "")
  others = plain.encode(texts, prompt_name="retrieval.query")
  assert np.abs(vectors - others).max() > 0.01
  encoder.save(tmp_path / "saved")
  saved = kb.SentenceEncoder.from_checkpoint(tmp_path / "saved")
  found = saved.encode(texts, prompt_name="retrieval.query")
  np.testing.assert_allclose(found, vectors, atol=1e-6)


@pytest.mark.integration
def test_vectors_are_served_with_an_adapter(folder, tmp_path):
  path = f"{folder}?adapter=classification"
  encoder = kb.SentenceEncoder.from_checkpoint(path)
  served = tf.saved_model.load(encoder.export(tmp_path / "served"))
  texts = ["the cat sat", "안녕하세요"]
  found = served.signatures["serving_default"](text=tf.constant(texts))
  vectors = encoder.encode(texts)
  np.testing.assert_allclose(found["embeddings"], vectors, atol=1e-5)


@pytest.mark.integration
def test_a_classifier_begins_with_an_adapter(folder):
  path = f"{folder}?adapter=classification"
  classifier = kb.TextClassifier.from_checkpoint(path)
  assert classifier.checkpoint == path
  classifier.fit(["a", "b"] * 4, ["a", "b"] * 4, epochs=1, learning_rate=1e-30)
  assert_same(classifier.model.encoder, "classification")


@pytest.mark.parametrize(
  ("path", "words"),
  [
    (f"{FOLDER}?adapter=query", "adapter=query must be left out, or name"),
    (f"{FOLDER}?adapter=query", "retrieval.query, retrieval.passage, sep"),
    (f"{DATA}/sparse?adapter=query", "it has none"),
    (f"{PEFT}?adapter=query", "config.json: retrieval_query, text_matching"),
    (f"{DATA}/torch/zip.bin?adapter=query", "there is no config.json in"),
  ],
)
def test_another_adapter_is_refused_in_one_line(path, words):
  with pytest.raises(ValueError) as caught:
    kb.from_checkpoint(path)
  assert words in str(caught.value) and "\n" not in str(caught.value)


def test_adapters_that_weights_lack_are_refused(tmp_path):
  kb.from_checkpoint(FOLDER)
  config = conversion.ConversionConfig(str(FOLDER), str(tmp_path / "new"))
  conversion.convert(config)
  shutil.copy(FOLDER / "config.json", tmp_path / "new")
  with pytest.raises(ValueError, match="weights hold none: leave"):
    kb.from_checkpoint(f"{tmp_path}/new?adapter=separation")
