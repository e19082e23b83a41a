"""Scores and files of text vectors: likeness of pairs, and retrieval."""

import dataclasses
import os
from typing import NamedTuple

import numpy as np
import scipy.sparse

from keras_bert_impl import files
from keras_bert_impl.metrics import classification, intervals, ranking
from keras_bert_impl.tasks.basics import fine_tuning
from keras_bert_impl.tasks.embeddings import embedding_task
from keras_bert_impl.tasks.texts import text_scores

DEPTH = 100  # documents of each query that are ranked
RETRIEVAL_METRICS = (
  "ndcg@10",
  "mrr@10",
  "map@100",
  "recall@1",
  "recall@10",
  "recall@100",
  "precision@10",
)
_RUN_FILE = "rankings.trec"
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
    vectors = _compared(outputs, self.similarity)
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
    documents: list of str; of rerankings, such a list for each query.
    order: int [Q, K], places in `documents`.
    similarities: float32 [Q, K].
    grades: list of Q {place in `documents`: grade above 0}.
  """

  queries: list
  documents: list
  order: np.ndarray
  similarities: np.ndarray
  grades: list

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

  The documents are all texts of the examples but the anchors, each once.

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
    """Returns the `Rankings`."""
    keys = [key for example in examples for key in example.keys]
    places = {key: place for place, key in enumerate(keys)}
    grades, documents = judgements(examples)
    products = self.products(
      outputs,
      [places["query", text] for text in grades],
      [places["document", text] for text in documents],
    )
    order, similarities = _best(products, len(documents))
    numbers = {text: number for number, text in enumerate(documents)}
    numbered = [
      {numbers[text]: grade for text, grade in each.items()}
      for each in grades.values()
    ]
    return Rankings([*grades], documents, order, similarities, numbered)

  def products(self, outputs, queries, documents):
    """Yields the similarities of some queries with all M documents.

    Args:
      outputs: as of `answers`.
      queries: list of int, places in the outputs.
      documents: list of M int.

    Yields:
      float32 [n, M], of the next n queries.
    """
    vectors = _compared(outputs, self.similarity)
    compared = vectors[documents]
    size = max(1, _NUMBERS // vectors.shape[1])
    for start in range(0, len(queries), _QUERIES):
      some = _dense(vectors[queries[start : start + _QUERIES]])
      products = [
        some @ _dense(compared[first : first + size]).T
        for first in range(0, len(documents), size)
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
    return [answers.documents[place] for place in places]

  def write(self, examples, answers, scores, folder):
    """Writes rankings.trec: query, Q0, document, rank, similarity, run.

    Queries and documents are numbered from 0, in the order of the examples.
    """
    lines = [
      f"{query} Q0 {document} {rank} {value:.6f} keras_bert_impl\n"
      for query, (row, values) in enumerate(
        zip(answers.order, answers.similarities, strict=True)
      )
      for rank, (document, value) in enumerate(
        zip(row, values, strict=True), start=1
      )
    ]
    path = os.path.join(folder, _RUN_FILE)
    files.write_atomically(path, "".join(lines))
    return {"rankings": path}

  def describe(self):
    """Returns the metrics, by which the best run was selected."""
    return {"metrics": list(self.metrics)}


def judgements(examples):
  """Returns what is relevant to which query, and all documents.

  Args:
    examples: list of `EmbeddingExample`.

  Returns:
    ({query: {document: grade above 0}}, list of str), in their order.
  """
  grades = {}
  for example in examples:
    if example.anchor is not None and example.grade > 0:
      known, text = grades.setdefault(example.anchor, {}), example.others[0]
      known[text] = max(example.grade, known.get(text, 0.0))
  documents = dict.fromkeys(text for e in examples for text in e.others)
  return grades, [*documents]


def unit(vectors):
  """Returns vectors float32 [N, D] of length 1; zeros stay zeros."""
  lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
  return vectors / np.maximum(lengths, 1e-12)


# What is done to vectors before their dot products are taken.
SIMILARITIES = {"cosine": unit, "dot": lambda vectors: vectors}


def _compared(outputs, similarity):
  """Returns the vectors of outputs, [N, D], to take products of."""
  vectors = outputs[embedding_task.EMBEDDINGS]
  is_sparse = scipy.sparse.issparse(vectors[0])
  stack = scipy.sparse.vstack if is_sparse else np.asarray
  return SIMILARITIES[similarity](stack(vectors))


def _dense(vectors):
  """Returns float32 [N, D] of vectors that may be sparse."""
  return vectors.toarray() if scipy.sparse.issparse(vectors) else vectors


def _best(blocks, number):
  """Returns the best places int [Q, K] and their products float32 [Q, K].

  Args:
    blocks: iterable of float32 [n, number].
    number: int, documents.
  """
  depth = min(DEPTH, number)
  orders, products = [], []
  for found in blocks:
    best = np.argpartition(-found, depth - 1, axis=1)[:, :depth]
    values = np.take_along_axis(found, best, axis=1)
    by_value = np.argsort(-values, axis=1, kind="stable")
    orders.append(np.take_along_axis(best, by_value, axis=1))
    products.append(np.take_along_axis(values, by_value, axis=1))
  return np.concatenate(orders), np.concatenate(products)
