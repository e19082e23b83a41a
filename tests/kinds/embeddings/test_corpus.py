"""Vectors of a corpus: what is written, read and searched."""

import json
import shutil

import numpy as np
import pytest

import keras_bert_impl as kb
from keras_bert_impl.kinds.embeddings.corpus import corpus_shards, vector_forms
from tests.kinds.embeddings import small_encoders

WORDS = "the cat sat on mat cats 고양이 . a dog ran".split()
TEXTS = [" ".join(WORDS[k % 5 : 1 + k % 11]) or "mat" for k in range(30)]


@pytest.fixture(name="static", scope="module")
def fixture_static():
  return small_encoders.opened("static")


@pytest.fixture(name="written", scope="module")
def fixture_written(static, tmp_path_factory):
  """The folder of three shards of vectors."""
  folder = tmp_path_factory.mktemp("vectors")
  static.encode_corpus(TEXTS, folder, shard_size=12)
  return folder


def contents(folder):
  return {path.name: path.read_bytes() for path in folder.iterdir()}


def stacked(vectors):
  return np.concatenate([np.asarray(block) for block in vectors.blocks()])


def test_shards_hold_the_vectors_in_the_order_of_the_texts(static, written):
  assert sorted(contents(written)) == [
    *(f"ids-0000{k}-of-00003.txt" for k in range(3)),
    "manifest.json",
    *(f"vectors-0000{k}-of-00003.npy" for k in range(3)),
  ]
  vectors = kb.load_corpus_vectors(written, check_hashes=True)
  assert (len(vectors), vectors.size, vectors.kind) == (30, 6, "static")
  assert vectors.ids == [str(k) for k in range(30)]
  expected = static.encode(TEXTS, prompt_name="document")
  np.testing.assert_allclose(stacked(vectors), expected, atol=1e-6)
  first = np.load(written / "vectors-00000-of-00003.npy")
  np.testing.assert_array_equal(vectors.arrays(0)["vectors"], first)
  assert isinstance(vectors.arrays(0)["vectors"], np.memmap)
  assert "30 texts, static, size=6" in repr(vectors)


@pytest.mark.parametrize("name", small_encoders.NAMES)
@pytest.mark.parametrize("file_format", ["npy", "safetensors"])
def test_every_encoder_writes_what_it_encodes(tmp_path, name, file_format):
  encoder = small_encoders.opened(name)
  vectors = encoder.encode_corpus(
    TEXTS, tmp_path, shard_size=20, file_format=file_format
  )
  expected = encoder.vectors_of("document", TEXTS)
  found = [row for block in vectors.blocks() for row in _rows(block)]
  for row, own in zip(found, _rows(expected), strict=True):
    np.testing.assert_allclose(row, own, atol=1e-6)


def _rows(block):
  if isinstance(block, list):
    return [np.squeeze(x.toarray()) if hasattr(x, "nnz") else x for x in block]
  return [*(block.toarray() if hasattr(block, "nnz") else block)]


@pytest.mark.parametrize(
  ("precision", "share"), [("float16", 2), ("int8", 4), ("binary", 24)]
)
def test_smaller_vectors_are_close(static, written, tmp_path, precision, share):
  small = static.encode_corpus(TEXTS, tmp_path, precision=precision)
  expected = stacked(kb.load_corpus_vectors(written))
  found = stacked(small)
  assert small.arrays(0)["vectors"].nbytes * share == expected.nbytes
  if precision == "binary":
    np.testing.assert_array_equal(found > 0, expected > 0)
  else:
    np.testing.assert_allclose(found, expected, atol=0.005)


@pytest.mark.parametrize("name", small_encoders.NAMES)
def test_search_finds_what_comparing_with_all_finds(tmp_path, name):
  encoder = small_encoders.opened(name)
  vectors = encoder.encode_corpus(TEXTS, tmp_path, shard_size=7)
  rows = encoder.vectors_of("query", TEXTS[:3])
  documents = encoder.vectors_of("document", TEXTS)
  if name == "sparse":
    rows, documents = (
      np.concatenate([x.toarray() for x in part]) for part in (rows, documents)
    )
    scores = rows @ documents.T
  else:
    scores = encoder.similarity(rows, documents)
  found = vectors.search(rows, top_k=5)
  for row, own in zip(found, scores, strict=True):
    best = np.argsort(-own, kind="stable")[:5]
    np.testing.assert_allclose([x["score"] for x in row], own[best], atol=1e-4)
    assert row[0]["id"] in np.flatnonzero(own >= own.max() - 1e-4).astype(str)
  assert len(vectors.search(rows, top_k=100)[0]) == len(TEXTS)
  reordered = vectors.rerank(rows, [row[::-1] for row in found])
  for row, own in zip(reordered, found, strict=True):
    assert {x["id"] for x in row} == {x["id"] for x in own}
    scores = [[x["score"] for x in each] for each in (row, own)]
    np.testing.assert_allclose(*scores, atol=1e-4)
  assert [len(row) for row in vectors.rerank(rows, found, top_k=2)] == [2] * 3
  assert vectors.rerank(rows, [[]] * 3) == [[]] * 3
  for wrong, message in (
    ([[{"id": "99"}]] * 3, "found has the id '99', which .* does not have"),
    (found[:2], "found .2 lists. must have one for each of the 3 queries"),
  ):
    with pytest.raises(ValueError, match=message):
      vectors.rerank(rows, wrong)


def test_similar_tokens_become_one():
  rows = np.array([[1, 0], [0, 1], [0, 0.9], [-1, 0], [-0.9, 0]], np.float32)
  found = vector_forms.pool_tokens(rows, 2)
  rest = sorted(found[1:].round(4).tolist())
  np.testing.assert_allclose(rest, [[-0.95, 0], [0, 0.95]], atol=1e-6)
  np.testing.assert_array_equal(found[0], rows[0])
  assert vector_forms.pool_tokens(rows, 1) is rows
  assert len(vector_forms.pool_tokens(rows, 100)) == 2
  assert len(vector_forms.pool_tokens(rows[:2], 2)) == 2


@pytest.mark.integration
def test_tokens_of_late_interaction_may_be_pooled_and_small(tmp_path):
  late = small_encoders.opened("late")
  whole = late.encode_corpus(TEXTS, tmp_path / "whole")
  small = late.encode_corpus(
    TEXTS, tmp_path / "small", pool_factor=2, precision="int8"
  )
  sizes = [
    sum(x.nbytes for x in vectors.arrays(0).values())
    for vectors in (whole, small)
  ]
  assert sizes[1] < sizes[0] / 2
  assert small.arrays(0)["vectors"].dtype == np.int8
  query = late.encode_query(TEXTS[:1])
  found = small.search(query, top_k=5)
  assert found[0][0]["score"] > 0
  again = small.rerank(query, found)
  assert [x["score"] for x in again[0]] == pytest.approx(
    [x["score"] for x in found[0]], abs=1e-4
  )


def test_sparse_vectors_become_impacts_for_anserini(tmp_path):
  sparse = small_encoders.opened("sparse")
  vectors = sparse.encode_corpus(
    [("d1", TEXTS[3]), ("d2", TEXTS[4])], tmp_path, file_format="impacts"
  )
  path = tmp_path / "vectors-00000-of-00001.jsonl"
  lines = [json.loads(line) for line in path.read_text().splitlines()]
  assert [line["id"] for line in lines] == ["d1", "d2"]
  weights = sparse.encode(TEXTS[3], prompt=sparse.texts.prompt_of("document"))
  expected = {k: round(100 * x) for k, x in weights.items() if 100 * x > 0.5}
  assert lines[0]["vector"] == pytest.approx(expected, abs=1)
  assert lines[0]["contents"] == ""
  with pytest.raises(ValueError, match="holds impacts for Anserini"):
    next(vectors.blocks())


# Going on.


class Killed(Exception):
  """The end of a process, at any place."""


@pytest.mark.parametrize("place", range(1, 9))
def test_killed_anywhere_and_continued_gives_the_same_bytes(
  static, written, tmp_path, monkeypatch, place
):
  calls = []

  def killing(function):
    def call(*args, **named):
      calls.append(function)
      if len(calls) == place:
        raise Killed
      return function(*args, **named)

    return call

  # Between the files of a shard, and between shards.
  monkeypatch.setattr(
    corpus_shards.files, "write_json", killing(corpus_shards.files.write_json)
  )
  monkeypatch.setattr(
    corpus_shards.shard_files,
    "write",
    killing(corpus_shards.shard_files.write),
  )
  with pytest.raises(Killed):
    static.encode_corpus(TEXTS, tmp_path, shard_size=12)
  assert not (tmp_path / "manifest.json").exists()
  with pytest.raises(FileNotFoundError, match="the same call continues it"):
    kb.load_corpus_vectors(tmp_path)
  monkeypatch.undo()
  static.encode_corpus(TEXTS, tmp_path, shard_size=12)
  assert contents(tmp_path) == contents(written)


@pytest.mark.parametrize("change", ["cut", "changed", "lost"])
def test_a_damaged_shard_is_told_and_made_anew(
  static, written, tmp_path, change, monkeypatch
):
  folder = tmp_path / "copy"
  shutil.copytree(written, folder)
  path = folder / "vectors-00001-of-00003.npy"
  content = path.read_bytes()
  new = {"cut": content[:-5], "changed": content[:-5] + b"12345"}
  path.unlink() if change == "lost" else path.write_bytes(new[change])
  with pytest.raises(ValueError, match="vectors-00001.*is cut or changed"):
    kb.load_corpus_vectors(folder, check_hashes=True)
  written_tasks, write = [], corpus_shards.write_shard
  monkeypatch.setattr(
    corpus_shards,
    "write_shard",
    lambda task, *rest: (written_tasks.append(task.number), write(task, *rest)),
  )
  static.encode_corpus(TEXTS, folder, shard_size=12)
  assert written_tasks == [1]
  assert contents(folder) == contents(written)


# Wrong input.


def test_other_vectors_are_not_mixed(static, written):
  before = contents(written)
  for texts, changes, named in (
    (TEXTS[:-1] + ["a cat"], {}, "texts_sha256"),
    (TEXTS[:-1], {}, "num_texts=30, not 29"),
    (TEXTS, {"precision": "int8"}, "precision='float32', not 'int8'"),
  ):
    with pytest.raises(ValueError, match=f"has vectors of {named}"):
      static.encode_corpus(texts, written, shard_size=12, **changes)
  assert contents(written) == before


def test_wrong_texts_are_told_before_the_work(static, tmp_path):
  path = tmp_path / "corpus.tsv"
  path.write_text("1\ta\n2\tb\n1\tc\n")
  for source, message in (
    (path, r"corpus.tsv:3 has the id of an earlier text"),
    ([("1", "a"), ("1", "b")], r"source\[1\] has the id of an earlier text"),
    (["a", ""], r"source\[1\] has an empty text"),
    ([], "has no texts"),
  ):
    with pytest.raises(ValueError, match=message):
      static.encode_corpus(source, tmp_path / "out")
  assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
  ("name", "settings", "message"),
  [
    ("static", {"pool_factor": 2}, "pool_factor .2. must be left out"),
    ("static", {"file_format": "impacts"}, "file_format .impacts. must be npy"),
    ("sparse", {"precision": "int8"}, "precision .int8. must be float32"),
    ("static", {"precision": "int4"}, "precision .'int4'. must be one of"),
    ("static", {"shard_size": 0}, "shard_size .0. must be in"),
    ("static", {"pipeline_options": "-x"}, "need a runner"),
    (
      "static",
      {"runner": "DirectRunner", "num_workers": 2},
      "num_workers .2. must be left out",
    ),
  ],
)
def test_wrong_settings_are_told(tmp_path, name, settings, message):
  with pytest.raises(ValueError, match=message):
    small_encoders.opened(name).encode_corpus(
      TEXTS, tmp_path / "out", **settings
    )
  with pytest.raises(TypeError, match="has no argument 'nonsense'"):
    small_encoders.opened(name).encode_corpus(
      TEXTS, tmp_path / "out", nonsense=1
    )


def test_queries_of_another_size_are_told(written):
  vectors = kb.load_corpus_vectors(written)
  with pytest.raises(ValueError, match="must be vectors of size 6"):
    vectors.search(np.zeros((1, 7)))
