"""Sentence vectors beside those of sentence-transformers."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import keras
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

import keras_bert_impl as kb
from keras_bert_impl.checkpoints.formats import safetensors_format
from keras_bert_impl.model_folders import conversion
from keras_bert_impl.sentences import folders
from tests.checkpoints import hub_server, torch_files

# Made by `make_fixture.py`.
FOLDER = pathlib.Path(__file__).parents[2] / "data/sentences"
EXPECTED = dict(np.load(FOLDER / "expected.npz"))
TEXTS = EXPECTED["texts"].tolist()
QUERY = "Query: "
SETTINGS = "config_sentence_transformers"


@pytest.fixture(scope="module")
def encoder():
  return kb.SentenceEncoder.from_checkpoint(FOLDER)


def copy(folder):
  return pathlib.Path(shutil.copytree(FOLDER, folder))


def write_old(folder, pooling, texts, modules=()):
  """Writes a folder as the first versions did, around the same weights."""
  transformer = folder / "0_Transformer"
  transformer.mkdir(parents=True)
  names = ("config", "model", "tokenizer", "tokenizer_config")
  for path in FOLDER.iterdir():
    if path.stem in names:
      shutil.copy(path, transformer)
  (transformer / "sentence_bert_config.json").write_text(json.dumps(texts))
  kinds = ("Transformer", "Pooling", *modules)
  values = [
    values | {"path": f"{index}_{kind}"}
    for index, (kind, values) in enumerate(zip(kinds, _modules(*kinds)))
  ]
  (folder / "modules.json").write_text(json.dumps(values))
  (folder / "1_Pooling").mkdir()
  (folder / "1_Pooling/config.json").write_text(json.dumps(pooling))
  return folder


def test_the_vectors_are_those_of_sentence_transformers(encoder):
  for name in ("query", "document"):
    vectors = encoder.encode(TEXTS, prompt_name=name)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, EXPECTED[name], atol=1e-5)
  assert not np.allclose(EXPECTED["query"], EXPECTED["document"], atol=0.01)


def test_the_default_prompt_is_used_unless_another_is_given(encoder):
  query, document = EXPECTED["query"], EXPECTED["document"]
  np.testing.assert_allclose(encoder.encode(TEXTS), query, atol=1e-5)
  none = encoder.encode(TEXTS, prompt="")
  np.testing.assert_allclose(none, document, atol=1e-5)
  same = encoder.encode(TEXTS, prompt_name="document", prompt=QUERY)
  np.testing.assert_allclose(same, query, atol=1e-5)
  with pytest.raises(ValueError, match=r"\('passage'\).*document, query"):
    encoder.encode(TEXTS, prompt_name="passage")


def test_vectors_are_in_the_order_of_the_texts_in_any_batches(encoder):
  for batch_size in (1, 2, 100):
    vectors = encoder.encode(TEXTS, batch_size=batch_size)
    np.testing.assert_allclose(vectors, EXPECTED["query"], atol=1e-5)
  vector = encoder.encode(TEXTS[2])
  np.testing.assert_allclose(vector, EXPECTED["query"][2], atol=1e-5)
  assert encoder.encode([]).shape == (0, encoder.embedding_size)
  with pytest.raises(ValueError, match=r"batch_size \(0\)"):
    encoder.encode(TEXTS, batch_size=0)
  with pytest.raises(ValueError, match=r"prompt \(3\) of .* must be a str"):
    encoder.encode(TEXTS, prompt=3)
  # Their items would be names of columns.
  for table in ({"text": TEXTS}, pd.DataFrame({"text": TEXTS}), None):
    with pytest.raises(ValueError, match=r"sentences .* must be a list of str"):
      encoder.encode(table)


def test_texts_of_as_many_tokens_share_a_batch(encoder, monkeypatch):
  texts = ["unbelievable " * 3, "a b c d e f g h i", "a", "b", "고양이가"] * 2
  batches = []

  def embed(batch, prompt):
    batches.append(encoder.tokenizer.tokenize(batch).row_lengths().numpy())
    return tf.zeros([len(batch), encoder.embedding_size])

  monkeypatch.setattr(encoder, "_embed", embed)
  encoder.encode(texts, batch_size=2)
  lengths = np.concatenate(batches)
  assert [len(batch) for batch in batches] == [2] * 5
  np.testing.assert_array_equal(lengths, np.sort(lengths)[::-1])
  # By characters, the order would be another.
  characters = [*map(len, texts)]
  tokens = encoder.tokenizer.tokenize(texts).row_lengths().numpy()
  assert np.argmax(characters) != np.argmax(tokens)


def test_the_similarity_of_vectors_is_their_cosine(encoder):
  a = np.array([[1, 0], [3, 4], [0, 0]], np.float32)
  b = np.array([[0, 2], [-1, 0]], np.float32)
  found = encoder.similarity(a, b)
  np.testing.assert_allclose(found, [[0, -1], [0.8, -0.6], [0, 0]], atol=1e-6)
  assert found.dtype == np.float32
  vectors = encoder.encode(["the cat", "a dog"])
  assert encoder.similarity(vectors[0], vectors).shape == (1, 2)
  np.testing.assert_allclose(
    np.diag(encoder.similarity(vectors, vectors)), 1, 1e-6
  )
  with pytest.raises(ValueError, match=r"b must be vectors .*encode\("):
    encoder.similarity(a, [["the cat"]])
  with pytest.raises(ValueError, match=r"a \[3, 2\] and b \[1, 3\]"):
    encoder.similarity(a, [1, 2, 3])


def test_folders_of_old_versions_are_read(tmp_path, encoder):
  pooling = {
    "word_embedding_dimension": 8,
    "pooling_mode_cls_token": False,
    "pooling_mode_mean_tokens": True,
    "pooling_mode_max_tokens": True,
    "pooling_mode_mean_sqrt_len_tokens": False,
  }
  texts = {"max_seq_length": 6, "do_lower_case": True}
  folder = write_old(tmp_path / "old", pooling, texts)
  old = kb.SentenceEncoder.from_checkpoint(str(folder))
  assert old.texts == folders.Texts(6, True)
  assert old.model.pooling == ("max", "mean")
  inputs = old.tokenizer([text.lower() for text in TEXTS], max_seq_length=6)
  hidden = encoder.model.encoder(inputs)["sequence_output"].numpy()
  lengths = inputs["input_mask"].numpy().sum(axis=1)
  rows = [row[:n] for row, n in zip(hidden, lengths, strict=True)]
  expected = [np.concatenate([row.max(0), row.mean(0)]) for row in rows]
  np.testing.assert_allclose(old.encode(TEXTS), expected, atol=1e-5)
  unit = old.encode(TEXTS, normalize_embeddings=True)
  np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1, atol=1e-5)
  # The folder within holds the transformer and its tokenizer.
  inner = kb.from_checkpoint(folder)
  for weight, same in zip(
    inner.weights, old.model.encoder.weights, strict=True
  ):
    np.testing.assert_array_equal(weight, same)
  tokens = kb.load_tokenizer(folder).tokenize(TEXTS)
  assert tokens.to_list() == encoder.tokenizer.tokenize(TEXTS).to_list()


def test_other_checkpoints_give_the_mean_and_say_so(tmp_path, encoder):
  copy(tmp_path / "plain")
  (tmp_path / "plain/modules.json").unlink()
  with pytest.warns(UserWarning, match="no modules.json in .*the mean") as said:
    plain = kb.SentenceEncoder.from_checkpoint(str(tmp_path / "plain"))
  assert len([w for w in said if "mean" in str(w.message)]) == 1
  assert plain.model.pooling == ("mean",) and not plain.model.final_layers
  assert plain.texts == folders.Texts(24)


def test_what_is_saved_reads_back_the_same(tmp_path, encoder):
  encoder.save(tmp_path / "saved")
  again = kb.SentenceEncoder.from_checkpoint(tmp_path / "saved")
  assert again.texts == encoder.texts
  for weight, same in zip(
    encoder.model.weights, again.model.weights, strict=True
  ):
    np.testing.assert_array_equal(weight, same)
  np.testing.assert_array_equal(again.encode(TEXTS), encoder.encode(TEXTS))
  with pytest.raises(ValueError, match="exists already"):
    encoder.save(tmp_path / "saved")
  # The files are those that were read.
  stored = {path.relative_to(FOLDER) for path in FOLDER.rglob("*.*")}
  saved = {p.relative_to(tmp_path / "saved") for p in tmp_path.rglob("*.*")}
  left_out = {
    pathlib.Path("expected.npz"),
    pathlib.Path("4_Normalize/config.json"),
  }
  assert stored - left_out <= saved
  for name in ("model", "2_Dense/model", "3_Dense/model"):
    theirs, ours = (
      safetensors_format.read(folder / f"{name}.safetensors")
      for folder in (FOLDER, tmp_path / "saved")
    )
    assert theirs.keys() == ours.keys()
    for key, value in theirs.items():
      np.testing.assert_array_equal(ours[key], value)
  modules = json.loads((tmp_path / "saved/modules.json").read_text())
  assert [module["path"] for module in modules] == [
    *("", "1_Pooling", "2_Dense", "3_Dense", "4_Normalize"),
  ]
  pooling = json.loads((tmp_path / "saved/1_Pooling/config.json").read_text())
  assert pooling["pooling_mode"] == list(encoder.model.pooling)
  assert pooling["include_prompt"] is False


def test_a_pooling_that_old_versions_know_is_written_for_them(tmp_path):
  model = kb.EmbeddingModel(
    kb.from_checkpoint(FOLDER), "max", [keras.layers.UnitNormalization()]
  )
  tokenizer = kb.load_tokenizer(FOLDER)
  kb.SentenceEncoder(model, tokenizer).save(tmp_path / "saved")
  path = tmp_path / "saved/1_Pooling/config.json"
  values = json.loads(path.read_text())
  assert "pooling_mode" not in values
  assert [name for name in values if values[name] is True] == [
    "pooling_mode_max_tokens",
    "include_prompt",
  ]


@pytest.mark.parametrize(
  "pooling, layers, words",
  [
    ("pooler", [], "pooling .'pooler'"),
    ("cls", [keras.layers.LayerNormalization()], "LayerNormalization"),
    ("cls", [keras.layers.Dense(2, "softplus")], "activation .'softplus'"),
  ],
)
def test_what_the_others_lack_is_not_written(tmp_path, pooling, layers, words):
  model = kb.EmbeddingModel(kb.from_checkpoint(FOLDER), pooling, layers)
  encoder = kb.SentenceEncoder(model, kb.load_tokenizer(FOLDER))
  with pytest.raises(ValueError, match=words):
    encoder.save(tmp_path / "saved")
  assert not list(tmp_path.iterdir())


def test_vectors_follow_the_training_of_the_model():
  encoder = kb.SentenceEncoder.from_checkpoint(FOLDER)
  before = encoder.encode(TEXTS)
  assert not any("pooler" in w.path for w in encoder.model.trainable_variables)
  encoder.model.final_layers[0].kernel.assign_add(np.ones((40, 6)) * 0.1)
  assert np.abs(encoder.encode(TEXTS) - before).max() > 0.01


def test_its_servable_gives_the_same_vectors(encoder):
  vectors = encoder.servable().answer(tf.constant(TEXTS))["embeddings"]
  np.testing.assert_allclose(vectors, EXPECTED["query"], atol=1e-5)


def _modules(*kinds):
  return [
    {"type": f"sentence_transformers.models.{kind}", "path": ""}
    for kind in kinds
  ]


@pytest.mark.parametrize("limit", [float("inf"), int(1e30)])
def test_a_folder_may_set_no_limit_to_texts(tmp_path, limit):
  folder = copy(tmp_path / "unlimited")
  path = folder / "sentence_bert_config.json"
  path.write_text(
    json.dumps(json.loads(path.read_text()) | {"max_seq_length": limit})
  )
  again = kb.SentenceEncoder.from_checkpoint(folder)
  longest = again.model.encoder.config.longest_input
  assert again.texts.max_seq_length == longest
  cut = again.encode(["cat " * longest])
  np.testing.assert_allclose(again.encode(["cat " * 999]), cut, atol=1e-6)


@pytest.mark.parametrize(
  "name, values, words",
  [
    ("modules", _modules("Transformer", "LSTM"), "models.LSTM'.*module 1 of"),
    ("modules", _modules("CLIPModel"), "CLIPModel.*module 0 of .*modules.json"),
    ("modules", [{"type": "my.LSTM", "path": ""}], "my.LSTM"),
    (
      "modules",
      _modules("Transformer", "Normalize"),
      "Transformer, Normalize:",
    ),
    ("modules", [], r"modules \(none\)"),
    ("modules", [_modules("Transformer")[0] | {"path": "../x"}], "'../x'"),
    ("1_Pooling/config", {"pooling_mode": "median"}, "'median'.*1_Pooling"),
    ("2_Dense/config", {"activation_function": "os.abort"}, "'os.abort'.*2_D"),
    ("2_Dense/config", {"use_residual": True}, "use_residual .True."),
    ("2_Dense/config", {"module_input_name": "scores"}, "'scores'.*2_Dense"),
    ("2_Dense/config", {"bias": False}, "linear.bias.*asks for linear.weight"),
    ("4_Normalize/config", {"module_output_name": "b"}, "'b'.*4_Normalize"),
    ("sentence_bert_config", {"max_seq_length": 1}, "1 tokens in .*bert_con"),
    ("sentence_bert_config", {"max_seq_length": float("nan")}, "nan tokens in"),
    ("sentence_bert_config", {"transformer_task": "fill-mask"}, "fill-mask"),
    (SETTINGS, {"model_type": "SparseEncoder"}, "model_type .'SparseEncoder'"),
    (SETTINGS, {"default_prompt_name": "web"}, "'web'.*query"),
    (SETTINGS, {"prompts": {"a": 1}}, "a in prompts of"),
  ],
)
def test_what_is_not_supported_is_told_by_name(tmp_path, name, values, words):
  folder = copy(tmp_path / "other")
  path = folder / f"{name}.json"
  if isinstance(values, dict):
    values = json.loads(path.read_text()) | values
  path.write_text(json.dumps(values))
  with pytest.raises(ValueError, match=words) as error:
    kb.SentenceEncoder.from_checkpoint(folder)
  assert "\n" not in str(error.value)


def test_the_weights_of_a_dense_layer_may_be_torch_s(tmp_path, encoder):
  folder = copy(tmp_path / "pickled")
  path = folder / "2_Dense/model.safetensors"
  arrays = dict(safetensors_format.read(path))
  path.unlink()
  torch_files.write_arrays(path.with_name("pytorch_model.bin"), arrays)
  again = kb.SentenceEncoder.from_checkpoint(folder)
  np.testing.assert_array_equal(again.encode(TEXTS), encoder.encode(TEXTS))


def test_weights_of_another_size_are_refused(tmp_path):
  folder = copy(tmp_path / "other")
  (folder / "2_Dense/model.safetensors").unlink()
  with pytest.raises(FileNotFoundError, match="2_Dense/model.safetensors"):
    kb.SentenceEncoder.from_checkpoint(folder)
  shutil.copy(folder / "3_Dense/model.safetensors", folder / "2_Dense")
  path = folder / "2_Dense/config.json"
  path.write_text(json.dumps(json.loads(path.read_text()) | {"bias": False}))
  with pytest.raises(ValueError, match=r"shape \[5, 6\], but gets .* 40"):
    kb.SentenceEncoder.from_checkpoint(folder)


def test_a_name_is_looked_up(monkeypatch):
  folder = str(FOLDER)
  places = {"org/tiny": folder, folder: folder}
  monkeypatch.setattr(
    folders.hub, "local_path", lambda path, weights: places[path]
  )
  assert folders.read("org/tiny") == folders.read(folder)


@pytest.mark.slow
def test_a_model_comes_by_its_name_with_two_lines(tmp_path):
  shutil.copytree(FOLDER, tmp_path / "served")
  code = (
    "import keras_bert_impl as kb;"
    "encoder = kb.SentenceEncoder.from_checkpoint('org/tiny');"
    "print(encoder.encode(['the cat']).shape, encoder.model.pooling)"
  )
  with hub_server.serving() as server:
    server.models["org/tiny"] = {"main": tmp_path / "served"}
    result = subprocess.run(
      [sys.executable, "-c", code],
      capture_output=True,
      text=True,
      env=os.environ | server.environment(tmp_path / "home"),
    )
  assert result.returncode == 0, result.stderr
  assert "(1, 5)" in result.stdout and "'weightedmean'" in result.stdout


def test_mteb_is_given_what_it_asks_for(encoder):
  batches = [{"text": TEXTS[:2]}, {"text": TEXTS[2:]}]
  given = {"task_metadata": None, "hf_split": "test", "hf_subset": "default"}
  for kind in ("query", "document"):
    vectors = encoder.encode(batches, prompt_type=kind, **given)
    np.testing.assert_allclose(vectors, EXPECTED[kind], atol=1e-5)
  pairwise = encoder.similarity_pairwise(vectors, vectors[::-1])
  whole = encoder.similarity(vectors, vectors[::-1])
  np.testing.assert_allclose(pairwise, np.diagonal(whole), atol=1e-6)
  with pytest.raises(TypeError, match="no argument 'normalise'"):
    encoder.encode(TEXTS, normalise=True)


def test_what_is_no_text_or_no_vector_is_named(encoder):
  with pytest.raises(
    ValueError, match=r"sentences\[1\] \(None\) must be a str"
  ):
    encoder.encode(["a", None])
  vectors = np.eye(3, 4)
  with pytest.raises(ValueError, match="must be as many vectors"):
    encoder.similarity_pairwise(vectors, vectors[:1])


def test_vectors_are_cut_before_they_get_length_1(encoder):
  whole = encoder.encode(TEXTS[:2])
  np.testing.assert_array_equal(
    encoder.encode(TEXTS[:2], truncate_dim=3), whole[:, :3]
  )
  cut = encoder.encode(TEXTS[0], truncate_dim=3, normalize_embeddings=True)
  np.testing.assert_allclose(np.linalg.norm(cut), 1, atol=1e-6)
  with pytest.raises(ValueError, match=r"truncate_dim \(0\) of .* an integer"):
    encoder.encode(TEXTS[0], truncate_dim=0)


def test_fewer_layers_keep_pooling_and_prompts(tmp_path, encoder):
  target = tmp_path / "converted"
  config = conversion.ConversionConfig(str(FOLDER), str(target), layers="0")
  conversion.convert(config)
  fewer = kb.SentenceEncoder.from_checkpoint(target)
  assert fewer.texts == encoder.texts
  assert fewer.encode(TEXTS[:2]).shape == encoder.encode(TEXTS[:2]).shape
  kept = {layer.name for layer in fewer.model.final_layers}
  assert kept == {layer.name for layer in encoder.model.final_layers}
