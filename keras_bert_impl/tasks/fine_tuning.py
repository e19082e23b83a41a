"""What the fine-tuning tasks have in common.

A task is on both sides of the model: it turns examples (text and labels) into
rows of ids, and what the model says of the rows into the official scores and
the files that are handed in. In between stands the training loop.

  examples --make_rows--> rows --batches--> model --outputs--> score, files

A row is a dict {column: array}. Axes: [n] is the length of the row, the same
for all of its ragged columns; a batch pads it to L.
"""

import abc
from typing import NamedTuple

import numpy as np

from keras_bert_impl.tasks import cross_entropy


class Column(NamedTuple):
  """What a column of the rows holds.

  Attributes:
    dtype: "int32" or "float32".
    shape: tuple of the shape of one row; None stands for [n] and comes first,
      e.g. () for a label, (None,) for ids, (None, 4) for those of 4 choices.
    padding: what fills the rows of a batch up to L.
    in_batch: bool, whether the model or the loss needs it; the other columns
      are for `score`.
    is_transposed: bool, whether a batch has the last axis in front of L:
      (None, C) becomes [B, C, L].
  """

  dtype: str = "int32"
  shape: tuple = (None,)
  padding: int = 0
  in_batch: bool = True
  is_transposed: bool = False


class FineTuningTask(cross_entropy.CrossEntropyTask):
  """A task with examples, official scores and files of predictions. Abstract.

  Args:
    config: `EncoderConfig`.
    max_seq_length: int, most ids of a row.

  Attributes:
    head: kind of head, of those in `checkpoints.names`.
    labels: tuple of str, names of the classes; None where there are none.
    main_metric: str, the score that runs are selected by; more is better.
    columns: {name: `Column`} of its rows.
    shown_metrics: list of those of the scores that a summary shows; None: all.
    has_token_outputs: bool, whether outputs have the axis L: [B, L, ...].
  """

  head = None
  labels = None
  shown_metrics = None
  has_token_outputs = False

  def __init__(self, config, max_seq_length):
    super().__init__(config)
    self.max_seq_length = max_seq_length

  @property
  @abc.abstractmethod
  def main_metric(self):
    """Name of the score that runs are selected by."""

  @property
  @abc.abstractmethod
  def columns(self):
    """{name: `Column`} of the rows; ids under `features.INPUT_IDS`."""

  @abc.abstractmethod
  def texts(self, example):
    """Returns what of an example is tokenized, list of str."""

  @abc.abstractmethod
  def make_rows(self, examples, tokenizer, counts):
    """Yields rows {column: array}, in the order of the examples.

    An example gives one row or, if it is long, several. Columns of labels are
    in every row; what has no label gets 0 or the padding.

    Args:
      examples: list of the task's examples.
      tokenizer: of `tokenizers.load`.
      counts: `collections.Counter`, gets what has to be told of: examples left
        out, texts cut, answers relocated, ...
    """

  @abc.abstractmethod
  def has_labels(self, examples):
    """Returns whether `score` can be asked about these examples."""

  @abc.abstractmethod
  def score(self, examples, rows, outputs):
    """Returns {metric: float}, the official ones; fractions, not per cent.

    Args:
      examples: list of the task's examples, with labels.
      rows: `tfrecords.labelled.rows.Rows` that were made of them:
        `rows["name"]` is the column as a list-like of arrays, or an array [N]
        of scalars.
      outputs: {output of the model: float32 [N, ...]} or, with
        `has_token_outputs`, {output: list of N float32 [n, ...]}.
    """

  @abc.abstractmethod
  def write_predictions(self, examples, rows, outputs, folder):
    """Writes the files of predictions in the official form; all or nothing.

    Args:
      examples: as `score`, labels not needed.
      rows: as `score`.
      outputs: as `score`.
      folder: str, where to.

    Returns:
      {what: path}.
    """

  def baseline(self, examples):
    """Returns the main metric of the best constant answer, float.

    A run that does not beat it has learned nothing ("degenerate").
    """
    del examples
    return 0.0

  def plot(self, examples, rows, outputs, path):
    """Draws what helps to judge the scores as PNG; returns whether it did."""
    del examples, rows, outputs, path
    return False

  def describe_use(self):
    """Returns {name: JSON value} of what a server must know besides `describe`.

    Runs that differ in it are the same run.
    """
    return {}

  def describe(self):
    """Returns {name: JSON value} of what a server or a later run must know."""
    return {
      "task": type(self).__name__,
      "head": self.head,
      "labels": self.labels and list(self.labels),
      "max_seq_length": self.max_seq_length,
    }


def softmax(logits):
  """Returns the probabilities over the last axis, float32 as `logits`."""
  shifted = np.exp(logits - np.max(logits, axis=-1, keepdims=True))
  return shifted / np.sum(shifted, axis=-1, keepdims=True)
