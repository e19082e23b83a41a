"""Names of sentence-transformers on encoders of every kind of vectors."""

import json
import shutil

import numpy as np
import pytest
import tensorflow as tf

import keras_bert_impl as kb
from keras_bert_impl.estimators import records
from keras_bert_impl.sentences import folders
from tests.kinds.embeddings import small_encoders

TEXTS = ["the cat sat on a mat", "the", "who sat .", "a dog", "cat"]


@pytest.fixture(name="encoder", scope="module", params=small_encoders.CLASSES)
def fixture_encoder(request):
  return small_encoders.opened(request.param)


@pytest.fixture(name="dense", scope="module")
def fixture_dense():
  return small_encoders.opened("sentences")


def test_documents_have_the_first_of_three_prompts():
  prompts = {"corpus": "c: ", "passage": "p: ", "query": "q: ", "other": "o: "}
  texts = folders.Texts(prompts=prompts, default_prompt_name="other")
  assert [*map(texts.prompt_of, ("query", "document"))] == ["q: ", "p: "]
  texts.prompts["document"] = ""
  assert texts.prompt_of("document") == ""
  texts = folders.Texts(prompts={"other": "o: "}, default_prompt_name="other")
  assert [*map(texts.prompt_of, ("query", "document"))] == ["o: ", "o: "]


def test_queries_and_documents_are_encoded_after_their_prompts(tmp_path):
  folder = shutil.copytree(small_encoders.DATA / "sentences", tmp_path / "copy")
  path = folder / "config_sentence_transformers.json"
  prompts = {"query": "the ", "passage": "a ", "other": "cat "}
  path.write_text(json.dumps({"prompts": prompts}))
  encoder = kb.SentenceEncoder.from_checkpoint(folder)
  for kind, prompt in (("query", "the "), ("document", "a ")):
    encode = getattr(encoder, f"encode_{kind}")
    expected = encoder.encode(TEXTS, prompt=prompt)
    np.testing.assert_array_equal(encode(TEXTS), expected)
    np.testing.assert_array_equal(
      encode(TEXTS[2], truncate_dim=3), expected[2, :3]
    )
    other = encoder.encode(TEXTS, prompt="cat ")
    np.testing.assert_array_equal(encode(TEXTS, prompt_name="other"), other)
    np.testing.assert_array_equal(encode(TEXTS, prompt="cat "), other)
  assert not np.array_equal(
    encoder.encode_query(TEXTS), encoder.encode(TEXTS, prompt="")
  )


def test_vectors_are_quantised_after_they_are_cut(dense):
  vectors = dense.encode(TEXTS, truncate_dim=4, normalize_embeddings=True)
  found = {
    name: dense.encode(
      TEXTS, truncate_dim=4, normalize_embeddings=True, precision=name
    )
    for name in ("int8", "uint8", "binary", "ubinary")
  }
  low, high = vectors.min(axis=0), vectors.max(axis=0)
  places = (vectors - low) / ((high - low) / 255)
  for name, shift in (("uint8", 0), ("int8", 128)):
    assert found[name].dtype == name
    distances = np.abs(found[name] - (places - shift))
    assert distances.max() < 1 + 1e-3  # It cuts to whole numbers.
  bits = [8 * a + 4 * b + 2 * c + d for a, b, c, d in (vectors > 0).tolist()]
  bits = [16 * number for number in bits]  # Eight in a byte, the first highest.
  np.testing.assert_array_equal(found["ubinary"][:, 0], bits)
  np.testing.assert_array_equal(found["binary"][:, 0], np.array(bits) - 128)
  assert found["binary"].dtype == np.int8
  with pytest.raises(ValueError, match=r"precision \('int4'\) must be one of"):
    dense.encode(TEXTS, precision="int4")
  with pytest.raises(ValueError, match=r"precision \('int8'\) needs several"):
    dense.encode("the cat", precision="int8")
  assert dense.encode([], precision="int8").shape == (0, 5)


def test_tokens_share_the_ranges_of_all_texts():
  late = small_encoders.opened("late")
  vectors = late.encode_document(TEXTS)
  rows = np.concatenate(vectors)
  steps = (rows.max(axis=0) - rows.min(axis=0)) / 255
  found = late.encode_document(TEXTS, precision="uint8")
  assert [x.shape for x in found] == [x.shape for x in vectors]
  for own, whole in zip(found, vectors, strict=True):
    assert own.dtype == np.uint8
    restored = own * steps + rows.min(axis=0)
    assert (np.abs(restored - whole) <= 1.001 * steps + 1e-6).all()
  assert late.encode_query("cat", precision="ubinary").dtype == np.uint8


def test_tensors_hold_what_arrays_do(encoder):
  arrays = encoder.encode_query(TEXTS)
  tensors = encoder.encode_query(TEXTS, convert_to_tensor=True)
  one = encoder.encode_query(TEXTS[0], convert_to_tensor=True)
  expected = encoder.similarity(arrays, arrays)
  compared = encoder.similarity(tensors, tensors)
  np.testing.assert_allclose(compared, expected, rtol=1e-5)
  np.testing.assert_allclose(
    encoder.similarity(one, tensors), expected[:1], rtol=1e-5
  )
  if isinstance(encoder, kb.SparseEncoder):
    assert isinstance(tensors, tf.SparseTensor)
    prompt = encoder.texts.prompt_of("query")
    found = tf.sparse.to_dense(tensors).numpy()
    np.testing.assert_array_equal(found, encoder.vectors(TEXTS, prompt))
    np.testing.assert_allclose(tf.sparse.to_dense(one), found[0], atol=1e-6)
    return
  for array, tensor in zip(arrays, tensors, strict=True):
    assert isinstance(tensor, tf.Tensor)
    np.testing.assert_array_equal(tensor, array)
  np.testing.assert_allclose(one, arrays[0], atol=1e-6)


def test_a_bar_counts_the_texts(encoder, capsys):
  for encode in (encoder.encode_query, encoder.encode_document):
    encode(TEXTS, batch_size=2)
    assert capsys.readouterr().err == ""
    encode(TEXTS, batch_size=2, show_progress_bar=True)
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith("Encoded: 100 %, 5/5") and "texts/s" in line
  with pytest.raises(TypeError, match="has no argument 'show_bar'"):
    encoder.encode_query(TEXTS, show_bar=True)


def test_search_answers_as_semantic_search(encoder):
  queries = ["the cat", "a dog"]
  vectors = encoder.encode_query(queries), encoder.encode_document(TEXTS)
  scores = encoder.similarity(*vectors)
  found = encoder.search(queries, TEXTS, top_k=3)
  for row, hits in zip(scores, found, strict=True):
    order = np.argsort(-row, kind="stable")[:3]
    assert [hit["corpus_id"] for hit in hits] == order.tolist()
    values = [hit["score"] for hit in hits]
    np.testing.assert_allclose(values, row[order], rtol=1e-6)
    assert {*map(type, values)} == {float}
  assert encoder.search(*vectors, top_k=3) == found
  near = [{**x, "score": pytest.approx(x["score"], abs=1e-5)} for x in found[0]]
  for query in ("the cat", vectors[0][0]):
    assert encoder.search(query, TEXTS, top_k=3) == [near]
  assert len(encoder.search("the cat", TEXTS)[0]) == 5
  with pytest.raises(ValueError, match=r"top_k \(0\)"):
    encoder.search(queries, TEXTS, top_k=0)


def test_blocks_of_queries_find_what_all_do(dense, monkeypatch):
  expected = dense.search(TEXTS, TEXTS)
  module = "keras_bert_impl.kinds.embeddings.encoders.searching_encoder"
  monkeypatch.setattr(f"{module}._MOST_SIMILARITIES", 10)  # Two queries.
  for found, own in zip(dense.search(TEXTS, TEXTS), expected, strict=True):
    assert [x["corpus_id"] for x in found] == [x["corpus_id"] for x in own]


def test_the_similarity_of_texts_is_that_of_their_vectors(encoder):
  a, b = TEXTS[:2], TEXTS[2:]
  if isinstance(encoder, kb.MultiVectorEncoder):
    vectors = encoder.encode_query(a), encoder.encode_document(b)
  else:
    vectors = encoder.encode(a), encoder.encode(b)
  expected = encoder.similarity(*vectors)
  assert expected.shape == (2, 3) and expected.dtype == np.float32
  np.testing.assert_array_equal(encoder.similarity(a, b), expected)
  np.testing.assert_array_equal(encoder.similarity(a, vectors[1]), expected)
  one = encoder.similarity(a[0], b)
  np.testing.assert_allclose(one, expected[:1], atol=1e-5)


@pytest.mark.parametrize("top_k", [1, 2, 4, 6, 9, None])
def test_the_best_are_those_of_a_stable_sort(top_k):
  for scores in ([1, 3, 2, 3, 3, 0], [0, np.nan, 1, np.nan, 1, 2], [2] * 6):
    order = np.argsort(-np.array(scores, float), kind="stable")[:top_k]
    found = records.best(np.array(scores, float), top_k)
    assert [x["index"] for x in found] == order.tolist()
