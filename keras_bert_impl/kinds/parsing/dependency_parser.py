"""Finds the dependency trees of sentences, from Python."""

import typing
from collections.abc import Iterable, Sequence

import keras

from keras_bert_impl.estimators import estimator, records, typed
from keras_bert_impl.kinds.parsing import (
  biaffine_parser,
  parsing_files,
  parsing_kind,
)

if typing.TYPE_CHECKING:
  from typing_extensions import Unpack


class Word(typing.TypedDict):
  """A word of a text, in its tree."""

  word: str
  head: int
  relation: str
  score: float


class ParserSettings(typed.FitSettings, total=False):
  """Settings of `fit`."""

  arc_width: int
  parser_dropout: float
  relation_width: int
  word_split: str | None


class DependencyParser(estimator.Estimator[str, list[Word]]):
  """Finds the head of each word of a sentence, and its relation to it.

      parser = kb.DependencyParser.from_checkpoint("klue/bert-base")
      parser.fit("klue-dp-v1.1_train.tsv")
      parser.predict("아이가 책을 읽었다.")
      # [{"word": "아이가", "head": 3, "relation": "NP_SBJ", "score": .98}, ...]

  An example is a dict with the keys words, heads and relations, lists of one
  value for each word: `head` is the number of another word, from 1, or 0 for
  the root. A file is CoNLL-U or KLUE-DP's.

  The answer to a text, one sentence, is a list of its words: one tree, in which
  one word has the root as head.

  Args:
    checkpoint: str, as of `from_checkpoint`.
    max_seq_length: int, maximum tokens of a sentence; default: as trained, or
      128.
    **files: fields of `model_files.ModelFilesConfig`.
  """

  head = biaffine_parser.HEAD
  _keys = ("words", "heads", "relations")
  kind = parsing_kind.KIND

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
      **settings: "Unpack[ParserSettings]",
    ) -> keras.callbacks.History: ...

  def _answer(self, row):
    size = row["num_words"]
    return [
      {
        "word": word.decode(),
        "head": head,
        "relation": relation.decode(),
        "score": score,
      }
      for word, head, relation, score in zip(
        *(row[name][:size].tolist() for name in ("words", "heads")),
        *(row[name][:size].tolist() for name in ("labels", "scores")),
        strict=True,
      )
    ]

  def _example(self, record, place, number):
    del number
    words = records.strings_of(record.get("words"), f"{place}.words")
    heads = records.items_of(record.get("heads"), f"{place}.heads")
    relations = records.strings_of(
      record.get("relations"), f"{place}.relations"
    )
    if not len(words) == len(heads) == len(relations):
      raise ValueError(
        f"{place} has {len(words)} words, {len(heads)} heads and"
        f" {len(relations)} relations: give one of each."
      )
    heads = parsing_files.check_heads(
      heads, [f"{place}.heads[{number}]" for number in range(len(heads))]
    )
    return parsing_files.ParsedSentence(words, heads, relations, origin=place)

  def _read_file(self, path):
    return parsing_files.read(path)

  def _parts(self, run, splits, task_options):
    return parsing_kind.make_parts(run, splits, task_options)
