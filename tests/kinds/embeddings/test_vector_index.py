"""Approximate search, by faiss."""

import numpy as np
import pytest

import keras_bert_impl as kb
from tests.kinds.embeddings import small_encoders, test_corpus


@pytest.fixture(name="faiss", scope="module", autouse=True)
def fixture_faiss():
  return pytest.importorskip("faiss")


@pytest.fixture(name="vectors", scope="module")
def fixture_vectors(tmp_path_factory):
  static = small_encoders.opened("static")
  folder = tmp_path_factory.mktemp("vectors")
  return static.encode_corpus(test_corpus.TEXTS, folder, shard_size=12)


def test_an_index_finds_what_comparing_with_all_finds(vectors, tmp_path):
  queries = np.random.default_rng(0).normal(size=(4, 6))
  index = kb.VectorIndex.build(vectors)
  index.save(tmp_path / "index")
  loaded = kb.VectorIndex.load(tmp_path / "index", vectors)
  exact = vectors.search(queries, top_k=5)
  for found in (index.search(queries, 5), loaded.search(queries, top_k=5)):
    for row, own in zip(found, exact, strict=True):
      np.testing.assert_allclose(
        [x["score"] for x in row], [x["score"] for x in own], atol=1e-5
      )
  # No more than there are.
  assert len(index.search(queries, top_k=100)[0]) == len(vectors)


def test_an_index_of_other_vectors_is_told(vectors, tmp_path):
  kb.VectorIndex.build(vectors).save(tmp_path / "index")
  static = small_encoders.opened("static")
  other = static.encode_corpus(["a cat"], tmp_path / "other")
  with pytest.raises(ValueError, match="is an index of other vectors than"):
    kb.VectorIndex.load(tmp_path / "index", other)
  path = tmp_path / "index/index.faiss"
  path.write_bytes(path.read_bytes()[:50])
  with pytest.raises(ValueError, match="index.faiss is damaged"):
    kb.VectorIndex.load(tmp_path / "index", vectors)
  with pytest.raises(FileNotFoundError, match="The index .* does not exist"):
    kb.VectorIndex.load(tmp_path / "nowhere", vectors)


@pytest.mark.integration
def test_only_dense_vectors_have_an_index(tmp_path):
  late = small_encoders.opened("late")
  vectors = late.encode_corpus(["the cat"], tmp_path)
  with pytest.raises(ValueError, match="vectors .late. must be dense"):
    kb.VectorIndex.build(vectors)
