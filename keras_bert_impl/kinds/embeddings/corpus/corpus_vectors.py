"""Vectors of a corpus as they lie on disk: reading and exact search."""

import functools
import itertools
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
    for shard in range(len(self.manifest["shards"])):
      yield self._unpacked(self.arrays(shard))

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
    blocks = ([self._similarities(queries, block)] for block in self.blocks())
    best = embedding_scores.nearest(blocks, [-1] * len(queries), top_k)
    return [named(self.ids, *row) for row in zip(*best, strict=True)]

  def rerank(
    self, queries: typing.Any, found: list[list[Found]], top_k: int = 10
  ) -> list[list[Found]]:
    """Puts what another search found in order by these vectors.

      late = kb.load_corpus_vectors("late-vectors")  # of the same texts
      late.rerank(late_encoder.encode_query(texts), index.search(queries, 100))

    Only their vectors are read, of .npy files.

    Args:
      queries: as of `search`.
      found: list of Q lists of {"id": str}, as `search` returns them, of these
        or other vectors of the same texts.
      top_k: int, texts of each query; fewer if not as many were found.

    Returns:
      As `search`; of equal ones the first that was found.

    Raises:
      ValueError: as `search`, or there is no text of an id.
    """
    options.check_integers("[1, inf)", top_k=top_k)
    queries, size = self.checked(queries), self.manifest["shard_size"]
    if len(found) != len(queries):
      raise ValueError(
        f"found ({len(found)} lists) must have one for each of the"
        f" {len(queries)} queries."
      )
    names = [[one["id"] for one in row] for row in found]
    for name in itertools.chain.from_iterable(names):
      if name not in self._places:
        raise ValueError(
          f"found has the id {name!r}, which {self.folder} does not have:"
          " search vectors of the same texts."
        )
    places = [np.array([self._places[x] for x in row], int) for row in names]
    scores = [np.zeros(len(row), np.float32) for row in names]
    for shard in sorted({place // size for own in places for place in own}):
      arrays = self.arrays(shard)
      for k, own in enumerate(places):
        here = np.flatnonzero(own // size == shard)
        if len(here):
          block = self._unpacked(vector_forms.take(arrays, own[here] % size))
          scores[k][here] = self._similarities(queries[k : k + 1], block)[0]
    best = [np.argsort(-row, kind="stable")[:top_k] for row in scores]
    return [
      named(own, order, row[order])
      for own, order, row in zip(names, best, scores, strict=True)
    ]

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

  @functools.cached_property
  def _places(self):
    return {name: place for place, name in enumerate(self.ids)}

  def _unpacked(self, arrays):
    """Returns the vectors of arrays, as of `blocks`."""
    precision = self.manifest["precision"]
    return vector_forms.unpack(arrays, self.kind, precision, self.size)

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
