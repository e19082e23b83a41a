"""Finds the clusters of mentions of documents, from Python."""

import collections
import typing
from collections.abc import Iterable, Sequence

import keras

from keras_bert_impl.estimators import estimator, typed
from keras_bert_impl.kinds.coreference import (
  coreference_files,
  coreference_kind,
  coreference_model,
)

if typing.TYPE_CHECKING:
  from typing_extensions import Unpack


class Mention(typing.TypedDict):
  """A mention in a text."""

  text: str
  start: int
  end: int
  score: float


class CoreferenceSettings(typed.FitSettings, total=False):
  """Settings of `fit`."""

  keep_singletons: bool | None
  max_antecedents: int
  max_span_width: int
  segment_overlap: int
  span_dropout: float
  span_units: int
  top_span_ratio: float


class CoreferenceResolver(estimator.Estimator[str, list[list[Mention]]]):
  """Finds which mentions of a text mean the same.

      resolver = kb.CoreferenceResolver.from_checkpoint("bert-base-cased")
      resolver.fit("train.conll")
      resolver.predict("Ada lived in London. She liked it there.")
      # [[{"text": "Ada", "start": 0, ...}, {"text": "She", "start": 21, ...}],
      #  [{"text": "London", ...}, {"text": "it", ...}]]

  An example is a dict: sentences, a list of lists of words; clusters, a list of
  lists of mentions [first, last], the numbers of their words in the document,
  from 0; and, where they are known, speakers, lists like those of the words,
  and doc_key, which may begin with a genre of OntoNotes. A file is CoNLL-2012,
  such dicts as .jsonl, or GAP's .tsv.

  The answer to a text of any length is a list of its clusters, each a list of
  mentions; `start` and `end` count characters.

  Args:
    checkpoint: str, as of `from_checkpoint`.
    max_seq_length: int, tokens of a segment, in which documents are read;
      default: as trained, or 128.
    **files: fields of `model_files.ModelFilesConfig`.
  """

  head = coreference_model.HEAD
  _keys = ("sentences", "speakers", "doc_key", "clusters")
  kind = coreference_kind.KIND

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
      **settings: "Unpack[CoreferenceSettings]",
    ) -> keras.callbacks.History: ...

  def _answer(self, row):
    clusters = collections.defaultdict(list)
    names = ("clusters", "texts", "starts", "ends", "scores")
    size = row["num_mentions"]
    columns = (row[name][:size].tolist() for name in names)
    for cluster, text, start, end, score in zip(*columns, strict=True):
      mention = {"text": text.decode(), "start": start, "end": end}
      clusters[cluster].append(mention | {"score": score})
    return list(clusters.values())

  def _example(self, record, place, number):
    if record.get("clusters") is None:
      raise ValueError(
        f"{place} has no clusters: give lists of mentions [first, last]."
      )
    name = str(record.get("doc_key") or f"document {number}")
    columns = (record.get(x) for x in ("sentences", "clusters", "speakers"))
    return coreference_files.make(*columns, name, place)

  def _read_file(self, path):
    return coreference_files.read(path)

  def _parts(self, run, splits, task_options):
    return coreference_kind.make_parts(run, splits, task_options)
