"""Tags the tokens of sentences, from Python."""

import typing
from collections.abc import Iterable, Sequence

import keras

from keras_bert_impl import heads, options
from keras_bert_impl.estimators import estimator, records, typed
from keras_bert_impl.kinds.tags import (
  span_classification,
  span_rows,
  tag_files,
  tag_kind,
)
from keras_bert_impl.metrics import tagging
from keras_bert_impl.tasks.basics import example_types

if typing.TYPE_CHECKING:
  from typing_extensions import Unpack


class Entity(typing.TypedDict):
  """An entity of a text, or a token with its tag."""

  label: str
  text: str
  start: int
  end: int
  score: float


class TagSettings(typed.FitSettings, total=False):
  """Settings of `fit`."""

  approach: str
  context: str
  doc_stride: int | None
  features: str | None
  lstm_width: int
  max_span_width: int
  span_units: int
  tag_column: int
  tag_scheme: str | None
  token_column: int
  token_unit: str
  use_crf: bool


class TokenTagger(estimator.Estimator[str, list[Entity]]):
  """Finds named entities and other spans, or tags each token.

      tagger = kb.TokenTagger.from_checkpoint("klue/bert-base")
      tagger.fit([["Ada", "in", "London"]], [["B-PER", "O", "B-LOC"]])
      tagger.predict(["Ada lived in London."])
      # [[{"label": "PER", "text": "Ada", "start": 0, "end": 3, "score": .97}]]

  An example is a list of tokens and a list of as many tags: of IOB1, IOB2 or
  BIOES, found out by itself, or of any names. As a dict it has the keys tokens
  and tags. A file has a token and its tag on each line, as CoNLL-2003's; other
  columns than the first and the last are named by number, from 0:
  `fit("train.conllu", token_column=1, tag_column=3)`.

  Entities may stand inside of others with the scheme "spans". Instead of tags
  an example has entities, (start, end, type), in tokens and `end` exclusive; a
  file has columns of tags, one for each level:

      tagger = kb.TokenTagger.from_checkpoint("klue/bert-base", "spans")
      tagger.fit([["Bank", "of", "China"]], [[(0, 3, "ORG"), (2, 3, "LOC")]])

  The answer to a text, as it is, is a list of its entities; `start` and `end`
  count characters.

  Args:
    checkpoint: str, as of `from_checkpoint`.
    tag_scheme: str, scheme of the tags; "none" for tags that mark no entities;
      "spans" for entities inside of others; default: as trained, or that of
      most tags of the data.
    max_seq_length: int, maximum tokens of a row; default: as trained, or 128.
    **files: fields of `model_files.ModelFilesConfig`.

  Attributes:
    tag_scheme: str, or None where no data has shown it yet.
  """

  head = heads.TOKEN_CLASSIFICATION
  _keys = ("tokens", "tags")
  _columns = ("token_column", "tag_column")
  kind = tag_kind.KIND

  def __init__(
    self,
    checkpoint: typed.Path,
    tag_scheme: str | None = None,
    max_seq_length: int | None = None,
    **files: "Unpack[typed.FileNames]",
  ) -> None:
    super().__init__(checkpoint, max_seq_length, **files)
    options.check_values(self.kind.options, {"tag_scheme": tag_scheme})
    self._take_scheme(tag_scheme or self._task.get("tag_scheme"))

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
      **settings: "Unpack[TagSettings]",
    ) -> keras.callbacks.History: ...

  def _answer(self, row):
    columns = {
      "label": [label.decode() for label in row["labels"]],
      "text": [text.decode() for text in row["texts"]],
      "start": row["starts"].tolist(),
      "end": row["ends"].tolist(),
      "score": row["scores"].tolist(),
    }
    return [
      {name: values[number] for name, values in columns.items()}
      for number in range(row["num_entities"])
    ]

  def _example(self, record, place, number):
    del number
    tokens = records.strings_of(record.get("tokens"), f"{place}.tokens")
    if self.tag_scheme == tagging.SPANS:
      tags = span_rows.read(record.get("entities"), len(tokens), place)
      return example_types.TaggedSentence(tokens, tags, origin=place)
    tags = records.strings_of(record.get("tags"), f"{place}.tags")
    if len(tags) != len(tokens):
      raise ValueError(
        f"{place} has {len(tokens)} tokens and {len(tags)} tags: give one tag"
        " for each."
      )
    for tag in tags:
      fault = tagging.find_fault(tag, self.tag_scheme)
      if fault:
        raise ValueError(
          f'{place}.tags: {fault}; for other tags give tag_scheme="none".'
        )
    return example_types.TaggedSentence(tokens, tags, origin=place)

  def _read_file(self, path, **columns):
    options.check_integers("[-1000, 1000]", **columns)
    return tag_files.read(path, tag_scheme=self.tag_scheme, **columns)

  def _hold_out(self, examples, share):
    return tag_files.split_off(examples, share)

  def _known_options(self):
    return super()._known_options() | {"tag_scheme": self.tag_scheme}

  def _parts(self, run, splits, task_options):
    return tag_kind.make_parts(run, splits, task_options)

  def _after_fit(self):
    self._take_scheme(self._task["tag_scheme"])

  def _take_scheme(self, tag_scheme):
    self.tag_scheme = tag_scheme
    if tag_scheme == tagging.SPANS:
      self.head, self._keys = span_classification.HEAD, ("tokens", "entities")
