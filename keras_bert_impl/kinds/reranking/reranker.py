"""Puts documents in order for a query, from Python."""

import typing
from collections.abc import Iterable, Sequence

import keras
import tensorflow as tf

from keras_bert_impl import heads
from keras_bert_impl.estimators import estimator, records, typed
from keras_bert_impl.kinds.embeddings import embedding_trainer
from keras_bert_impl.kinds.embeddings.encoders import searching_encoder
from keras_bert_impl.kinds.reranking import (
  ranking_examples,
  reranking_kind,
)

if typing.TYPE_CHECKING:
  from typing_extensions import Unpack


class RerankerSettings(typed.FitSettings, total=False):
  """Settings of `fit`."""

  corpus: typing.Any
  first_mined_rank: int
  label_column: str
  last_mined_rank: int
  mine: typing.Any
  mining_margin: float
  mining_share: float | None
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

    mine: an encoder of texts, such as a `SentenceEncoder`, or its folder, that
      finds hard negatives for the queries to train on, and for the others the
      documents to be put in order; without it each query has its own, or pairs
      have scores.
    corpus: list of str, or a file as of `data`: other texts that it is to
      search for the documents to be put in order.
    num_negatives, first_mined_rank, last_mined_rank, mining_margin,
    mining_share, num_candidates, ranking_loss: flags of run_reranker.py.

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

  def predict(
    self,
    inputs: typing.Any,
    batch_size: int = 32,
    show_progress_bar: bool | None = None,
    convert_to_tensor: bool = False,
  ) -> typing.Any:
    """Scores pairs, those of similar length together.

    Args:
      inputs: list of N pairs (query, document), or one pair.
      batch_size: int, pairs at once.
      show_progress_bar: bool, whether a bar counts the pairs.
      convert_to_tensor: bool, whether to return a `tf.Tensor` float32 [N].

    Returns:
      list of N float, logits; of one pair, a float.

    Raises:
      ValueError: an input is no pair, or the model has not been trained for it.
    """
    output = searching_encoder.Output(show_progress_bar=show_progress_bar)
    number = 1 if self._is_single(inputs) else None
    if number is None:
      inputs = records.items_of(inputs, "inputs")
    with output.bar(number or len(inputs), "Scored", " pairs") as bar:
      scores = self._predict(inputs, batch_size, {}, bar.update)
    return tf.constant(scores, tf.float32) if convert_to_tensor else scores

  def rank(
    self,
    query: str,
    documents: Sequence[str],
    top_k: int | None = None,
    batch_size: int = 32,
    show_progress_bar: bool | None = None,
  ) -> list[records.Ranked]:
    """Puts documents in order.

    Args:
      query: str.
      documents: list of str.
      top_k: int, how many to return; default: all.
      batch_size: int, documents at once.
      show_progress_bar: bool, whether a bar counts the documents.

    Returns:
      list of {"index": place in `documents`, "score": float}, the best first.

    Raises:
      ValueError: documents are no list of str, or top_k is below 1.
    """
    documents = records.strings_of(documents, "documents")
    pairs = [(query, text) for text in documents]
    scores = self.predict(pairs, batch_size, show_progress_bar)
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
    corpus = settings.pop("corpus", None)
    if corpus is not None and self._mine is None:
      raise ValueError("corpus needs mine, the encoder that searches it.")
    self._corpus = embedding_trainer.documents_of(corpus)
    return super()._pop_columns(settings)

  def _parts(self, run, splits, task_options):
    if "dev" in splits:
      splits["dev"] += self._corpus
    splits |= ranking_examples.ranked(splits, self._mine, task_options)
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
