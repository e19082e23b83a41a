"""Scores and prediction files of texts that are written."""

import dataclasses
import json
import os
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_bert_impl import files
from keras_bert_impl.kinds.generation import token_ids
from keras_bert_impl.metrics import generation, intervals
from keras_bert_impl.tasks.basics import fine_tuning

METRICS = ("rougeL", "rouge1", "rouge2", "rougeLsum", generation.EXACT_MATCH)


class Written(NamedTuple):
  """A text that was written.

  Attributes:
    text: str.
    score: float, as of `search.Search`.
  """

  text: str
  score: float


@dataclasses.dataclass(frozen=True)
class GenerationEvaluator(fine_tuning.Evaluator):
  """Scores texts that are written.

  Attributes:
    tokenizer: of `tokenizers.load`.
    ends: tuple of int, ids after which a text is over.
    metrics: tuple of str, of `metrics.generation`, the main one first.

  Raises:
    ValueError: there is no such metric, or it needs what is not installed.
  """

  tokenizer: object
  ends: tuple[int, ...]
  metrics: tuple[str, ...] = METRICS

  baseline_name = "the text itself as answer"

  def __post_init__(self):
    generation.check(self.metrics)

  @property
  def main_metric(self):
    """The first of the metrics, by which runs are selected."""
    return self.metrics[0]

  def answers(self, examples, rows, outputs):
    """Returns the `Written` of each text."""
    texts = token_ids.texts(
      self.tokenizer,
      tf.constant(outputs["ids"]),
      tf.constant(outputs["num_tokens"]),
      self.ends,
    )
    return [
      Written(text.decode(), float(score))
      for text, score in zip(texts.numpy(), outputs["scores"], strict=True)
    ]

  def score(self, examples, answers):
    """Returns {metric: float in [0, 1]}."""
    return self._scored(examples, [answer.text for answer in answers])

  def baselines(self, examples):
    """Returns the scores of the texts that are read, as they are."""
    return self._scored(examples, [example.text for example in examples])

  def _scored(self, examples, texts):
    targets = [example.target for example in examples]
    return generation.score(targets, texts, self.metrics)

  def write(self, examples, answers, scores, folder):
    """Writes predictions.jsonl: id, prediction and, if known, target."""
    lines = []
    for example, answer in zip(examples, answers, strict=True):
      line = {"id": example.id, "prediction": answer.text}
      line |= {"target": example.target} if example.is_labelled else {}
      lines.append(json.dumps(line, ensure_ascii=False))
    path = os.path.join(folder, "predictions.jsonl")
    files.write_atomically(path, "\n".join(lines) + "\n")
    return {"predictions": path}

  def intervals(self, examples, answers, scores):
    """Returns the intervals of the metrics that are means over texts."""
    names = [name for name in self.metrics if name in generation.OF_TEXTS]
    if not names:
      return {}

    def means(rows, weights):
      found = weights @ rows / np.sum(weights, axis=-1, keepdims=True)
      return dict(zip(names, found.T, strict=True))

    return intervals.bootstrap(means, self._of_texts(examples, answers, names))

  def judge(self, examples, rows, outputs, answers, scores):
    """Returns the texts, the least like their targets first."""
    likeness = self._of_texts(examples, answers, ("rougeL", "exact_match"))
    return fine_tuning.Judgement(
      [example.target for example in examples],
      [answer.text for answer in answers],
      likeness[:, 1] == 1,
      1 - likeness[:, 0],
      "1 - ROUGE-L",
      [[example.text] for example in examples],
    )

  def _of_texts(self, examples, answers, names):
    """Returns the scores of each text, float [N, number of names]."""
    return generation.score_each(
      [example.target for example in examples],
      [answer.text for answer in answers],
      names,
    )
