"""Documents that an encoder finds for queries: hard negatives, candidates."""

import os

import numpy as np

from keras_bert_impl import heads
from keras_bert_impl import options as options_lib
from keras_bert_impl.kinds.embeddings import embedding_data
from keras_bert_impl.kinds.embeddings.encoders import (
  sentence_encoder,
  static_encoder,
)
from keras_bert_impl.kinds.embeddings.tasks import embedding_scores
from keras_bert_impl.model_folders import trained_models
from keras_bert_impl.sentences import folders
from keras_bert_impl.tasks.basics import example_types

# Options that only queries with mined documents have.
_OF_MINING = (
  "num_negatives",
  "first_mined_rank",
  "last_mined_rank",
  "mining_margin",
  "num_candidates",
)


def open_encoder(given):
  """Returns the encoder of a folder, static or not; others as they are.

  Args:
    given: str, folder of `SentenceEncoder.save` or `StaticEncoder.save` or the
      output_dir of a run; or such an encoder, or None.

  Raises:
    ValueError: it is another encoder.
  """
  what = "a kb.SentenceEncoder, a kb.StaticEncoder or the folder of one"
  if not isinstance(given, str | os.PathLike):
    known = sentence_encoder.SentenceEncoder | None
    if not isinstance(given, known):
      raise ValueError(f"mine ({type(given).__name__}) must be {what}.")
    return given
  path = trained_models.find_folder(os.fspath(given))
  head = folders.read(path).head
  if head == heads.STATIC:
    return static_encoder.StaticEncoder.from_checkpoint(path)
  if head != heads.ENCODER:
    raise ValueError(f"mine ({path}) makes {head} vectors, but must be {what}.")
  return sentence_encoder.SentenceEncoder.from_checkpoint(path)


def ranked(splits, encoder, options):
  """Returns the queries of splits with the documents that a reranker reads.

  Args:
    splits: {split: list of `EmbeddingExample`}.
    encoder: as of `open_encoder`, finds negatives for the split "train", and
      for others documents to put in order; None for those of the examples.
    options: `reranking_options.RerankingOptions`.

  Returns:
    {split: list of `RankingExample`}.
  """
  found, encoder = {}, open_encoder(encoder)
  if encoder is None:
    options_lib.check_unused(options, _OF_MINING, "--mine")
  for split, examples in splits.items():
    embedding_data.check_relevant(examples)
    if encoder and split != "train":
      found[split] = candidates(encoder, examples, options.num_candidates)
      continue
    if encoder:
      ranks = options.first_mined_rank, options.last_mined_rank
      number, margin = options.num_negatives, options.mining_margin
      examples = negatives(encoder, examples, number, ranks, margin)
    found[split] = _of_examples([each for each in examples if each.anchor])
    if split != "train":
      _check_documents(found[split])
  return found


def _of_examples(examples):
  """Returns `EmbeddingExample`s as `RankingExample`s.

  Pairs with scores become one example for each query; others are one each.
  """
  queries = {}
  for number, example in enumerate(examples):
    is_scored = example.score is not None
    grades = (example.score if is_scored else example.grade,)
    grades += (len(example.others) - 1) * (0.0,)
    key = example.anchor if is_scored else number
    documents = queries.setdefault(key, (example, {}))[1]
    documents |= dict(zip(example.others, grades, strict=True))
  return [
    example_types.RankingExample(
      first.id, first.anchor, (*found,), (*found.values(),), origin=first.origin
    )
    for first, found in queries.values()
  ]


def _check_documents(examples):
  """Raises ValueError unless there is something to put in order."""
  if all(len(example.documents) < 2 for example in examples):
    raise ValueError(
      f"{examples[0].origin} has one document, like all other queries, so that"
      " there is nothing to put in order: give negatives, pairs with scores, or"
      " --mine."
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
  judged = embedding_scores.judgements(examples)
  documents = [*judged.documents.values()]
  asked = [judged.queries[name] for name in judged.grades]
  origins = {example.anchor: example.origin for example in examples[::-1]}
  queries, others = (
    embedding_scores.unit(
      encoder.encode(texts, prompt=encoder.texts.prompt_of(kind))
    )
    for kind, texts in (("query", asked), ("document", documents))
  )
  places = {name: place for place, name in enumerate(judged.documents)}
  for (name, known), vector in zip(judged.grades.items(), queries, strict=True):
    cosines = others @ vector
    order = np.argsort(-cosines, kind="stable")
    if judged.has_names:  # A query must not find itself.
      order = order[order != places.get(name, -1)]
    query = judged.queries[name]
    grades = {judged.documents[own]: grade for own, grade in known.items()}
    positive = {judged.documents[own]: cosines[places[own]] for own in known}
    nearest = {documents[place]: cosines[place] for place in order[:depth]}
    yield query, origins[query], grades, positive, nearest
