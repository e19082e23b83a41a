"""Vectors of a corpus as they lie on disk: reading and exact search."""

import functools
import os
import typing

import numpy as np

from keras_bert_impl import calls, files, heads, options
from keras_bert_impl.estimators import typed
from keras_bert_impl.kinds.embeddings.corpus import (
  corpus_shards,
  corpus_writer,
  shard_files,
  vector_forms,
)
from keras_bert_impl.kinds.embeddings.tasks import embedding_scores
from keras_bert_impl.tasks.basics import max_sim
from tfrecords import manifest

_TYPES = {"shards": list, "vectors": str, "size": int, "num_texts": int}


class Found(typing.TypedDict):
  """A text that was found, and its similarity."""

  id: str
  score: float


class CorpusVectors(calls.Public):
  """The vectors of a corpus, of which a shard at a time is in memory.

    vectors = kb.load_corpus_vectors("vectors")
    vectors.search(encoder.encode(["Who sat?"]), top_k=10)

  Args:
    folder: str, that `encode_corpus` wrote.
    content: dict, its manifest.

  Attributes:
    folder: as given.
    manifest: dict, as given: the model, the options, the shards.
    kind: str, what the vectors are: "encoder" (dense), "static", "sparse" or
      "late".
    size: int, D, or V of sparse ones.
  """

  def __init__(self, folder, content):
    self.folder, self.manifest = folder, content
    self.kind, self.size = content["vectors"], content["size"]

  def __len__(self):
    return self.manifest["num_texts"]

  def __repr__(self):
    facts = f"{len(self):,} texts, {self.kind}, size={self.size}"
    return f"CorpusVectors({self.folder!r}: {facts})"

  @functools.cached_property
  def ids(self) -> list[str]:
    """The ids of the texts, list of N str, in their order."""
    count = len(self.manifest["shards"])
    places = ((number, count) for number in range(count))
    return [x for at in places for x in shard_files.read_ids(self.folder, at)]

  @property
  def fingerprint(self) -> str:
    """SHA-256 of the manifest, which has those of all files."""
    return manifest.fingerprint(self.manifest)

  def arrays(self, shard: int) -> dict[str, np.ndarray]:
    """Returns the arrays of a shard as they are stored, .npy mapped.

    Args:
      shard: int, its number from 0.

    Returns:
      {"vectors": array, ...}, as the top of `vector_forms` says.
    """
    return shard_files.read(
      self.folder, self.manifest["shards"][shard]["files"]
    )

  def blocks(self) -> typing.Iterator[typing.Any]:
    """Yields the vectors of each shard, in order.

    Yields:
      float32 [n, D], of bits 1 and -1; of late interaction list of n such
      [L, D]; sparse `scipy.sparse.csr_array` [n, V].
    """
    precision = self.manifest["precision"]
    for shard in range(len(self.manifest["shards"])):
      arrays = self.arrays(shard)
      yield vector_forms.unpack(arrays, self.kind, precision, self.size)

  def search(self, queries: typing.Any, top_k: int = 10) -> list[list[Found]]:
    """Finds the most similar texts by comparing with all.

    By cosines; dot products of sparse vectors; MaxSim of late interaction.

    Args:
      queries: vectors of the same encoder: float [Q, D]; list of Q arrays
        [L, D] of late interaction; [Q, V] or a `scipy.sparse` matrix of sparse.
      top_k: int, texts of each query; fewer if there are not as many.

    Returns:
      list of Q lists of {"id": str, "score": float}, the best first; of equal
      ones the first of the corpus.

    Raises:
      ValueError: the queries are no such vectors.
    """
    options.check_integers("[1, inf)", top_k=top_k)
    queries = self.checked(queries)
    best = [(np.zeros(0, int), np.zeros(0, np.float32))] * len(queries)
    start = 0
    for block in self.blocks():
      found = self._similarities(queries, block)
      places = np.arange(start, start + found.shape[1])
      best = [
        embedding_scores.nearest(*known, places, row, top_k)
        for known, row in zip(best, found, strict=True)
      ]
      start += found.shape[1]
    return [named(self.ids, *row) for row in best]

  def checked(self, queries):
    """Returns queries as `search` compares them.

    Raises:
      ValueError: they are no vectors of the kind and size.
    """
    if self.kind == heads.LATE:
      rows = [np.asarray(query, np.float32) for query in queries]
      shapes = {row.shape[1:] for row in rows}
    else:
      rows = queries.toarray() if hasattr(queries, "toarray") else queries
      rows = np.asarray(rows, np.float32)
      shapes = {rows.shape[1:]}
      if self.kind != heads.SPARSE and rows.ndim == 2:
        rows = embedding_scores.unit(rows)
    if shapes - {(self.size,)}:
      raise ValueError(
        f"queries {[*map(list, shapes)]} must be vectors of size {self.size},"
        f" as those of the {self.kind} encoder that made {self.folder}."
      )
    return rows

  def _similarities(self, queries, block):
    """Returns float32 [Q, n] of queries and the vectors of a shard."""
    if self.kind == heads.LATE:
      return np.concatenate([*max_sim.blocks(queries, block)])
    if self.kind == heads.SPARSE:
      return (block @ queries.T).T
    return queries @ embedding_scores.unit(block).T


@calls.checked
def load_corpus_vectors(
  folder: typed.Path, check_hashes: bool = False
) -> CorpusVectors:
  """Opens the vectors that `encode_corpus` wrote.

  Args:
    folder: str, the output_dir.
    check_hashes: bool, whether to read all files and compare their SHA-256 with
      the manifest, which takes about a second per gigabyte; sizes are compared
      anyway.

  Returns:
    `CorpusVectors`.

  Raises:
    FileNotFoundError: there is no manifest.
    ValueError: it is damaged, or a file is cut or changed.
  """
  folder = os.fspath(folder)
  path = os.path.join(folder, corpus_writer.MANIFEST)
  if not files.exists(path):
    raise FileNotFoundError(
      f"{path} does not exist: encode_corpus writes it when all shards are"
      " finished; the same call continues it."
    )
  content = files.read_json(path, types=_TYPES)
  if content.get("format_version") != corpus_writer.FORMAT_VERSION:
    raise ValueError(f"{path} is of another version of this program.")
  for record in content["shards"]:
    for name, described in record["files"].items():
      file = files.beside(path, name)
      if not files.exists(file) or files.size(file) != described["num_bytes"]:
        raise ValueError(f"{file} {shard_files.DAMAGED}")
    if check_hashes and not corpus_shards.is_intact(folder, record):
      names = ", ".join(record["files"])
      raise ValueError(f"One of {names} in {folder} {shard_files.DAMAGED}")
  return CorpusVectors(folder, content)


def named(ids, places, scores):
  """Returns what was found for a query, list of `Found`.

  Args:
    ids: list of N str.
    places: int [K], numbers of texts; below 0 for none.
    scores: float [K].
  """
  return [
    {"id": ids[place], "score": float(score)}
    for place, score in zip(places, scores, strict=True)
    if place >= 0
  ]
