"""Base classes of the three parts of a fine-tuning task.

  examples --Preprocessor--> rows --batches--> Task --outputs--> Evaluator

  Preprocessor   examples (texts and labels) to rows of ids
  base.Task      the model and its losses: all that the training loop needs
  Evaluator      outputs of the model to official scores and files

Each part is a frozen dataclass whose fields are its options: no call depends on
another one before it. `FineTuning` holds the three.

An example is a dataclass as in `tasks.examples`: `origin` names its place in a
file, for messages, and `is_labelled` says whether it can be learned or scored.
A row is a dict {column: array}. Axes: [n] is the length of the row, the same
for all of its ragged columns; a batch pads it to L.
"""

import abc
import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from keras_bert_impl.tasks.basics import task as base


class Column(NamedTuple):
  """A column of the rows: dtype, shape and padding.

  Attributes:
    dtype: "int32" or "float32"; of hidden states any that a model computes in.
    shape: tuple, shape of one row; a leading None means the length n, e.g. ()
      for a label, (7,) for whether each of 7 labels applies, (None,) for ids,
      (None, 4) for the ids of 4 choices. A leading name is another length, the
      same for all columns with it: ("target",) for the ids of a second text.
    padding: value that pads the rows of a batch to L, or to the longest of the
      other length.
    in_batch: bool, whether the model or the loss needs it; the other columns
      are for the `Evaluator`.
    is_transposed: bool, whether a batch has the last axis in front of L:
      (None, C) becomes [B, C, L].
  """

  dtype: str = "int32"
  shape: tuple = (None,)
  padding: int = 0
  in_batch: bool = True
  is_transposed: bool = False

  @property
  def is_ragged(self):
    """Whether its rows have different lengths."""
    return self.axis is None or isinstance(self.axis, str)

  @property
  def axis(self):
    """First entry of the shape: None, the length n; or a name, or a number."""
    return self.shape[0] if self.shape else 0


class Judgement(NamedTuple):
  """Judgement of N answers, for people.

  Attributes:
    gold: list of N str, the right answers.
    found: list of N str, the model's.
    is_right: bool [N].
    certainty: float [N], how sure the model was of its answer; of numbers, how
      far it was from the right one: mistakes are shown from the greatest on.
    measure: str, what that is.
    texts: list of N lists of str, what was answered; None: the examples.
  """

  gold: list
  found: list
  is_right: np.ndarray
  certainty: np.ndarray
  measure: str = "probability"
  texts: list | None = None


class BilstmTask(base.Task):
  """A task whose head may read a BiLSTM on the encoder.

  Attributes:
    bilstm_width: int, units of the BiLSTM per direction; None without one.
  """

  bilstm_width = None

  @property
  def has_pooler(self):
    """Whether the head reads the encoder's pooler: none with a BiLSTM."""
    return self.bilstm_width is None

  @property
  def has_standard_head(self):
    """Whether other programs have such a head: none with a BiLSTM."""
    return self.bilstm_width is None


class Preprocessor(abc.ABC):
  """Examples to rows of ids. Abstract; a subclass is a frozen dataclass.

  Attributes:
    max_seq_length: int, most ids of a row.
    columns: {name: `Column`} of its rows; ids under `features.INPUT_IDS`.
    undescribed: tuple of str, fields that do not decide the ids and labels.
    reads_documents: bool, whether a row is as long as its example, so that the
      data say how long rows are.
  """

  max_seq_length: int
  columns: dict
  undescribed = ()
  reads_documents = False

  @property
  def longest_row(self):
    """The most ids of a row, with all that is put into it, int."""
    return self.max_seq_length

  @abc.abstractmethod
  def texts(self, example):
    """Returns the strings of an example that are tokenized, list of str."""

  @abc.abstractmethod
  def make_rows(self, examples, tokenizer, counts):
    """Yields rows {column: array}, in the order of the examples.

    An example gives one row or, if it is long, several. Columns of labels are
    in every row; what has no label gets 0 or the padding.

    Args:
      examples: list of the task's examples.
      tokenizer: of `tokenizers.load`.
      counts: `collections.Counter`, gets what has to be reported: examples left
        out, texts cut, answers relocated, ...
    """

  def describe(self):
    """Returns {option: JSON value} of everything that decides the rows."""
    fields = dataclasses.asdict(self).items()
    return _json({k: v for k, v in fields if k not in self.undescribed})

  def describe_use(self):
    """Returns {option: JSON value} of how the model reads texts elsewhere."""
    return {}


class Evaluator(abc.ABC):
  """Outputs of the model to scores and files. Abstract; as `Preprocessor`.

  Attributes:
    main_metric: str, the score that runs are selected by; more is better.
    baseline_name: str, what `baselines` are the scores of.
    shown_metrics: list of those of the scores that a summary shows; None: all.
    token_outputs: tuple of str, the outputs that have the axis L: [B, L, ...].
  """

  main_metric: str
  baseline_name = "best constant answer"
  shown_metrics = None
  token_outputs = ()

  @abc.abstractmethod
  def answers(self, examples, rows, outputs):
    """Returns the model's answer to each example, for the methods below.

    Args:
      examples: list of the task's examples.
      rows: `tfrecords.labelled.row_files.Rows` that were made of them:
        `rows["name"]` is the column as a list-like of arrays, or an array [N]
        of scalars.
      outputs: {output of the model: array [N, ...] or, of `token_outputs`,
        list of N arrays [n, ...]}.
    """

  @abc.abstractmethod
  def score(self, examples, answers):
    """Returns {metric: float}, the official ones; fractions, not per cent.

    Args:
      examples: list of the task's examples, all labelled.
      answers: as `answers` returns them.
    """

  @abc.abstractmethod
  def write(self, examples, answers, scores, folder):
    """Writes the files of predictions atomically in the official form.

    Args:
      examples: as `score`, labels not needed.
      answers: as `score`.
      scores: {metric: float} of `score`; of the dev set, if it has been scored,
        where these examples have no labels.
      folder: str, where to; its name is that of the split.

    Returns:
      {what: path}.
    """

  def plot(self, examples, answers, scores):
    """Returns a figure of the scores, of `pictures.new_figure`, or None."""
    return None

  def intervals(self, examples, answers, scores):
    """Returns {metric: `metrics.intervals.Interval`}, of those that have one.

    Args: as `write`, the examples labelled.
    """
    return {}

  def judge(self, examples, rows, outputs, answers, scores):
    """Returns the `Judgement` of the answers, or None: for the report.

    Args: as `answers` and `write`, the examples labelled.
    """
    return None

  def label_counts(self, examples):
    """Returns {label: number of labelled examples, or of parts of them}."""
    return {}

  def baselines(self, examples):
    """Returns {metric: float}, each of its own best constant answer.

    They are the scores of a run that diverged. Metrics whose baseline is not
    known are left out, but for the main one.
    """
    return {self.main_metric: 0.0}

  def baseline(self, examples):
    """Returns the main metric of the best constant answer, float.

    A run that does not beat it has learned nothing ("degenerate").
    """
    return self.baselines(examples)[self.main_metric]

  def describe(self):
    """Returns {option: JSON value} on which a later run must agree."""
    return {}


class Renewal(NamedTuple):
  """How the model in training makes the examples to learn from next.

  Attributes:
    epochs: int, after so many it does, and again; epochs are what ends with a
      checkpoint.
    make: function of a run that returns as many examples as there were.
  """

  epochs: int
  make: Callable


@dataclasses.dataclass(frozen=True)
class FineTuning:
  """A fine-tuning task: its three parts.

  Attributes:
    preprocessor: `Preprocessor`.
    task: `Task`.
    evaluator: `Evaluator`.
    write_model: function of a run, called once it is trained, which writes its
      model for other programs; None where the checkpoints are all.
    used_with: {option of the servable: JSON value}, as which the model is used
      later on; another run may go on with others.
    more_outputs: function (run, split) -> {output: object} beside those of the
      model, for the evaluator; None without.
    renewal: `Renewal`, or None where all epochs read the same.
  """

  preprocessor: Preprocessor
  task: base.Task
  evaluator: Evaluator
  write_model: Callable | None = None
  used_with: dict = dataclasses.field(default_factory=dict)
  more_outputs: Callable | None = None
  renewal: Renewal | None = None

  def describe(self):
    """Returns {name: JSON value} for servers and later runs."""
    return {
      "head": self.task.head,
      **self.preprocessor.describe_use(),
      **self.preprocessor.describe(),
      **self.evaluator.describe(),
      **_json(self.task.describe()),
    }


def add_counts(counts, numbers):
  """Adds {what: number} to `counts`, as of `Preprocessor.make_rows`.

  What did not happen is not reported.
  """
  for what, number in numbers.items():
    if number:
      counts[what] += int(number)


def softmax(logits):
  """Returns the probabilities over the last axis, float32 as `logits`."""
  shifted = np.exp(logits - np.max(logits, axis=-1, keepdims=True))
  return shifted / np.sum(shifted, axis=-1, keepdims=True)


def _json(options):
  """Converts options to plain JSON values: tuples to lists."""
  return {
    name: list(value) if isinstance(value, tuple) else value
    for name, value in options.items()
  }
