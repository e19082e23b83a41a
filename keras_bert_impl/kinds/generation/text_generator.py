"""Generates text, from Python."""

import typing
import warnings
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from keras_bert_impl import heads, options
from keras_bert_impl.estimators import answering, records
from keras_bert_impl.kinds.generation import (
  generation_kind,
  generation_servable,
)

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


class TextGenerator(answering.Answering[str, list[Generated]]):
  """Generates the text that follows a prompt, or what a decoder writes of it.

      generator = kb.TextGenerator.from_checkpoint("skt/kogpt2-base-v2")
      generator.generate(["옛날에"], max_new_tokens=20, num_beams=4)
      # [[{"text": ..., "score": -1.2, "num_tokens": 20}]]

  Models from left to right, such as GPT-2, go on; BART and T5 write another
  text. The same prompt gives the same text in any batch, drawn texts too.

  Args:
    checkpoint: str, as of `from_checkpoint`.
    max_seq_length: int, most tokens of a prompt; default: as many as there is
      room for.
    **files: fields of `model_files.ModelFilesConfig`.
  """

  kind = generation_kind.KIND
  head = heads.GENERATION

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
      ValueError: a setting is wrong, a prompt is no str, or the logits are no
        numbers. Of a prompt that is cut, a warning says so.
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
      ValueError: an argument is no str, or prompt and candidate are longer than
        the model.
    """
    prompt = records.checked_text(prompt, "prompt")
    candidates = records.strings_of(candidates, "candidates")
    self._check_lengths(prompt, candidates)
    score = self._signature({}, generation_servable.SCORE)
    found = []
    for start in range(0, len(candidates), batch_size):
      part = candidates[start : start + batch_size]
      batch = {"text": [prompt] * len(part), "candidate": part}
      batch = {name: tf.constant(texts) for name, texts in batch.items()}
      answer = answering.outputs_of(self.checkpoint, score, batch)
      found += answer["score"].tolist()
    return found

  def _check_lengths(self, prompt, candidates):
    """Raises ValueError if a candidate has no room after the prompt."""
    config, tokenizer = self.model.config, self.tokenizer
    longest = config.longest_input
    if longest is None:
      return
    pieces = tokenizer.tokenize([prompt, *candidates])
    before, *lengths = pieces.row_lengths().numpy().tolist()
    before += tokenizer.num_special_tokens(1)
    if config.num_decoder_layers:
      before = 1  # The token that begins the text.
    for index, length in enumerate(lengths):
      if before + length > longest:
        raise ValueError(
          f"candidates[{index}] has {length} tokens, with what stands before it"
          f" {before + length}: {self.checkpoint} has {longest} positions."
        )

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
    return float(np.exp(total / count))

  def _answer(self, row):
    if row["is_cut"]:
      warnings.warn(
        "A prompt was cut to"
        f" {self._servable.max_seq_length} tokens, max_seq_length or what the"
        " model's positions leave of it.",
        stacklevel=4,
      )
    return [
      {"text": text.decode(), "score": float(score), "num_tokens": int(number)}
      for text, score, number in zip(
        row["texts"], row["scores"], row["num_tokens"], strict=True
      )
    ]
