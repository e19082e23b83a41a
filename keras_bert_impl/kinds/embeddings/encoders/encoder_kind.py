"""Vectors of texts: the kind for its script, where encoders find negatives."""

import dataclasses
import functools

from keras_bert_impl.kinds.embeddings import (
  embedding_corpus,
  embedding_kind,
  embedding_splits,
  mining,
)
from keras_bert_impl.kinds.embeddings.encoders import stored_encoders
from keras_bert_impl.runs.fine_tuning import kind


def prepare(job, config):
  """Returns the `Prepared` of an `EmbeddingConfig`.

  Raises:
    ValueError: as `embedding_splits.read_apart`, `mining.add_negatives` and
      `embedding_kind.make_parts`.
  """
  splits, *apart = embedding_splits.read_apart(config, job.settings)
  encoder = config.mine and stored_encoders.open_encoder(config.mine)
  pairs = mining.add_negatives(splits, encoder, config)
  parts = embedding_kind.make_parts(job, splits, config)
  if any(apart):
    find = functools.partial(embedding_corpus.outputs_of_run, *apart)
    parts = dataclasses.replace(parts, more_outputs=find)
  own = stored_encoders.CLASSES[parts.task.head]
  parts = mining.renewed(parts, own, pairs, config)
  return kind.Prepared(parts, splits)


KIND = dataclasses.replace(embedding_kind.KIND, prepare=prepare)
