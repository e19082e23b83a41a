"""A new fine-tuning task in one file: any number of labels for each text.

This is the example of docs/extending.md.
"""

import dataclasses
import os

import numpy as np
import tensorflow as tf
from keras import ops

from keras_bert_impl import configs, features, files, models
from keras_bert_impl.serving import row_batches, servables
from keras_bert_impl.tasks.basics import cross_entropy, fine_tuning, task
from keras_bert_impl.tasks.texts import text_rows


@dataclasses.dataclass(frozen=True)
class MultiLabelExample:
  """A text and its labels, tuple of str; None where they are unknown."""

  text: str
  labels: tuple[str, ...] | None = None
  origin: str = ""

  @property
  def is_labelled(self):
    return self.labels is not None


@dataclasses.dataclass(frozen=True)
class MultiLabelPreprocessor(fine_tuning.Preprocessor):
  """Rows with a column for each label: 1 if the text has it, else 0."""

  max_seq_length: int
  labels: tuple[str, ...]

  @property
  def columns(self):
    return {
      features.INPUT_IDS: fine_tuning.Column(),
      features.SEGMENT_IDS: fine_tuning.Column(),
      **{f"is_{label}": fine_tuning.Column(shape=()) for label in self.labels},
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
        **{f"is_{x}": int(x in (example.labels or ())) for x in self.labels},
      }


@dataclasses.dataclass(frozen=True)
class MultiLabelTask(task.Task):
  """A logit for each label, by binary cross-entropy."""

  config: configs.EncoderConfig
  labels: tuple[str, ...]

  head = "multi_label"

  def build_model(self):
    return models.SequenceClassifier(self.config, len(self.labels))

  def denominators(self, batch):
    return {"labels": len(self.labels) * ops.sum(_weights(batch))}

  def losses(self, batch, outputs):
    targets = ops.stack([batch[f"is_{x}"] for x in self.labels], axis=-1)
    losses = ops.binary_crossentropy(
      ops.cast(targets, "float32"), outputs["logits"], from_logits=True
    )  # [B, C]
    return {"labels": ops.sum(_weights(batch)[:, None] * losses)}

  def metrics(self, batch, outputs):
    return {
      "padding_share": cross_entropy.padding_share(batch),
      "labels_loss": (
        self.losses(batch, outputs)["labels"],
        self.denominators(batch)["labels"],
      ),
    }


@dataclasses.dataclass(frozen=True)
class MultiLabelEvaluator(fine_tuning.Evaluator):
  """Scores by the share of texts whose labels are all right, and no other."""

  labels: tuple[str, ...]

  main_metric = "exact_match"

  def answers(self, examples, rows, outputs):
    return [
      tuple(np.array(self.labels)[logits > 0]) for logits in outputs["logits"]
    ]

  def score(self, examples, answers):
    pairs = zip(examples, answers, strict=True)
    return {"exact_match": float(np.mean([e.labels == a for e, a in pairs]))}

  def write(self, examples, answers, scores, folder):
    path = os.path.join(folder, "predictions.txt")
    files.write_atomically(path, "\n".join(map(" ".join, answers)) + "\n")
    return {"predictions": path}


class MultiLabelServable(servables.Servable):
  """Text to the probability of each label."""

  head = "multi_label"

  def answer(self, text):
    model = self.load_model()
    rows, _ = self.encode(text)
    logits = row_batches.map_rows(
      lambda rows: model(rows)["logits"],
      rows,
      tf.TensorSpec([len(self.labels)], tf.float32),
    )
    return {"probabilities": tf.sigmoid(logits)}


def _weights(batch):
  return cross_entropy.row_weights(batch)
