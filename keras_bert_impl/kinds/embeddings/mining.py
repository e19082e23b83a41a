"""Documents that an encoder finds for queries: hard negatives, candidates."""

import dataclasses
import functools

from keras_bert_impl import options as options_lib
from keras_bert_impl.estimators import records
from keras_bert_impl.kinds.embeddings import sentence_folder
from keras_bert_impl.kinds.embeddings.tasks import (
  embedding_scores,
  mining_options,
)
from keras_bert_impl.tasks.basics import example_types, fine_tuning

# Options that only mined documents have.
OPTIONS = options_lib.names(mining_options.MiningOptions)


def add_negatives(splits, encoder, options):
  """Gives the pairs to train on negatives, if there is an encoder.

  Args:
    splits: {split: list of `EmbeddingExample`}, of which "train" is replaced.
    encoder: as of `negatives`, or None.
    options: `EmbeddingOptions`.

  Returns:
    list of `EmbeddingExample`, those to train on as they were.

  Raises:
    ValueError: the examples have negatives or scores already, or none is found;
      or there are options and no encoder.
  """
  examples = splits.get("train", ())
  if not encoder:
    options_lib.check_unused(options, (*OPTIONS, "mine_every"), "mine")
    return examples
  for example in examples:
    if len(example.others) > 1 or example.score is not None:
      what = "a score" if example.score is not None else "negatives"
      raise ValueError(
        f"{example.origin} has {what} already, but mine finds negatives of"
        " pairs: leave mine out, or name the columns of two texts."
      )
  if examples:
    # In a batch, a pair teaches with far negatives, too.
    splits["train"] = negatives(encoder, examples, options, goes_deeper=True)
  return examples


def renewed(parts, encoder_class, pairs, options):
  """Returns a `FineTuning` whose model finds negatives anew, if asked for.

  Args:
    parts: `FineTuning` of text vectors.
    encoder_class: class of the encoder that the model becomes.
    pairs: as `add_negatives` returned them.
    options: `EmbeddingOptions`.
  """
  if not options.mine_every:
    return parts

  def make(run):
    data, texts = run.data, sentence_folder.texts_of(run)
    encoder = encoder_class(run.experiment.model, data.tokenizer, texts)
    found = {e.texts[:2]: e for e in _mined(encoder, pairs, options, True)}
    # A pair for which it finds too few keeps those that it had first.
    return [found.get(e.texts[:2], e) for e in data.examples("train")]

  renewal = fine_tuning.Renewal(options.mine_every, make)
  return dataclasses.replace(parts, renewal=renewal)


def candidates(encoder, examples, depth):
  """Returns the documents that an encoder finds for each anchor.

  Args:
    encoder: `TextEncoder`, or another with `similarity_rows`.
    examples: list of `EmbeddingExample`: anchors with their relevant documents,
      and the others to search.
    depth: int, documents of each.

  Returns:
    list of `RankingExample`, the nearest document first.
  """
  result = []
  for query, origin, grades, _, nearest in _search(encoder, examples):
    documents = [*nearest(depth)]
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


def negatives(encoder, examples, options, goes_deeper=False):
  """Returns examples with hard negatives: near, but not relevant.

  Args:
    encoder: as of `candidates`.
    examples: the same.
    options: `MiningOptions`: how many negatives, of which ranks, and how much
      less similar than the positive: what is nearer may be relevant too, though
      nobody said so.
    goes_deeper: bool, whether lower ranks are taken where those have too few.

  Returns:
    list of `EmbeddingExample`, each with its positive and as many negatives;
    anchors with fewer are left out.

  Raises:
    ValueError: none has so many.

  Source: of the share, Moreira et al. 2024, NV-Retriever.
  """
  result = _mined(encoder, examples, options, goes_deeper)
  if not result:
    raise ValueError(
      f"no query has {options.num_negatives} negatives among the ranks"
      f" {options.first_mined_rank} to {options.last_mined_rank} whose"
      f" similarity is {options.mining_margin:g} below that of its positive:"
      " give more texts, other ranks or a smaller mining_margin."
    )
  return result


def _mined(encoder, examples, options, goes_deeper):
  """Returns as `negatives`; [] if no anchor has so many."""
  result, number = [], options.num_negatives
  first = options.first_mined_rank - 1
  depths = (options.last_mined_rank, None)[: 1 + goes_deeper]
  for found in _search(encoder, examples):
    query, origin, grades, similarities, nearest = found
    for positive, similarity in similarities.items():
      most = similarity - options.mining_margin
      if options.mining_share is not None:
        most = min(most, similarity * options.mining_share)
      for depth in depths:
        chosen = [
          text
          for text, found in [*nearest(depth).items()][first:]
          if text not in grades and found <= most
        ][:number]
        if len(chosen) == number:
          break
      if len(chosen) == number:
        name, texts = str(len(result)), (positive, *chosen)
        result.append(
          example_types.EmbeddingExample(name, query, texts, origin=origin)
        )
  return result


def _search(encoder, examples):
  """Yields what is found for each query.

  Args:
    encoder: as of `candidates`.
    examples: the same.

  Yields:
    (query, its origin, {relevant document: grade}, {the same: similarity},
    function of a depth that returns {document: similarity}, the nearest first).
  """
  judged = embedding_scores.judgements(examples)
  documents = [*judged.documents.values()]
  asked = [judged.queries[name] for name in judged.grades]
  origins = {example.anchor: example.origin for example in examples[::-1]}
  rows = encoder.similarity_rows(asked, documents)
  places = {name: place for place, name in enumerate(judged.documents)}
  for (name, known), row in zip(judged.grades.items(), rows, strict=True):
    # A query must not find itself.
    own = places.get(name) if judged.has_names else None
    nearest = functools.cache(functools.partial(_nearest, row, documents, own))
    query = judged.queries[name]
    grades = {judged.documents[own]: grade for own, grade in known.items()}
    positive = {judged.documents[own]: row[places[own]] for own in known}
    yield query, origins[query], grades, positive, nearest


def _nearest(row, documents, own, depth):
  """Returns {document: similarity} of the nearest ones, None: of all."""
  best = records.best(row, depth and depth + 1)
  best = [x for x in best if x["index"] != own][:depth]
  return {documents[x["index"]]: x["score"] for x in best}
