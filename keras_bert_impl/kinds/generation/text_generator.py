"""Generates text, from Python."""

import typing
from collections.abc import Iterable, Sequence

import keras

from keras_bert_impl import heads
from keras_bert_impl.estimators import records, typed
from keras_bert_impl.kinds.generation import (
  generation_kind,
  pair_files,
  text_probabilities,
)
from keras_bert_impl.serving import servables

if typing.TYPE_CHECKING:
  from typing_extensions import Unpack


class Generated(typing.TypedDict):
  """A text that was generated."""

  text: str
  score: float
  num_tokens: int


class SearchSettings(typing.TypedDict, total=False):
  """Settings of `generate`."""

  do_sample: bool
  early_stopping: bool | str
  length_penalty: float
  max_new_tokens: int
  min_new_tokens: int
  no_repeat_ngram_size: int
  num_beams: int
  num_return_sequences: int
  random_seed: int
  repetition_penalty: float
  temperature: float
  top_k: int
  top_p: float


class GeneratorSettings(typed.FitSettings, total=False):
  """Settings of `fit`."""

  label_smoothing: float
  length_penalty: float
  max_target_length: int
  metrics: Sequence[str] | None
  no_repeat_ngram_size: int
  num_beams: int
  prefix: str
  target_column: str
  text_column: str


class TextGenerator(text_probabilities.TextProbabilities[str, list[Generated]]):
  """Generates the text that follows a prompt, or what a decoder writes of it.

      generator = kb.TextGenerator.from_checkpoint("skt/kogpt2-base-v2")
      generator.generate(["옛날에"], max_new_tokens=20, num_beams=4)
      # [[{"text": ..., "score": -1.2, "num_tokens": 20}]]

  Models from left to right, such as GPT-2, go on; BART and T5 write another
  text. The same prompt gives the same text in any batch, drawn texts too.

      generator.fit([("a long text", "a short one"), ...], prefix="summarize: ")

  An example to learn is a tuple of a text and the one that is to be written, or
  a dict of text and target. A file is a table with such columns, or those that
  text_column and target_column name. After `fit`, texts are written as they
  were for its scores: with its prefix, and up to max_target_length tokens.

  Args:
    checkpoint: str, as of `from_checkpoint`.
    max_seq_length: int, most tokens of a prompt; default: as trained, or as
      many as there is room for.
    **files: fields of `model_files.ModelFilesConfig`.
  """

  kind = generation_kind.KIND
  head = heads.GENERATION
  _keys = ("text", "target")
  _columns = ("text_column", "target_column")
  _answers_untrained = True

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
      **settings: "Unpack[GeneratorSettings]",
    ) -> keras.callbacks.History: ...

  def generate(
    self,
    prompts: str | Sequence[str],
    batch_size: int = 32,
    **settings: "Unpack[SearchSettings]",
  ) -> typing.Any:
    """Generates texts.

    Args:
      prompts: list of N str, or one str.
      batch_size: int, prompts at once.
      **settings: fields of `generation.settings.SearchSettings`, such as
        max_new_tokens (64), num_beams, do_sample, temperature, top_k, top_p,
        random_seed, num_return_sequences, no_repeat_ngram_size and
        length_penalty.

    Returns:
      list of N lists of {"text": str, "score": float, "num_tokens": int}, the
      best first; of one str, one list.

    Raises:
      ValueError: a setting is wrong; a prompt is no str, or has more tokens
        than there is room for, unless max_seq_length says where to cut it.
    """
    return self._predict(prompts, batch_size, settings)

  def _answer(self, row):
    self._check_room(row[servables.IS_CUT])
    return [
      {"text": text.decode(), "score": float(score), "num_tokens": int(number)}
      for text, score, number in zip(
        row["texts"], row["scores"], row["num_tokens"], strict=True
      )
    ]

  def _example(self, record, place, number):
    text, target = record.get("text"), record.get("target")
    if isinstance(text, list | tuple) and len(text) == 2 and target is None:
      text, target = text
    texts = {"text": text, "target": target}
    for name, value in texts.items():
      if value is not None:
        records.checked_text(value, f"{place}.{name}")
    return pair_files.make_pair(str(number), text, target, place)

  def _read_file(self, path, text_column="text", target_column="target"):
    source = pair_files.PairSource(text=text_column, label=target_column)
    return source.read([path], True, {})

  def _parts(self, run, splits, task_options):
    return generation_kind.make_parts(run, splits, task_options)
