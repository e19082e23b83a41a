"""Scores and files of text vectors: likeness of pairs, and retrieval."""

import dataclasses
import itertools
import os
from typing import NamedTuple

import numpy as np
import scipy.sparse

from keras_bert_impl import files
from keras_bert_impl.kinds.embeddings.tasks import embedding_task
from keras_bert_impl.kinds.texts import text_scores
from keras_bert_impl.metrics import classification, intervals, ranking
from keras_bert_impl.tasks.basics import fine_tuning

DEPTH = 100  # documents of each query that are ranked
CORPUS = "corpus"  # the output of documents that are in no example
RETRIEVAL_METRICS = (
  "ndcg@10",
  "mrr@10",
  "map@100",
  "recall@1",
  "recall@10",
  "recall@100",
  "precision@10",
)
_RUN_FILE, _QRELS_FILE = "rankings.trec", "qrels.trec"
_QUERIES = 256  # that are compared at once
_NUMBERS = 2**26  # of the documents that they are compared with at once


@dataclasses.dataclass(frozen=True)
class LikenessEvaluator(text_scores.NumberEvaluator):
  """Scores the similarities of pairs of texts by those that people gave.

  Attributes:
    metrics: as `text_scores.NumberEvaluator`.
    similarity: str, of `SIMILARITIES`.
  """

  similarity: str = "cosine"
  known = classification.OF_NUMBERS

  def answers(self, examples, rows, outputs):
    """Returns the similarity of each pair, float32 [N]."""
    vectors = _compared(outputs[embedding_task.EMBEDDINGS], self.similarity)
    return (vectors[::2] * vectors[1::2]).sum(axis=1)

  def targets(self, examples):
    """Returns the scores, float32 [N]."""
    return np.array([example.score for example in examples], np.float32)

  def judge(self, examples, rows, outputs, answers, scores):
    """Returns None: similarities are not on the scale of the scores."""
    return None


class Rankings(NamedTuple):
  """The documents of each query, the most similar first.

  Attributes:
    queries: list of Q str.
    documents: list of str; of rerankings, such a list for each query; of a
      `Corpus` {place: str} of those that are shown.
    order: int [Q, K], places in `documents`; -1 for none.
    similarities: float32 [Q, K]; NaN for none.
    grades: list of Q {place in `documents`: grade above 0}.
    names: (list of Q str, list of str), what the data set calls queries and
      documents; None where it names none.
  """

  queries: list
  documents: list
  order: np.ndarray
  similarities: np.ndarray
  grades: list
  names: tuple | None = None

  @property
  def ranked(self):
    """Grades of the ranked documents, float64 [Q, K]."""
    return np.array(
      [
        [grades.get(place, 0.0) for place in row]
        for grades, row in zip(self.grades, self.order.tolist(), strict=True)
      ]
    )

  @property
  def relevant(self):
    """Grades of the relevant documents, list of Q float64 arrays."""
    return [np.array([*grades.values()]) for grades in self.grades]


@dataclasses.dataclass(frozen=True)
class RetrievalEvaluator(fine_tuning.Evaluator):
  """Scores how well an anchor finds its positives among all other texts.

  The documents are all texts of the examples but the anchors, each once: where
  they have names, each name once; then those of a `Corpus`. A query's own
  document, of the same name, is not ranked, as in BEIR.

  Attributes:
    metrics: tuple of str, of `ranking.scores`, the main one first.
    similarity: str, of `SIMILARITIES`.
  """

  metrics: tuple[str, ...] = RETRIEVAL_METRICS
  similarity: str = "cosine"

  @property
  def main_metric(self):
    """The first of the metrics."""
    return self.metrics[0]

  def answers(self, examples, rows, outputs):
    """Returns the `Rankings`; of a `Corpus` a block at a time is in memory."""
    judged, corpus = judgements(examples), outputs.get(CORPUS)
    queries = [judged.queries[name] for name in judged.grades]
    documents = [*judged.documents.values()]
    keys = [key for example in examples for key in example.keys]
    vectors = dict(zip(keys, outputs[embedding_task.EMBEDDINGS], strict=True))
    asked = self.compared([vectors["query", text] for text in queries])
    blocks = [[vectors["document", text] for text in documents]]
    names, order = [*judged.documents], None
    if corpus:
      blocks = itertools.chain(blocks, corpus.vectors.blocks())
    if corpus and judged.has_names:
      names += corpus.vectors.ids
      order = sorted(range(len(names)), key=names.__getitem__, reverse=True)
      names = [names[place] for place in order]
    wanted = {*judged.documents, *judged.grades}
    numbers = {name: k for k, name in enumerate(names) if name in wanted}
    own = [
      numbers.get(n, -1) if judged.has_names else -1 for n in judged.grades
    ]
    found = (self.products(asked, self.compared(block)) for block in blocks)
    best, similarities = nearest(found, own, DEPTH, order)
    if corpus:
      shown = {*best[:, 0].tolist(), *numbers.values()}
      documents = corpus.shown(documents, shown, order)
    grades = [
      {numbers[name]: grade for name, grade in each.items()}
      for each in judged.grades.values()
    ]
    names = ([*judged.grades], names) if judged.has_names else None
    return Rankings(queries, documents, best, similarities, grades, names)

  def compared(self, vectors):
    """Returns vectors as `products` takes them.

    Args:
      vectors: N outputs of the model, as of `answers`, or sparse [N, D].
    """
    return _compared(vectors, self.similarity)

  def products(self, queries, documents):
    """Yields the similarities of some queries with all of M documents.

    Args:
      queries: as of `compared`.
      documents: M of the same.

    Yields:
      float32 [n, M], of the next n queries.
    """
    size = max(1, _NUMBERS // queries.shape[1])
    for start in range(0, queries.shape[0], _QUERIES):
      some = _dense(queries[start : start + _QUERIES])
      products = [
        some @ _dense(documents[first : first + size]).T
        for first in range(0, documents.shape[0], size)
      ]
      yield np.concatenate(products, axis=1)

  def score(self, examples, answers):
    """Returns the metrics, means over the queries."""
    return ranking.scores(self.metrics, answers.ranked, answers.relevant)

  def intervals(self, examples, answers, scores):
    """Returns the interval of each metric, resampling the queries."""
    ranked, relevant = answers.ranked, answers.relevant
    values = np.stack(
      [ranking.of_queries(name, ranked, relevant) for name in self.metrics],
      axis=1,
    )

    def scores_of(rows, weights):
      means = weights @ rows / np.sum(weights, axis=1, keepdims=True)
      return dict(zip(self.metrics, means.T, strict=True))

    return intervals.bootstrap(scores_of, values)

  def judge(self, examples, rows, outputs, answers, scores):
    """Returns the `Judgement` of the first document of each query."""
    del examples, rows, outputs, scores
    first = answers.order[:, 0].tolist()
    best = [max(g, key=g.get, default=None) for g in answers.grades]
    return fine_tuning.Judgement(
      self._texts(answers, best),
      self._texts(answers, first),
      answers.ranked[:, 0] > 0,
      answers.similarities[:, 0],
      "similarity",
      [[query] for query in answers.queries],
    )

  def _texts(self, answers, places):
    """Returns the document at a place of each query, list of str."""
    return [
      answers.documents[place] if place >= 0 else "(none)" for place in places
    ]

  def write(self, examples, answers, scores, folder):
    """Writes rankings.trec and qrels.trec, which trec_eval scores alike.

    The lines are "query Q0 document rank similarity run" and "query 0 document
    grade". Queries and documents have their names in the data set; without,
    numbers from 0 in the order of the examples. Equal similarities differ in
    the last digit, as trec_eval orders ties anew.
    """
    queries, documents = answers.names or (None, None)
    found, judged = [], []
    for number, (row, values, grades) in enumerate(
      zip(answers.order, answers.similarities, answers.grades, strict=True)
    ):
      query = _name(queries, number)
      is_ranked = row >= 0
      falling = _falling(values[is_ranked])
      for rank, place in enumerate(row[is_ranked]):
        found.append(
          f"{query} Q0 {_name(documents, place)} {rank + 1} {falling[rank]:.9g}"
          " keras_bert_impl\n"
        )
      judged += [
        f"{query} 0 {_name(documents, place)} {grade:g}\n"
        for place, grade in grades.items()
      ]
    paths = {
      "rankings": os.path.join(folder, _RUN_FILE),
      "qrels": os.path.join(folder, _QRELS_FILE),
    }
    files.write_atomically(paths["rankings"], "".join(found))
    files.write_atomically(paths["qrels"], "".join(judged))
    return paths

  def describe(self):
    """Returns the metrics, by which the best run was selected."""
    return {"metrics": list(self.metrics)}


class Judgements(NamedTuple):
  """What is relevant to which query, by names or, without these, by texts.

  Attributes:
    queries: {name: text}.
    documents: {name: text}; with names, the last in the alphabet first, as
      trec_eval orders what is equally similar.
    grades: {name of a query: {name of a document: grade above 0}}.
    has_names: bool, whether the data set names its texts.
  """

  queries: dict
  documents: dict
  grades: dict
  has_names: bool


def judgements(examples):
  """Returns the `Judgements` of a list of `EmbeddingExample`, in its order."""
  texts, grades = {"query": {}, "document": {}}, {}
  for example in examples:
    names = example.names or example.texts
    for name, (kind, text) in zip(names, example.keys, strict=True):
      texts[kind].setdefault(name, text)
    if example.anchor is not None and example.grade > 0:
      known = grades.setdefault(names[0], {})
      known[names[1]] = max(example.grade, known.get(names[1], 0.0))
  queries, documents = texts.values()
  has_names = any(example.names for example in examples)
  if has_names:
    documents = dict(sorted(documents.items(), reverse=True))
  return Judgements(queries, documents, grades, has_names)


def unit(vectors):
  """Returns vectors float32 [N, D] of length 1; zeros stay zeros."""
  lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
  return vectors / np.maximum(lengths, 1e-12)


# What is done to vectors before their dot products are taken.
SIMILARITIES = {"cosine": unit, "dot": lambda vectors: vectors}


def _compared(vectors, similarity):
  """Returns N vectors, or sparse [N, D], as [N, D] to take products of."""
  if not scipy.sparse.issparse(vectors):
    is_sparse = scipy.sparse.issparse(vectors[0])
    stack = scipy.sparse.vstack if is_sparse else np.asarray
    vectors = stack(vectors)
  return SIMILARITIES[similarity](vectors)


def _dense(vectors):
  """Returns float32 [N, D] of vectors that may be sparse."""
  return vectors.toarray() if scipy.sparse.issparse(vectors) else vectors


def _joined(places, values, new_places, new_values, depth):
  """Returns the best places and their values, of known ones and new ones.

  Of equal values the lowest place comes first; -inf and NaN are left out.

  Args:
    places: int [K], the best so far.
    values: float32 [K], falling.
    new_places: int [n].
    new_values: float32 [n].
    depth: int, how many to return.
  """
  least = values[-1] if len(values) == depth else np.finfo(np.float32).min
  chosen = np.flatnonzero(new_values >= least)
  if len(chosen) > depth:
    least = np.partition(new_values[chosen], -depth)[-depth]
    chosen = chosen[new_values[chosen] >= least]
  places = np.concatenate([places, new_places[chosen]])
  values = np.concatenate([values, new_values[chosen]])
  order = np.lexsort((places, -values))[:depth]
  return places[order], values[order]


def nearest(blocks, own, depth, order=None):
  """Returns the best places int [Q, K] and their products float32 [Q, K].

  Of equal products the first come first. Less than K places end with -1, whose
  products are NaN.

  Args:
    blocks: iterable, for each block of documents, of iterables of float32
      [n, M], of the next n queries.
    own: list of Q int, the place that a query must not find, or -1.
    depth: int, K at most.
    order: list of int, the numbers of the documents at the places; default:
      themselves.
  """
  none = np.zeros(0, int), np.zeros(0, np.float32)
  best, number = [none] * len(own), 0
  places_of = None if order is None else np.argsort(order)
  for block in blocks:
    values = ()
    for query, values in enumerate(itertools.chain.from_iterable(block)):
      places = np.arange(number, number + len(values))
      places = places if order is None else places_of[places]
      values = np.where(places == own[query], np.float32(-np.inf), values)
      best[query] = _joined(*best[query], places, values, depth)
    number += len(values)
  found = np.full((len(own), min(depth, number)), -1)
  products = np.full(found.shape, np.nan, np.float32)
  for query, (places, values) in enumerate(best):
    found[query, : len(places)] = places
    products[query, : len(places)] = values
  return found, products


def _falling(values):
  """Returns float32 [K], each below the one before by the least if equal."""
  falling = values.copy()
  for k in range(1, len(falling)):
    below = np.nextafter(falling[k - 1], np.float32(-np.inf))
    falling[k] = min(falling[k], below)
  return falling


def _name(names, place):
  """Returns a name without blanks, or the number of the place; str."""
  return str(place) if names is None else "_".join(names[place].split())
