"""Puts documents in order for a query, from Python."""

import typing
from collections.abc import Iterable, Sequence

import keras

from keras_bert_impl import heads
from keras_bert_impl.estimators import estimator, records, typed
from keras_bert_impl.kinds.embeddings import embedding_trainer
from keras_bert_impl.kinds.reranking import (
  mining,
  reranking_kind,
)

if typing.TYPE_CHECKING:
  from typing_extensions import Unpack


class RerankerSettings(typed.FitSettings, total=False):
  """Settings of `fit`."""

  first_mined_rank: int
  label_column: str
  last_mined_rank: int
  mine: typing.Any
  mining_margin: float
  num_candidates: int
  num_negatives: int
  ranking_loss: str
  text_columns: Sequence[str]


Pair = tuple[str, str] | list[str]


class Reranker(
  embedding_trainer.EmbeddingExamples, estimator.Estimator[Pair, float]
):
  """Scores documents for a query, reading both at once (cross-encoder).

      reranker = kb.Reranker.from_checkpoint("klue/bert-base")
      reranker.fit(pairs, mine=encoder, num_negatives=7)
      reranker.rank("Who sat?", ["It rained.", "The cat sat."], top_k=1)
      # [{"index": 1, "score": 4.2}]

  An example is a tuple of texts (a query, its positive, negatives), a dict with
  the keys anchor, positive and negative, or a file of run_embeddings.py. `fit`
  and `evaluate` take, besides the settings of `Estimator.fit`,

    mine: `SentenceEncoder` or `StaticEncoder`, or its folder, that finds hard
      negatives for the queries to train on, and for the others the documents to
      be put in order; without it each query has its own, or pairs have scores.
    num_negatives, first_mined_rank, last_mined_rank, mining_margin,
    num_candidates, ranking_loss: flags of run_reranker.py.

  Args:
    checkpoint: str, as of `from_checkpoint`.
    max_seq_length: int, maximum tokens of a query with a document; default: as
      trained, or 128.
    **files: fields of `model_files.ModelFilesConfig`.
  """

  head = heads.REGRESSION
  kind = reranking_kind.KIND

  if typing.TYPE_CHECKING:

    def fit(  # noqa: D102
      self,
      data: typed.Data,
      targets: Iterable[typing.Any] | None = None,
      validation_data: typed.HeldOut | None = None,
      epochs: float | None = None,
      batch_size: int | None = None,
      output_dir: typed.Path | None = None,
      restore_best: bool = False,
      callbacks: Sequence[keras.callbacks.Callback] = (),
      **settings: "Unpack[RerankerSettings]",
    ) -> keras.callbacks.History: ...

  def rank(
    self,
    query: str,
    documents: Sequence[str],
    top_k: int | None = None,
    batch_size: int = 32,
  ) -> list[records.Ranked]:
    """Puts documents in order.

    Args:
      query: str.
      documents: list of str.
      top_k: int, how many to return; default: all.
      batch_size: int, documents at once.

    Returns:
      list of {"index": place in `documents`, "score": float}, the best first.

    Raises:
      ValueError: documents are no list of str, or top_k is below 1.
    """
    documents = records.strings_of(documents, "documents")
    scores = self.predict([(query, text) for text in documents], batch_size)
    return records.best(scores, top_k)

  def _is_single(self, inputs):
    is_pair = isinstance(inputs, tuple | list) and len(inputs) == 2
    return is_pair and all(isinstance(text, str) for text in inputs)

  def _questions(self, inputs):
    return [
      dict(zip(("text", "text_pair"), _pair(pair, f"inputs[{k}]"), strict=True))
      for k, pair in enumerate(records.items_of(inputs, "inputs"))
    ]

  def _make_servable(self, **values):
    return super()._make_servable(**{"text_pairs": True, **values})

  def _answer(self, row):
    return float(row["scores"])

  def _pop_columns(self, settings):
    """Takes what is not for the run out of settings: columns, the encoder."""
    self._mine = settings.pop("mine", None)
    return super()._pop_columns(settings)

  def _parts(self, run, splits, task_options):
    splits |= mining.ranked(splits, self._mine, task_options)
    return reranking_kind.make_parts(run, splits, task_options)


def _pair(value, place):
  """Returns the query and the document of an input, list of str."""
  if not isinstance(value, tuple | list) or len(value) != 2:
    raise ValueError(
      f"{place} ({value!r}) must be a pair of texts, (query, document)."
    )
  return [
    records.checked_text(text, f"{place}[{number}]")
    for number, text in enumerate(value)
  ]
