"""Sparse vectors beside those of sentence-transformers."""

import json
import pathlib
import shutil

import numpy as np
import pytest
import tensorflow as tf

import keras_bert_impl as kb
from keras_bert_impl.kinds import opening
from keras_bert_impl.model_folders import model_files

# Made by `make_sparse_fixture.py`.
FOLDER = pathlib.Path(__file__).parents[2] / "data/sparse"
EXPECTED = dict(np.load(FOLDER / "expected.npz"))
TEXTS = EXPECTED["texts"].tolist()
PAIRS = [(a, f"{a} on mat") for a in ("the cat", "cats sat", "고양이", "mat .")]


@pytest.fixture(scope="module")
def encoder():
  return kb.SparseEncoder.from_checkpoint(FOLDER)


def change(folder, name, **values):
  """Copies the folder, with other values in one of its files."""
  shutil.copytree(FOLDER, folder)
  path = folder / name
  path.write_text(json.dumps(json.loads(path.read_text()) | values))
  return folder


def test_the_weights_are_those_of_sentence_transformers(encoder):
  for name in ("query", "document"):
    prompt = encoder.texts.prompts[name]
    vectors = encoder.vectors(TEXTS, prompt, batch_size=2)
    np.testing.assert_allclose(vectors, EXPECTED[name], atol=1e-5)
    tokens = encoder.tokenizer.vocabulary.tokens
    for found, vector in zip(
      encoder.encode(TEXTS, prompt_name=name), EXPECTED[name], strict=True
    ):
      assert [*found.values()] == sorted(found.values(), reverse=True)
      assert found == pytest.approx(
        {tokens[k]: vector[k] for k in np.flatnonzero(vector)}, abs=1e-5
      )
  one = encoder.encode(TEXTS[0], max_tokens=2)
  assert [*one] == [*encoder.encode(TEXTS[0])][:2]


def test_the_similarity_is_the_dot_product(encoder):
  weights, vectors = encoder.encode(TEXTS), encoder.vectors(TEXTS)
  found = encoder.similarity(weights[:2], weights)
  np.testing.assert_allclose(found, vectors[:2] @ vectors.T, rtol=1e-5)
  assert encoder.similarity(weights[0], {"unseen": 1.0}).tolist() == [[0]]


def test_what_is_saved_is_the_same_folder(encoder, tmp_path):
  encoder.save(tmp_path / "saved")
  again = kb.SparseEncoder.from_checkpoint(tmp_path / "saved")
  assert again.texts == encoder.texts
  np.testing.assert_array_equal(again.vectors(TEXTS), encoder.vectors(TEXTS))
  head = kb.from_checkpoint(tmp_path / "saved", heads=True)
  assert isinstance(head, kb.MaskedLanguageModel)
  # The newer module for the same model.
  path = tmp_path / "saved/modules.json"
  path.write_text(path.read_text().replace("MLMTransformer", "Transformer"))
  kb.SparseEncoder.from_checkpoint(tmp_path / "saved")


@pytest.mark.integration
def test_pairs_are_learned_in_place_and_scored(tmp_path):
  encoder = kb.SparseEncoder.from_checkpoint(FOLDER)
  history = encoder.fit(
    PAIRS,
    output_dir=tmp_path,
    epochs=5,
    batch_size=4,
    chunk_size=3,
    learning_rate=3e-2,
    document_flops_weight=0.1,
  )
  loss = history.history["loss"]
  assert loss[-1] < 0.8 * loss[0]
  before = kb.SparseEncoder.from_checkpoint(FOLDER).evaluate(PAIRS)
  assert before["mrr@10"] < encoder.evaluate(PAIRS)["mrr@10"] + 1e-6
  assert encoder.results["train"]["is_finished"]
  # The run itself and its folder are served alike.
  files, [expected] = (
    model_files.ModelFilesConfig(),
    encoder.encode(["the cat"]),
  )
  for folder in (tmp_path, tmp_path / "sparse_encoder"):
    servable, _ = opening.make_servable(files, str(folder))
    answer = servable.answer(tf.constant(["the cat"]))
    found = zip(answer["tokens"].numpy()[0], answer["weights"].numpy()[0])
    assert {t.decode(): w for t, w in found if w} == pytest.approx(
      expected, abs=1e-5
    )


def test_other_folders_and_checkpoints_are_refused(tmp_path):
  dense = FOLDER.parent / "sentences"
  with pytest.raises(ValueError, match="has no head that fills masks"):
    kb.SparseEncoder.from_checkpoint(dense)
  with pytest.raises(ValueError, match="makes sparse vectors: use kb.Sparse"):
    kb.SentenceEncoder.from_checkpoint(FOLDER)
  pooling = "1_SpladePooling/config.json"
  other = change(tmp_path / "sum", pooling, pooling_strategy="sum")
  with pytest.raises(ValueError, match=r"pooling_strategy \('sum'\) in"):
    kb.SparseEncoder.from_checkpoint(other)
  with pytest.raises(ValueError, match="xlnet.*make no sparse vectors"):
    kb.SparseEmbeddingModel(
      kb.EncoderConfig.preset("xlnet_base", num_hidden_layers=1)
    )
