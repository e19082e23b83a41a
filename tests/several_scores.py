"""A new fine-tuning task in one file: several scores for each text.

This is the example of docs/extending.md.
"""

import dataclasses
import os

import numpy as np
import tensorflow as tf
from keras import ops

from keras_bert_impl import configs, features, files, models
from keras_bert_impl.kinds.texts import text_rows
from keras_bert_impl.serving import row_batches, servables
from keras_bert_impl.tasks.basics import cross_entropy, fine_tuning, task


@dataclasses.dataclass(frozen=True)
class ScoredExample:
  """A text and its scores, tuple of float; None where they are unknown."""

  text: str
  scores: tuple[float, ...] | None = None
  origin: str = ""

  @property
  def is_labelled(self):
    return self.scores is not None


@dataclasses.dataclass(frozen=True)
class ScoresPreprocessor(fine_tuning.Preprocessor):
  """Rows of a text and its scores."""

  max_seq_length: int
  labels: tuple[str, ...]

  @property
  def columns(self):
    return {
      features.INPUT_IDS: fine_tuning.Column(),
      features.SEGMENT_IDS: fine_tuning.Column(),
      "scores": fine_tuning.Column("float32", (len(self.labels),)),
    }

  def texts(self, example):
    return [example.text]

  def make_rows(self, examples, tokenizer, counts):
    texts = [example.text for example in examples]
    rows = text_rows.iter_rows(
      texts, None, tokenizer, self.max_seq_length, counts
    )
    for example, (input_ids, segment_ids) in zip(examples, rows, strict=True):
      yield {
        features.INPUT_IDS: input_ids,
        features.SEGMENT_IDS: segment_ids,
        "scores": example.scores or len(self.labels) * (0.0,),
      }


@dataclasses.dataclass(frozen=True)
class ScoresTask(task.Task):
  """Several scores, whose names are the labels, by the mean squared error."""

  config: configs.EncoderConfig
  labels: tuple[str, ...]

  head = "several_scores"

  def build_model(self):
    return models.SequenceClassifier(self.config, len(self.labels))

  def denominators(self, batch):
    return {"scores": len(self.labels) * ops.sum(_weights(batch))}

  def losses(self, batch, outputs):
    errors = outputs["logits"] - batch["scores"]  # [B, C]
    return {"scores": ops.sum(_weights(batch)[:, None] * errors**2)}

  def metrics(self, batch, outputs):
    return {
      "padding_share": cross_entropy.padding_share(batch),
      "scores_loss": (
        self.losses(batch, outputs)["scores"],
        self.denominators(batch)["scores"],
      ),
    }


@dataclasses.dataclass(frozen=True)
class ScoresEvaluator(fine_tuning.Evaluator):
  """Scores by the share of the scores that are right to one half."""

  main_metric = "near"

  def answers(self, examples, rows, outputs):
    return outputs["logits"]

  def score(self, examples, answers):
    errors = answers - np.array([example.scores for example in examples])
    return {"near": float(np.mean(np.abs(errors) < 0.5))}

  def write(self, examples, answers, scores, folder):
    path = os.path.join(folder, "predictions.txt")
    lines = (" ".join(map(str, row)) + "\n" for row in answers)
    files.write_atomically(path, "".join(lines))
    return {"predictions": path}


class ScoresServable(servables.Servable):
  """Text to its scores."""

  head = "several_scores"

  def answer(self, text):
    model = self.load_model()
    rows, _ = self.encode(text)
    logits = row_batches.map_rows(
      lambda rows: model(rows)["logits"],
      rows,
      tf.TensorSpec([len(self.labels)], tf.float32),
    )
    return {"scores": logits}


def _weights(batch):
  return cross_entropy.row_weights(batch)
