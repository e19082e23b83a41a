"""Documents that are searched beside those of examples, from disk.

Their texts are read anew each time, and their vectors lie in shards.
"""

import functools
import itertools
import types
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_bert_impl import heads
from keras_bert_impl.kinds.embeddings import embedding_data, sentence_folder
from keras_bert_impl.kinds.embeddings.corpus import (
  corpus_options,
  corpus_shards,
  corpus_texts,
  corpus_vectors,
  corpus_writer,
)
from keras_bert_impl.kinds.embeddings.tasks import (
  embedding_scores,
  embedding_task,
)
from keras_bert_impl.runs.fine_tuning import predictions
from keras_bert_impl.tasks.basics import example_types
from tfrecords import manifest
from tfrecords.labelled import row_files


class Corpus(NamedTuple):
  """What is searched beside the documents of examples.

  Attributes:
    vectors: `CorpusVectors`.
    texts: function that returns an iterable of the `Text`s.
  """

  vectors: corpus_vectors.CorpusVectors
  texts: Callable

  def shown(self, documents, places, order=None):
    """Returns the texts at places, {place: str}.

    Args:
      documents: list of str, those of the examples, which come first.
      places: iterable of int, below 0 for none.
      order: list of int, the numbers at the places; default: themselves.
    """
    numbers = {order[k] if order else k: k for k in places if k >= 0}
    texts = itertools.chain(documents, (text.text for text in self.texts()))
    return {numbers[k]: text for k, text in enumerate(texts) if k in numbers}


def texts_beside(examples, named, others):
  """Yields the `Text`s to search that are in no example, each once.

  Args:
    examples: list of `EmbeddingExample`.
    named: list of str, folders of BEIR, whose documents have names as those of
      the examples.
    others: list of functions that return iterables of texts without names.
  """
  known, number = embedding_scores.judgements(examples).documents, 0
  for folder in named:
    for name, text in embedding_data.beir_documents(folder):
      if name not in known:
        yield corpus_texts.Text(name, text, f"{folder}:{name}")
  seen = {*map(hash, known)}
  for source, read in enumerate(others):
    for text in read():
      if (key := hash(text)) not in seen:
        seen.add(key)
        name = f"corpus-{source}-{number}" if named else str(number)
        number += 1
        yield corpus_texts.Text(name, text, name)


def outputs_of_run(named, others, run, split):
  """Returns {output: `Corpus`} for `RetrievalEvaluator`.

  The vectors lie in the folder of the split and of the weights: what was killed
  goes on, and those of other weights are removed.

  Args:
    named: as of `texts_beside`.
    others: the same.
    run: `fine_tuning_run.Run`.
    split: str.
  """
  encoder = _encoder_of(run)
  facts = corpus_shards.facts_of(encoder)
  origin = manifest.fingerprint(facts | {"members": [*run.settings.members]})
  folder = run.folder.join(split, f"corpus-{origin[:16]}")
  for other in tf.io.gfile.glob(run.folder.join(split, "corpus-*")):
    if other != folder:
      tf.io.gfile.rmtree(other)
  examples = run.data.examples(split)
  return encoded(encoder, examples, folder, None, named, others)


def encoded(encoder, examples, folder, batch_size, named, others):
  """Returns {output: `Corpus`} of an encoder, {} if there is nothing to search.

  Args:
    encoder: `TextEncoder`, or of a run.
    examples: as of `texts_beside`.
    folder: str, of the vectors, where what was killed goes on.
    batch_size: int, or None.
    named: as of `texts_beside`.
    others: the same.
  """
  texts = functools.partial(texts_beside, examples, named, others)
  if not next(texts(), None):
    return {}
  options = corpus_options.CorpusOptions(batch_size=batch_size)
  corpus_writer.encode(encoder, texts(), folder, options)
  vectors = corpus_vectors.load_corpus_vectors(folder)
  return {embedding_scores.CORPUS: Corpus(vectors, texts)}


def _encoder_of(run):
  """Returns the model of a run, as `corpus_writer` encodes with it."""
  model = run.experiment.model
  return types.SimpleNamespace(
    checkpoint=run.output_dir,
    head=run.fine_tuning.task.head,
    model=model,
    # D, or V of sparse vectors.
    embedding_size=model.output[embedding_task.EMBEDDINGS].shape[-1],
    tokenizer=run.data.tokenizer,
    texts=sentence_folder.texts_of(run),
    vectors_of=functools.partial(_vectors_of_run, run),
  )


def _vectors_of_run(run, unused_kind, texts, unused_batch_size, advance=None):
  """Returns the vectors of documents, as `TextEncoder.vectors_of`."""
  examples = [
    example_types.EmbeddingExample(str(k), None, (text,))
    for k, text in enumerate(texts)
  ]
  path = run.data.path("corpus")
  run.data.write_rows(path, examples, {})
  found = predictions.predict(
    run.experiment,
    row_files.read(path, run.data.preprocessor.columns),
    run.lengths,
    run.fine_tuning.evaluator.token_outputs,
    run.settings.members,
    run.predict,
  )[embedding_task.EMBEDDINGS]
  if advance:
    advance(len(texts))
  if run.fine_tuning.task.head == heads.LATE:
    return [rows[np.any(rows != 0, axis=1)] for rows in found]
  return found
