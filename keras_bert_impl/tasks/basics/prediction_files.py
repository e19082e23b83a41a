"""Writes predictions for people and for GLUE, and plots them."""

import os

import numpy as np

from keras_bert_impl import files
from keras_bert_impl.tasks.basics import pictures

PREDICTIONS_NAME = "predictions.tsv"
# More classes than this leave no room for numbers in their cells.
_MOST_NUMBERED = 20


def write(folder, ids, labels, columns):
  """Writes predictions.tsv: id, label, and other columns (probabilities).

  Args:
    folder: str.
    ids: list of N str.
    labels: list of N str.
    columns: {name: float [N]}.

  Returns:
    str, its path.
  """
  path = os.path.join(folder, PREDICTIONS_NAME)
  lines = [("id", "label", *columns)]
  for name, label, *values in zip(ids, labels, *columns.values(), strict=True):
    lines.append((name, label, *map(exact, values)))
  return _write_tsv(path, lines)


def exact(value):
  """Returns the shortest str that identifies a float32."""
  return str(np.float32(value))


def write_submission(path, ids, predictions):
  """Writes predictions in GLUE's form; returns `path`.

  Source: gluebenchmark.com, FAQ.
  """
  lines = zip(ids, predictions, strict=True)
  return _write_tsv(path, [("index", "prediction"), *lines])


def plot_confusion(targets, answers, labels):
  """Returns a figure of the confusion matrix of classes.

  Args:
    targets: int [N], true.
    answers: int [N], predicted.
    labels: tuple of C str.
  """
  counts = np.zeros((len(labels), len(labels)), int)  # [C, C]
  np.add.at(counts, (targets, answers), 1)
  shares = counts / np.maximum(1, counts.sum(axis=1, keepdims=True))
  size = 4 + 0.25 * len(labels)
  canvas = pictures.new_figure(size, size)
  axes = canvas.add_subplot()
  axes.imshow(pictures.shaded(shares))
  ticks = range(len(labels))
  axes.set_xticks(ticks, labels, rotation=45, ha="right")
  axes.set_yticks(ticks, labels)
  axes.set_xlabel("predicted")
  axes.set_ylabel("true")
  if len(labels) <= _MOST_NUMBERED:
    for row in ticks:
      for column in ticks:
        text = f"{counts[row, column]:,}"
        axes.text(column, row, text, ha="center", va="center")
  return canvas


def plot_scatter(targets, answers):
  """Returns a figure of predicted over true numbers, float [N] both."""
  canvas = pictures.new_figure(5, 5)
  axes = canvas.add_subplot()
  axes.plot(targets, answers, ".", alpha=0.4)
  low, high = np.min(targets), np.max(targets)
  axes.plot([low, high], [low, high], "--", color="gray", linewidth=1)
  axes.set_xlabel("true")
  axes.set_ylabel("predicted")
  axes.grid(alpha=0.3)
  return canvas


def _write_tsv(path, lines):
  """Writes lines of fields; white space in a field becomes one blank."""
  text = "".join(
    "\t".join(" ".join(field.split()) for field in line) + "\n"
    for line in lines
  )
  files.write_atomically(path, text)
  return path
