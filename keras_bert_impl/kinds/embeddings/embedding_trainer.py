"""Examples of text vectors, from Python."""

import functools
import os
from typing import Any

from keras_bert_impl import files, heads
from keras_bert_impl.estimators import estimator, records
from keras_bert_impl.kinds.embeddings import (
  embedding_data,
  embedding_kind,
)

# Keys of an example.
_FIELDS = ("texts", "anchor", "positive", "negative", "score")


class EmbeddingExamples:
  """Reads `EmbeddingExample`s, for classes of `trainable.Trainable`.

  An example is a str; a tuple of texts, the anchor first; two texts and a
  number; or a dict with the keys anchor, positive, and negative (a str or a
  list) or score.
  """

  _keys = _FIELDS
  _columns = ("text_columns", "label_column")

  def _example(self, record, place, number):
    return _example(record, place, number)

  def _examples(self, data, *others, **named):
    found = super()._examples(data, *others, **named)
    # A file's columns are checked as they are read.
    return found if isinstance(data, str | os.PathLike) else _complete(found)

  def _read_file(self, path, **columns):
    return _read_file(path, **columns)


class VectorScorer(EmbeddingExamples, estimator.Estimator[str, Any]):
  """Scores what computes vectors of rows, on the files of their script.

  Args: as `Estimator`.
  """

  head = heads.ENCODER
  kind = embedding_kind.KIND

  def _answer(self, row):
    return row["embeddings"]

  def _known_options(self):
    return {}  # `make_parts` reads what a run says.

  def _parts(self, run, splits, task_options):
    return embedding_kind.make_parts(run, splits, task_options)


def examples_of(data, targets=None, corpus=None, **columns):
  """Returns the examples to score, and what is searched beside their texts.

  Args:
    data: as of `EmbeddingExamples`, or a path.
    targets: list of scores, or None.
    corpus: list of str, or a path: other texts to search; or None.
    **columns: text_columns and label_column, of a file.

  Returns:
    list of `EmbeddingExample`, and named and others of
    `embedding_corpus.texts_beside`.
  """
  records.check_columns(columns, _FIELDS, data)
  named = []
  if isinstance(data, str | os.PathLike) and files.is_folder(data):
    named = [os.fspath(data)]
    examples = embedding_data.read_judged(*named, "dev")
  elif isinstance(data, str | os.PathLike):
    examples = _read_file(os.fspath(data), "dev", **columns)
  else:
    found = enumerate(records.read(data, targets, _FIELDS))
    examples = [_example(record, place, k) for k, (place, record) in found]
    examples = _complete(examples)
  if isinstance(corpus, str | os.PathLike):
    path = os.fspath(corpus)
    others = [functools.partial(embedding_data.corpus_texts, path)]
  else:
    corpus = records.strings_of(
      () if corpus is None else corpus, "corpus", True
    )
    others = [lambda: corpus]
  embedding_data.check_searched(examples, others)
  return examples, named, others


def documents_of(corpus):
  """Returns texts to search, list of `EmbeddingExample`.

  Args:
    corpus: as of `examples_of`.
  """
  if isinstance(corpus, str | os.PathLike):
    return embedding_data.read_corpus(os.fspath(corpus))
  corpus = () if corpus is None else records.strings_of(corpus, "corpus", True)
  return embedding_data.documents(corpus, "corpus")


def _complete(examples):
  """Returns examples of lists, those of one text alone as pairs.

  Raises:
    ValueError: some have one text only, or numbers stand where texts should.
  """
  if all(len(e.others) == 2 for e in examples):
    positives, negatives = zip(*(e.others for e in examples), strict=True)
    are_scores = all(map(embedding_data.is_number, negatives))
    if are_scores and not all(map(embedding_data.is_number, positives)):
      raise ValueError(
        f"{examples[0].origin} has the third text {negatives[0]!r}, and all"
        " others have numbers there: give scores as float."
      )
  return embedding_data.with_themselves(examples)


def _example(record, place, number):
  """Returns the `EmbeddingExample` of a record, see `EmbeddingExamples`."""
  unknown = [key for key in record if key not in _FIELDS]
  if unknown:
    raise ValueError(
      f"{place} has the key {unknown[0]!r}, which is none of"
      f" {', '.join(_FIELDS)}."
    )
  texts, score = record.get("texts"), record.get("score")
  if texts is None:
    negative = record.get("negative")
    negative = () if negative is None else negative
    texts = [record.get("anchor"), record.get("positive")]
    texts += negative if isinstance(negative, list | tuple) else [negative]
  else:
    is_one = isinstance(texts, str)
    texts = [texts] if is_one else records.items_of(texts, place)
    if len(texts) == 3 and not isinstance(texts[2], str) and score is None:
      score = texts.pop()
  if score is not None:
    score = records.number_of(score, f"{place}.score")
  checked = [
    records.checked_text(text, f"{place}[{k}]") for k, text in enumerate(texts)
  ]
  return embedding_data.example(str(number), checked, place, score)


def _read_file(path, split="train", text_columns=None, label_column="label"):
  """Returns the examples of a file or folder; see `embedding_data.read`."""
  if isinstance(text_columns, str):
    text_columns = text_columns.split(",")
  columns = embedding_data.Columns(tuple(text_columns or ()), label_column)
  return embedding_data.read(path, columns, split)
