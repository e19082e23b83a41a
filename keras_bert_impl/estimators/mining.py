"""Documents that an encoder finds for queries: hard negatives, candidates."""

import dataclasses

import numpy as np

from keras_bert_impl.tasks.basics import example_types
from keras_bert_impl.tasks.embeddings import embedding_scores


@dataclasses.dataclass(frozen=True)
class Mining:
  """How queries get the documents that a reranker reads.

  Attributes:
    mine: `SentenceEncoder` that finds them, or None: those of the examples.
    num_negatives: int, as of `negatives`.
    mined_ranks: (int, int), as of `negatives`.
    mining_margin: float, as of `negatives`.
    num_candidates: int, documents of queries that are not trained on.
  """

  mine: object = None
  num_negatives: int = 7
  mined_ranks: tuple[int, int] = (1, 50)
  mining_margin: float = 0.05
  num_candidates: int = 20

  def ranked(self, split, examples):
    """Returns the `RankingExample`s of a split's `EmbeddingExample`s."""
    if self.mine is None:
      return [of_example(example) for example in examples if example.anchor]
    if split != "train":
      return candidates(self.mine, examples, self.num_candidates)
    mined = negatives(
      self.mine,
      examples,
      self.num_negatives,
      self.mined_ranks,
      self.mining_margin,
    )
    return [*map(of_example, mined)]


def of_example(example):
  """Returns an `EmbeddingExample` as a `RankingExample`."""
  return example_types.RankingExample(
    example.id,
    example.anchor,
    example.others,
    (example.grade, *(len(example.others) - 1) * (0.0,)),
    origin=example.origin,
  )


def candidates(encoder, examples, depth):
  """Returns the documents that an encoder finds for each anchor.

  Args:
    encoder: `SentenceEncoder`, or another with `encode` and `texts`.
    examples: list of `EmbeddingExample`: anchors with their relevant documents,
      and the others to search.
    depth: int, documents of each.

  Returns:
    list of `RankingExample`, the nearest document first.
  """
  found = _Found(encoder, examples)
  result = []
  for number, query in enumerate(found.queries):
    grades = found.grades[query]
    order = _nearest(found.cosines(number))[:depth]
    documents = [found.documents[place] for place in order]
    missing = [g for text, g in grades.items() if text not in documents]
    result.append(
      example_types.RankingExample(
        str(number),
        query,
        tuple(documents),
        tuple(grades.get(text, 0.0) for text in documents),
        tuple(missing),
        found.origins[query],
      )
    )
  return result


def negatives(encoder, examples, number, ranks=(1, 50), margin=0.05):
  """Returns examples with hard negatives: near, but not relevant.

  Args:
    encoder: as of `candidates`.
    examples: the same.
    number: int, negatives of each anchor.
    ranks: (int, int), the first and the last rank that are taken, from 1.
    margin: float, by which the cosine of a negative must be below that of the
      positive: what is nearer may be relevant too, though nobody said so.

  Returns:
    list of `EmbeddingExample`, each with its positive and `number` negatives;
    anchors with fewer are left out.

  Raises:
    ValueError: none has so many.
  """
  found = _Found(encoder, examples)
  places = {text: place for place, text in enumerate(found.documents)}
  result = []
  for k, query in enumerate(found.queries):
    cosines, grades = found.cosines(k), found.grades[query]
    order = _nearest(cosines)[ranks[0] - 1 : ranks[1]]
    for positive in grades:
      most = cosines[places[positive]] - margin
      chosen = [
        found.documents[place]
        for place in order
        if found.documents[place] not in grades and cosines[place] <= most
      ][:number]
      if len(chosen) == number:
        result.append(
          example_types.EmbeddingExample(
            str(len(result)),
            query,
            (positive, *chosen),
            origin=found.origins[query],
          )
        )
  if not result:
    raise ValueError(
      f"no query has {number} negatives among the ranks {ranks[0]} to"
      f" {ranks[1]} whose cosine is {margin:g} below that of its positive: give"
      " more texts, other ranks or a smaller margin."
    )
  return result


class _Found:
  """Queries and documents of examples, with their vectors."""

  def __init__(self, encoder, examples):
    self.grades, self.origins, documents = {}, {}, {}
    for example in examples:
      documents |= dict.fromkeys(example.others)
      if example.anchor is None:
        continue
      grades = self.grades.setdefault(example.anchor, {})
      self.origins.setdefault(example.anchor, example.origin)
      if example.grade > 0:
        grades[example.others[0]] = example.grade
    self.queries = [query for query, grades in self.grades.items() if grades]
    self.documents = [*documents]
    self._queries, self._documents = (
      embedding_scores.unit(
        encoder.encode(texts, prompt=encoder.texts.prompts.get(kind, ""))
      )
      for kind, texts in (
        ("query", self.queries),
        ("document", self.documents),
      )
    )

  def cosines(self, number):
    """Returns the cosines of a query with all documents, float32 [M]."""
    return self._documents @ self._queries[number]


def _nearest(cosines):
  """Returns the places of documents, the nearest first."""
  return np.argsort(-cosines, kind="stable")
