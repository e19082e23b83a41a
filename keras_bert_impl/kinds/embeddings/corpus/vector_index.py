"""Approximate search of dense vectors, by faiss (extra "search")."""

import os
import typing

import numpy as np

from keras_bert_impl import calls, files, heads, options
from keras_bert_impl.estimators import typed
from keras_bert_impl.kinds.embeddings.corpus import corpus_vectors
from keras_bert_impl.kinds.embeddings.tasks import embedding_scores

_INDEX, _FACTS = "index.faiss", "index.json"


class VectorIndex(calls.Public):
  """HNSW graph of the vectors of a corpus: most of the best in milliseconds.

    index = kb.VectorIndex.build(kb.load_corpus_vectors("vectors"))
    index.search(encoder.encode(["Who sat?"]), top_k=10)
    index.save("index")
    index = kb.VectorIndex.load("index", kb.load_corpus_vectors("vectors"))

  It holds all vectors as float32 in memory, and 8 bytes for each neighbour.

  Args:
    vectors: `CorpusVectors`, whose ids and checks of queries it uses.
    index: of faiss.

  Source: Malkov and Yashunin 2016, Efficient and robust approximate nearest
  neighbor search using Hierarchical Navigable Small World graphs.
  """

  def __init__(self, vectors, index):
    self.vectors, self.index = vectors, index

  @classmethod
  def build(
    cls,
    vectors: typing.Any,
    num_neighbors: int = 32,
    build_depth: int = 256,
  ) -> "VectorIndex":
    """Makes an index of vectors, a shard after the other.

    Args:
      vectors: `CorpusVectors` of one dense vector for each text.
      num_neighbors: int, edges of a text in the graph; more find more, and take
        more memory.
      build_depth: int, candidates that each text is linked among.

    Raises:
      ValueError: they are of another kind, or faiss is missing.
    """
    numbers = {"num_neighbors": num_neighbors, "build_depth": build_depth}
    options.check_integers("[1, 10000]", **numbers)
    if vectors.kind in (heads.SPARSE, heads.LATE):
      raise ValueError(
        f"vectors ({vectors.kind}) must be dense: an index has one vector for"
        " each text; search these with vectors.search()."
      )
    faiss = _import_faiss()
    product = faiss.METRIC_INNER_PRODUCT
    index = faiss.IndexHNSWFlat(vectors.size, num_neighbors, product)
    index.hnsw.efConstruction = build_depth
    for block in vectors.blocks():
      index.add(embedding_scores.unit(block))
    return cls(vectors, index)

  def search(
    self, queries: typing.Any, top_k: int = 10, depth: int = 256
  ) -> list[list[corpus_vectors.Found]]:
    """Finds most of the most similar texts; as `CorpusVectors.search`.

    Args:
      queries: float [Q, D].
      top_k: int, texts of each query.
      depth: int, candidates that are kept on the way: more find more, in more
        time.

    Raises:
      ValueError: the queries are no such vectors.
    """
    options.check_integers("[1, inf)", top_k=top_k, depth=depth)
    queries = np.ascontiguousarray(self.vectors.checked(queries))
    self.index.hnsw.efSearch = max(depth, top_k)
    scores, places = self.index.search(queries, top_k)
    ids = self.vectors.ids
    found = zip(places, scores, strict=True)
    return [corpus_vectors.named(ids, *row) for row in found]

  def save(self, folder: typed.Path) -> None:
    """Writes the index into a folder that is new or empty.

    Raises:
      ValueError: it is neither.
    """
    with files.new_folder(folder) as path:
      _import_faiss().write_index(self.index, os.path.join(path, _INDEX))
      facts = {"vectors": self.vectors.fingerprint}
      files.write_json(os.path.join(path, _FACTS), facts)

  @classmethod
  def load(cls, folder: typed.Path, vectors: typing.Any) -> "VectorIndex":
    """Opens an index that `save` wrote.

    Args:
      folder: str.
      vectors: `CorpusVectors` that it was built of.

    Raises:
      FileNotFoundError: there is no index.
      ValueError: it is of other vectors, or damaged.
    """
    folder = os.fspath(folder)
    facts = files.read_json(os.path.join(folder, _FACTS), name="The index")
    if facts.get("vectors") != vectors.fingerprint:
      raise ValueError(
        f"{folder} is an index of other vectors than {vectors.folder}: build it"
        " again with kb.VectorIndex.build."
      )
    path = os.path.join(folder, _INDEX)
    files.check_exists(path, "The index")
    try:
      index = _import_faiss().read_index(path)
    except RuntimeError as error:
      raise ValueError(
        f"{path} is damaged: build it again with kb.VectorIndex.build."
      ) from error
    return cls(vectors, index)


def _import_faiss():
  try:
    import faiss
  except ImportError as error:
    raise ValueError(
      "An index needs faiss, which is not installed: pip install"
      " 'keras-bert-impl[search]'."
    ) from error
  return faiss
