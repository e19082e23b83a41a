"""Queries with the documents that a reranker is to put in order."""

import os

from keras_bert_impl import options as options_lib
from keras_bert_impl.kinds.embeddings import embedding_data, mining
from keras_bert_impl.kinds.embeddings.encoders import (
  stored_encoders,
  text_encoder,
)
from keras_bert_impl.tasks.basics import example_types


def open_encoder(given):
  """Returns the encoder of a folder; others as they are.

  Args:
    given: str, folder of an encoder's `save` or the output_dir of a run; or
      such an encoder, or None.

  Raises:
    ValueError: it is something else.
  """
  if isinstance(given, str | os.PathLike):
    return stored_encoders.open_encoder(given)
  if not isinstance(given, text_encoder.TextEncoder | None):
    raise ValueError(
      f"mine ({type(given).__name__}) must be a kb.SentenceEncoder or another"
      " encoder of texts, or the folder of one."
    )
  return given


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
    unused = (*mining.OPTIONS, "num_candidates")
    options_lib.check_unused(options, unused, "--mine")
  for split, examples in splits.items():
    embedding_data.check_relevant(examples)
    if encoder and split != "train":
      depth = options.num_candidates
      found[split] = mining.candidates(encoder, examples, depth)
      continue
    if encoder:
      examples = mining.negatives(encoder, examples, options)
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
