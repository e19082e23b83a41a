"""Generates text, from Python."""

import typing
from collections.abc import Iterable, Sequence

import keras
import numpy as np
import tensorflow as tf

from keras_bert_impl import heads, options
from keras_bert_impl.estimators import answering, estimator, records, typed
from keras_bert_impl.kinds.generation import (
  generation_kind,
  generation_servable,
  pair_files,
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


class TextGenerator(estimator.Estimator[str, list[Generated]]):
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

  def score(
    self, prompt: str, candidates: Sequence[str], batch_size: int = 32
  ) -> list[float]:
    """Returns how likely each of several texts is after a prompt.

    Args:
      prompt: str.
      candidates: list of N str, as they would follow: of a model from left to
        right with the blank that begins them.
      batch_size: int, candidates at once.

    Returns:
      list of N float, the logarithm of the probability of all tokens; of a
      decoder with that of the end.

    Raises:
      ValueError: the model has no room for a prompt with a candidate, unless
        max_seq_length says where to cut prompts.
    """
    prompt = records.checked_text(prompt, "prompt")
    candidates = records.strings_of(candidates, "candidates")
    # So that there is as much room as can be for the prompt.
    values = {"max_new_tokens": 1}
    score = self._signature(values, generation_servable.SCORE)
    found = []
    for start in range(0, len(candidates), batch_size):
      part = candidates[start : start + batch_size]
      batch = {"text": [prompt] * len(part), "candidate": part}
      batch = {name: tf.constant(values) for name, values in batch.items()}
      answer = answering.outputs(self.checkpoint, score, batch)
      self._check_room(answer[servables.IS_CUT].any())
      found += answer["score"].tolist()
    return found

  def perplexity(
    self, texts: Sequence[str], stride: int | None = None
  ) -> float:
    """Returns the perplexity of texts under a model from left to right.

    A text is read in windows of as many tokens as the model has positions. Each
    window begins `stride` tokens after the one before and counts the tokens
    that no window before has counted.

    Args:
      texts: list of str.
      stride: int; default: half of a window.

    Raises:
      ValueError: the model has a decoder, the texts have not two tokens, or
        stride is not from 1 to the length of a window.

    Source: transformers, docs/source/en/perplexity.md.
    """
    model, tokenizer = self._opened.model, self.tokenizer
    if model.config.num_decoder_layers:
      raise ValueError(
        f"{self.checkpoint} has a decoder: perplexity is that of a model from"
        " left to right."
      )
    window = model.config.max_sequence_length
    stride = max(1, window // 2) if stride is None else stride
    options.check_integers(f"[1, {window}]", stride=stride)
    total, count = 0.0, 0
    for pieces in tokenizer.tokenize([*texts]).to_list():
      counted = 0
      for start in range(0, max(1, len(pieces)), stride):
        ids = np.array([pieces[start : start + window]], "int32")
        fresh = start + ids.shape[1] - max(counted, start + 1)
        if fresh > 0:
          logits = model({"input_ids": ids})["token_logits"][0]
          losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
            ids[0, 1:], logits[:-1]
          ).numpy()
          total, count = total + losses[-fresh:].sum(), count + fresh
        counted = start + ids.shape[1]
        if counted >= len(pieces):
          break
    if not count:
      raise ValueError("texts must have at least two tokens.")
    if not np.isfinite(total):
      raise ValueError(f"{self.checkpoint}: {servables.NO_NUMBERS}.")
    return float(np.exp(total / count))

  def _answer(self, row):
    self._check_room(row[servables.IS_CUT])
    return [
      {"text": text.decode(), "score": float(score), "num_tokens": int(number)}
      for text, score, number in zip(
        row["texts"], row["scores"], row["num_tokens"], strict=True
      )
    ]

  def _check_room(self, is_cut):
    """Raises ValueError if a text is cut that nobody said to cut."""
    said = self.max_seq_length or self._task.get("max_seq_length")
    if is_cut and said is None:
      served = self._servable
      raise ValueError(
        f"A prompt has more than {served.max_seq_length} tokens, or no room for"
        f" those after it, of which there may be {served.max_new_tokens}:"
        " shorten it, lower max_new_tokens, or give max_seq_length, to which"
        " prompts are cut then."
      )

  def _example(self, record, place, number):
    text, target = record.get("text"), record.get("target")
    if isinstance(text, list | tuple) and len(text) == 2 and target is None:
      text, target = text
    return pair_files.make_pair(
      str(number),
      records.checked_text(text, f"{place}.text"),
      records.checked_text(target, f"{place}.target"),
      place,
    )

  def _read_file(self, path, text_column="text", target_column="target"):
    source = pair_files.PairSource(text=text_column, label=target_column)
    return source.read([path], True, {})

  def _parts(self, run, splits, task_options):
    return generation_kind.make_parts(run, splits, task_options)
