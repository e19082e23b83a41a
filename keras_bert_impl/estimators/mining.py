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
  result = []
  for found in _search(encoder, examples, depth):
    query, origin, grades, _, nearest = found
    documents = [*nearest]
    missing = [g for text, g in grades.items() if text not in documents]
    result.append(
      example_types.RankingExample(
        str(len(result)),
        query,
        tuple(documents),
        tuple(grades.get(text, 0.0) for text in documents),
        tuple(missing),
        origin,
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
  result = []
  for found in _search(encoder, examples, ranks[1]):
    query, origin, grades, cosines, nearest = found
    for positive, most in cosines.items():
      chosen = [
        text
        for text, cosine in [*nearest.items()][ranks[0] - 1 :]
        if text not in grades and cosine <= most - margin
      ][:number]
      if len(chosen) == number:
        name, texts = str(len(result)), (positive, *chosen)
        result.append(
          example_types.EmbeddingExample(name, query, texts, origin=origin)
        )
  if not result:
    raise ValueError(
      f"no query has {number} negatives among the ranks {ranks[0]} to"
      f" {ranks[1]} whose cosine is {margin:g} below that of its positive: give"
      " more texts, other ranks or a smaller margin."
    )
  return result


def _search(encoder, examples, depth):
  """Yields what is found for each query.

  Args:
    encoder: as of `candidates`.
    examples: the same.
    depth: int, documents of each.

  Yields:
    (query, its origin, {relevant document: grade}, {the same: cosine},
    {document: cosine}, the nearest first).
  """
  grades, documents = embedding_scores.judgements(examples)
  origins = {example.anchor: example.origin for example in examples[::-1]}
  queries, others = (
    embedding_scores.unit(
      encoder.encode(texts, prompt=encoder.texts.prompts.get(kind, ""))
    )
    for kind, texts in (("query", [*grades]), ("document", documents))
  )
  places = {text: place for place, text in enumerate(documents)}
  for (query, known), vector in zip(grades.items(), queries, strict=True):
    cosines = others @ vector
    order = np.argsort(-cosines, kind="stable")[:depth]
    own = {text: cosines[places[text]] for text in known}
    nearest = {documents[place]: cosines[place] for place in order}
    yield query, origins[query], known, own, nearest
