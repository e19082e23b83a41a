"""How likely texts are, for a model that writes them."""

import typing
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from keras_bert_impl import options
from keras_bert_impl.estimators import answering, estimator, records, typed
from keras_bert_impl.kinds.generation import candidates as candidates_lib
from keras_bert_impl.kinds.generation import (
  few_shot,
  generation_servable,
  text_windows,
)
from keras_bert_impl.serving import servables
from keras_bert_impl.tasks.basics import example_types


class FewShot(typing.TypedDict):
  """What `few_shot` returns."""

  scores: dict[str, float]
  answers: list[few_shot.Answer]


class TextProbabilities(estimator.Estimator[answering.Input, answering.Answer]):
  """A model that says how likely texts are. Abstract."""

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
      decoder with those that begin and end a text.

    Raises:
      ValueError: the model has no room for a prompt with a candidate, unless
        max_seq_length says where to cut prompts.
    """
    prompt = records.checked_text(prompt, "prompt")
    candidates = records.strings_of(candidates, "candidates")
    return [
      score
      for score, _ in self._scored(
        [prompt] * len(candidates), candidates, batch_size
      )
    ]

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
    window = self._window()
    stride = max(1, window // 2) if stride is None else stride
    options.check_integers(f"[1, {window}]", stride=stride)
    windows = [
      each
      for pieces in self.tokenizer.tokenize([*texts]).to_list()
      for each in text_windows.sliding(pieces, window, stride)
    ]
    total, count = self._log_likelihood(windows)
    return float(np.exp(-total / count))

  def rolling_perplexity(self, texts: Sequence[str]) -> dict[str, float]:
    """Returns perplexities that do not depend on the vocabulary.

    A text is read in windows of as many tokens as the model has positions, in
    which each token counts once, the first one too.

    Args:
      texts: list of str, documents.

    Returns:
      {"word_perplexity", "byte_perplexity", "bits_per_byte"}: of the words
      between white space and the bytes (UTF-8) of the texts, as
      lm-evaluation-harness has them.

    Raises:
      ValueError: the model has a decoder, or none that begins a text; or the
        texts have no tokens.
    """
    texts, window = records.strings_of(texts, "texts"), self._window()
    _, servable = self._scoring()
    ids, mask, _ = servable.prompts(tf.constant([""]))
    begin = ids[mask > 0].numpy()
    if not begin.size:
      raise ValueError(
        f"{self.checkpoint} has no token that begins a text: give its"
        " config.json bos_token_id."
      )
    windows = [
      each
      for pieces in self.tokenizer.tokenize([*texts]).to_list()
      for each in text_windows.rolling(pieces, window, begin[-1])
    ]
    total, _ = self._log_likelihood(windows)
    return text_windows.per_unit(total, texts)

  def few_shot(
    self,
    data: typed.Data,
    examples: typed.Data = (),
    num_examples: int | None = None,
    random_seed: int = 0,
    separator: str = few_shot.SEPARATOR,
    batch_size: int = 32,
  ) -> FewShot:
    r"""Answers questions by their likeliest choices, after examples.

        generator.few_shot(
          [{"text": "Q: 2 + 2?\nA:", "choices": ["4", "5"], "label": 0}],
          [{"text": "Q: 1 + 1?\nA:", "choices": ["2", "3"], "label": 0}],
        )["scores"]["acc"]

    A prompt is the texts of some examples, each with its right choice after a
    blank, between them an empty line, and the text of the question.

    Args:
      data: list of {"text", "choices", "label"}, questions; label is the number
        of the right choice from 0, and may be missing.
      examples: the same, with labels.
      num_examples: int, how many each prompt has, as far as there is room;
        default: all.
      random_seed: int, by which each question draws its examples.
      separator: str, what stands between examples.
      batch_size: int, choices at once.

    Returns:
      {"scores": {metric: float}, "answers": list of `few_shot.Answer`}. A
      choice is the likeliest by the logarithm of its probability: of the sum
      (acc), or divided by its characters (acc_norm), bytes (acc_bytes) or
      tokens (acc_tokens); each also as METRIC_stderr.

    Raises:
      ValueError: data are wrong, examples are too few, or a question has no
        room.

    Source: Brown et al. 2020; EleutherAI/lm-evaluation-harness.
    """
    questions = _questions_of(data, "data")
    shown = _questions_of(examples, "examples") if len(examples) else []
    number = len(shown) if num_examples is None else num_examples
    options.check_integers("[0, inf)", num_examples=number)
    options.check_integers(options.SEEDS, random_seed=random_seed)
    separator = records.checked_text(separator, "separator")
    answers = few_shot.ask(
      self, questions, shown, number, random_seed, separator, batch_size
    )
    scores = few_shot.score(questions, answers)
    return {"scores": scores, "answers": answers}

  def _window(self):
    """Returns how many tokens a model from left to right reads at once."""
    config = self._opened.model.config
    if config.num_decoder_layers:
      raise ValueError(
        f"{self.checkpoint} has a decoder: perplexity is that of a model from"
        " left to right."
      )
    return config.max_sequence_length

  def _log_likelihood(self, windows):
    """Returns what `text_windows.log_likelihood` does, checked."""
    model, length = self._opened.model, self._window()
    total, count = text_windows.log_likelihood(model, windows, length)
    if not count:
      raise ValueError("texts must have at least two tokens.")
    if not np.isfinite(total):
      raise ValueError(f"{self.checkpoint}: {servables.NO_NUMBERS}.")
    return total, count

  def _scored(self, prompts, candidates, batch_size):
    """Returns the score of each candidate and how many tokens it has."""
    (score, _), found = self._scoring(), []
    for start in range(0, len(candidates), batch_size):
      part = slice(start, start + batch_size)
      batch = {"text": prompts[part], "candidate": candidates[part]}
      batch = {name: tf.constant(values) for name, values in batch.items()}
      answer = answering.outputs(self.checkpoint, score, batch)
      self._check_room(answer[servables.IS_CUT].any())
      numbers = answer["num_tokens"].tolist()
      found += zip(answer["score"].tolist(), numbers, strict=True)
    return found

  def _scoring(self):
    """Returns the signature `score`, and the servable that it is of."""
    # So that there is as much room as can be for prompts.
    values = {"max_new_tokens": 1}
    signature = self._signature(values, generation_servable.SCORE)
    return signature, self._servable

  def _have_room(self, prompts, candidates):
    """Returns whether each prompt has room with a candidate, list of bool."""
    _, servable = self._scoring()
    texts = tf.constant(prompts), tf.constant(candidates)
    return candidates_lib.have_room(servable, *texts).numpy().tolist()

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


def _questions_of(data, name):
  """Returns the `MultipleChoiceExample`s of what `few_shot` is given, list."""
  questions = []
  fields = ("text", "choices", "label")
  for place, record in records.read(data, None, fields, name):
    choices = records.strings_of(record.get("choices"), f"{place}.choices")
    label = record.get("label")
    if label is not None or name != "data":
      label = records.index_of(label, len(choices), f"{place}.label")
    text = records.text_of(record, "text", place)
    questions.append(
      example_types.MultipleChoiceExample(place, text, choices, label, place)
    )
  return questions
