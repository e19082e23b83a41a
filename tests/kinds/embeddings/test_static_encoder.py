"""Static embeddings beside those of sentence-transformers."""

import json
import pathlib
import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert_impl as kb
from keras_bert_impl.checkpoints.formats import safetensors_format
from keras_bert_impl.kinds import opening
from keras_bert_impl.kinds.embeddings.encoders import static_distillation
from keras_bert_impl.model_folders import model_files

# Made by `make_static_fixture.py` and `make_fixture.py`.
FOLDER = pathlib.Path(__file__).parents[2] / "data/static"
TRANSFORMER = FOLDER.parent / "sentences"
EXPECTED = dict(np.load(FOLDER / "expected.npz"))
TEXTS = EXPECTED["texts"].tolist()
MODULE = "sentence_transformers.models.StaticEmbedding"


@pytest.fixture(scope="module")
def encoder():
  return kb.StaticEncoder.from_checkpoint(FOLDER)


@pytest.fixture(scope="module")
def transformer():
  return kb.SentenceEncoder.from_checkpoint(TRANSFORMER)


def write_model2vec(folder, tensors, config=None, kept="config.json"):
  """Writes a folder as model2vec does, with the tokenizer of the fixture."""
  folder.mkdir()
  shutil.copy(FOLDER / "tokenizer.json", folder)
  safetensors_format.save(tensors, folder / "model.safetensors")
  config = config or {"model_type": "model2vec", "normalize": False}
  (folder / kept).write_text(json.dumps(config))
  return folder


def change_tokenizer(folder, **changes):
  path = folder / "tokenizer.json"
  values = json.loads(path.read_text())
  path.write_text(json.dumps(values | changes))


def test_the_vectors_are_those_of_sentence_transformers(encoder):
  for name in ("query", "document"):
    vectors = encoder.encode(TEXTS, prompt_name=name)
    np.testing.assert_allclose(vectors, EXPECTED[name], atol=1e-5)
  np.testing.assert_allclose(
    encoder.encode(TEXTS), EXPECTED["query"], atol=1e-5
  )
  for batch_size in (1, 2, 100):
    vectors = encoder.encode(TEXTS, prompt="", batch_size=batch_size)
    np.testing.assert_allclose(vectors, EXPECTED["document"], atol=1e-5)
  assert encoder.encode([]).shape == (0, 6)
  assert encoder.encode(TEXTS[0]).shape == (6,)
  assert not encoder.encode("", prompt="").any()


def test_the_length_of_vectors_is_as_the_modules_say(tmp_path):
  shutil.copytree(FOLDER, tmp_path / "means")
  modules = [{"idx": 0, "name": "0", "path": ".", "type": MODULE}]
  (tmp_path / "means/modules.json").write_text(json.dumps(modules))
  means = kb.StaticEncoder.from_checkpoint(str(tmp_path / "means"))
  vectors = means.encode(TEXTS, prompt="")
  np.testing.assert_allclose(vectors, EXPECTED["means"], atol=1e-5)


def test_a_saved_folder_has_the_layout_of_sentence_transformers(
  tmp_path, encoder
):
  encoder.save(tmp_path / "saved")
  for name in ("modules.json", "config_sentence_transformers.json"):
    saved = json.loads((tmp_path / "saved" / name).read_text())
    theirs = json.loads((FOLDER / name).read_text())
    if name == "modules.json":
      assert [m["path"] for m in saved] == [m["path"] for m in theirs]
      assert saved[0]["type"] == MODULE
    else:
      assert saved.items() <= theirs.items()
  again = kb.StaticEncoder.from_checkpoint(tmp_path / "saved")
  assert again.texts == encoder.texts
  np.testing.assert_array_equal(again.model.table, encoder.model.table)
  np.testing.assert_array_equal(again.encode(TEXTS), encoder.encode(TEXTS))


def test_the_model_computes_the_same_and_is_saved_by_keras(tmp_path, encoder):
  pieces = encoder.tokenizer.tokenize(TEXTS)
  inputs = {
    "input_ids": pieces.to_tensor(0),
    "input_mask": tf.ones_like(pieces).to_tensor(0),
  }
  longer = {name: tf.pad(x, [[0, 0], [0, 3]]) for name, x in inputs.items()}
  encoder.model.save(tmp_path / "static.keras")
  loaded = keras.models.load_model(tmp_path / "static.keras")
  for model in (encoder.model, loaded):
    for given in (inputs, longer):
      vectors = model(given)["embeddings"]
      np.testing.assert_allclose(vectors, EXPECTED["document"], atol=1e-5)


@pytest.mark.integration
@pytest.mark.parametrize("weights_dtype", [None, "bfloat16"])
def test_a_saved_model_takes_strings(tmp_path, encoder, weights_dtype):
  version = kb.export(encoder.servable(), tmp_path, weights_dtype=weights_dtype)
  loaded = tf.saved_model.load(version)
  assert set(loaded.signatures) == {"serving_default", "tf_example"}
  answer = loaded.signatures["serving_default"]
  for texts in (TEXTS, TEXTS[:1]):
    outputs = answer(text=tf.constant(texts))
    assert set(outputs) == {"embeddings"}
    np.testing.assert_allclose(
      outputs["embeddings"],
      EXPECTED["query"][: len(texts)],
      atol=0.02 if weights_dtype else 1e-5,
    )
  with pytest.raises(ValueError, match="signature_names .* must be 'google'"):
    kb.export(encoder.servable(), tmp_path, signature_names="transformers")


@pytest.mark.integration
def test_a_model_and_a_folder_are_exported_too(tmp_path, encoder):
  config = model_files.ModelFilesConfig()
  servable, _ = opening.make_servable(config, FOLDER)
  vectors = servable.answer(tf.constant(TEXTS))["embeddings"]
  np.testing.assert_allclose(vectors, EXPECTED["query"], atol=1e-5)
  with pytest.raises(ValueError, match=r"encoder .* such as a kb.Sentenc"):
    kb.StaticEncoder.distil("all-MiniLM-L6-v2")
  with pytest.raises(ValueError, match="--head=fill_mask does not fit"):
    opening.make_servable(config, FOLDER, "fill_mask")
  version = kb.export(
    encoder.model, encoder.tokenizer, tmp_path, normalize=False
  )
  answer = tf.saved_model.load(version).signatures["serving_default"]
  means = answer(text=tf.constant(TEXTS))["embeddings"]
  np.testing.assert_allclose(means, EXPECTED["means"], atol=1e-5)


def test_texts_are_cut_where_the_tokenizer_says_so(tmp_path):
  shutil.copytree(FOLDER, tmp_path / "cut")
  truncation = {"direction": "Right", "max_length": 2, "stride": 0}
  change_tokenizer(tmp_path / "cut", truncation=truncation)
  cut = kb.StaticEncoder.from_checkpoint(tmp_path / "cut")
  long, short = cut.encode(["the cat sat on", "the cat"], prompt="")
  np.testing.assert_allclose(long, short, atol=1e-6)
  cut.save(tmp_path / "saved")
  again = kb.StaticEncoder.from_checkpoint(tmp_path / "saved")
  assert again.texts.max_seq_length == 2
  change_tokenizer(tmp_path / "cut", truncation={"direction": "Left"})
  with pytest.raises(ValueError, match=r"direction \('Left'\) in truncation"):
    kb.StaticEncoder.from_checkpoint(tmp_path / "cut")


def test_folders_of_model2vec_are_read(tmp_path):
  rows = np.random.default_rng(0).normal(size=(18, 4)).astype("float32")
  weights = np.arange(18, dtype="float32")
  tensors = {"embeddings": rows, "weights": weights}
  folder = write_model2vec(tmp_path / "m", tensors)
  encoder = kb.StaticEncoder.from_checkpoint(folder)
  ids = encoder.tokenizer.vocabulary.ids
  expected = (weights[:, None] * rows)[[ids["the"], ids["cat"]]].mean(axis=0)
  np.testing.assert_allclose(encoder.encode("the cat"), expected, atol=1e-5)


@pytest.mark.integration
def test_a_vocabulary_needs_no_special_token_but_the_unknown_one(
  tmp_path, encoder
):
  shutil.copytree(FOLDER, tmp_path / "bare")
  values = json.loads((FOLDER / "tokenizer.json").read_text())
  # In place of [CLS], [SEP] and [MASK].
  ids = values["model"]["vocab"].items()
  vocab = {f"##{t}" if 2 <= index <= 4 else t: index for t, index in ids}
  change_tokenizer(
    tmp_path / "bare",
    model=values["model"] | {"vocab": vocab},
    added_tokens=values["added_tokens"][:2],
    post_processor=None,
  )
  bare = kb.StaticEncoder.from_checkpoint(tmp_path / "bare")
  version = kb.export(bare.servable(), tmp_path / "served")
  answer = tf.saved_model.load(version).signatures["serving_default"]
  expected = encoder.encode(["the cat"])
  for vectors in (
    bare.encode(["the cat"]),
    answer(text=tf.constant(["the cat"]))["embeddings"],
  ):
    np.testing.assert_allclose(vectors, expected, atol=1e-5)


@pytest.mark.integration
def test_a_token_alone_keeps_its_vector_when_it_is_distilled(transformer):
  static = kb.StaticEncoder.distil(transformer, size=None, weighting=None)
  vocabulary = static.tokenizer.vocabulary
  tokens = [t for t in vocabulary.tokens if t.isascii() and t.isalpha()]
  special = [*vocabulary.special_ids]
  assert not static.model.table.numpy()[special].any()
  others = np.delete(np.arange(vocabulary.size), special)
  ids = tf.RaggedTensor.from_tensor(others[:, None].astype("int32"))
  inputs = transformer.tokenizer.assemble(ids)
  vectors = transformer.model(inputs)["embeddings"].numpy()
  vectors -= vectors.mean(axis=0)
  by_token = dict(zip(others.tolist(), vectors))
  expected = [by_token[vocabulary.ids[token]] for token in tokens]
  np.testing.assert_allclose(
    static.similarity(static.encode(tokens), static.encode(tokens)),
    static.similarity(expected, expected),
    atol=1e-4,
  )


@pytest.mark.integration
def test_the_main_components_are_kept(transformer):
  whole = kb.StaticEncoder.distil(transformer, None, None).model.table.numpy()
  table = kb.StaticEncoder.distil(transformer, 2, None).model.table.numpy()
  values = np.linalg.svd(whole, compute_uv=False)
  np.testing.assert_allclose(
    np.linalg.svd(table, compute_uv=False), values[:2], rtol=1e-4
  )
  with pytest.raises(ValueError, match=r"size \(9\) must be .* \[1, 5\]"):
    kb.StaticEncoder.distil(transformer, 9)
  with pytest.raises(ValueError, match=r"weighting \('tf-idf'\)"):
    kb.StaticEncoder.distil(transformer, 2, "tf-idf")


def test_rare_tokens_weigh_more():
  zipf = static_distillation.token_weights(3, "zipf")
  np.testing.assert_allclose(zipf, np.log([2, 3, 4]), rtol=1e-6)
  sif = static_distillation.token_weights(2, "sif")
  np.testing.assert_allclose(sif, [1e-4 / (1e-4 + p / 3) for p in (2, 1)], 1e-6)


@pytest.mark.integration
def test_pairs_are_learned_from_batches_of_all(tmp_path):
  encoder = kb.StaticEncoder.from_checkpoint(FOLDER)
  pairs = [("the cat", "sat on"), ("mat .", "query"), ("앉", "고양이")]
  history = encoder.fit(
    pairs,
    validation_data=pairs,
    output_dir=tmp_path,
    epochs=5,
    learning_rate=0.3,
    query_prompt="",
  )
  assert history.history["loss"][-1] < 0.5 * history.history["loss"][0]
  assert len(history.history["val_mrr@10"]) == 5
  assert encoder.evaluate(pairs)["recall@1"] == 1
  assert encoder.texts.prompts["query"] == ""
  # The folder of the run is one of its table.
  servable, _ = opening.make_servable(model_files.ModelFilesConfig(), tmp_path)
  vectors = servable.answer(tf.constant(TEXTS))["embeddings"]
  np.testing.assert_allclose(vectors, encoder.encode(TEXTS), atol=1e-6)


def test_settings_without_a_meaning_here_are_named():
  encoder = kb.StaticEncoder.from_checkpoint(FOLDER)
  pairs = [("the", "cat"), ("on", "mat")]
  for setting, message in (
    ({"lora_rank": 2}, r"lora_rank \(2\) must be left out"),
    ({"pooling": "cls"}, r"pooling \('cls'\)"),
    ({"epochs": 0}, r"num_train_epochs \(0\)"),
    ({"matryoshka_widths": "9"}, r"matryoshka_widths \(9\) must be at most 6"),
  ):
    with pytest.raises(ValueError, match=message):
      encoder.fit(pairs, **setting)


def test_other_folders_are_named(tmp_path, encoder):
  with pytest.raises(ValueError, match=r"kb\.SentenceEncoder, .*distil"):
    kb.StaticEncoder.from_checkpoint(TRANSFORMER)
  with pytest.raises(ValueError, match="static vectors: use kb.StaticEncoder"):
    kb.SentenceEncoder.from_checkpoint(FOLDER)
  with pytest.raises(FileNotFoundError, match="nothing"):
    kb.StaticEncoder.from_checkpoint(tmp_path / "nothing")
  ids = np.zeros(18, "int64")
  tensors = {"embeddings": np.zeros((3, 4), "float32"), "mapping": ids}
  write_model2vec(tmp_path / "mapped", tensors)
  with pytest.raises(ValueError, match=r"embeddings \[3, 4\].*without a mapp"):
    kb.StaticEncoder.from_checkpoint(tmp_path / "mapped")
  kinds = ("StaticEmbedding", "Dense")
  modules = [
    {"idx": 0, "name": "0", "path": "", "type": MODULE.replace(kinds[0], kind)}
    for kind in kinds
  ]
  write_model2vec(tmp_path / "dense", tensors, modules, "modules.json")
  with pytest.raises(ValueError, match="modules StaticEmbedding, Dense: known"):
    kb.StaticEncoder.from_checkpoint(tmp_path / "dense")
  small = kb.StaticEmbeddingModel(3, 2)
  with pytest.raises(ValueError, match=r"18 tokens, more than .*\(3\)"):
    kb.StaticEncoder(small, encoder.tokenizer)
