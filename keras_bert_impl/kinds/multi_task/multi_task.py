"""Several tasks on one encoder, each with a head of its own.

Classes, scores and tags. The parts of a fine-tuning task, made of the parts of
the others: their examples stand together in the splits, and each names its
task. A batch may have rows of several tasks; all heads answer every row, and
only that of its task learns.

Source: Liu et al. 2019, "Multi-Task Deep Neural Networks for Natural Language
Understanding". Differs from it: a batch may have rows of several tasks.
"""

import dataclasses
import os

import numpy as np
from keras import ops

from keras_bert_impl import configs, features, heads, models
from keras_bert_impl.kinds.tags import token_classification
from keras_bert_impl.kinds.texts import (
  multi_label,
  sequence_classification,
  sequence_regression,
)
from keras_bert_impl.tasks.basics import cross_entropy, fine_tuning
from keras_bert_impl.tasks.basics import task as base


class _TagsOfRows(token_classification.TokenClassificationTask):
  """Tags, each row of which counts as much as one to classify."""

  def weights(self, batch):
    """Returns 1 in each row, in equal parts for its labelled tokens, [B, L]."""
    is_labelled = super().weights(batch)["tag"]
    number = ops.sum(is_labelled, axis=1, keepdims=True)
    return {"tag": is_labelled / ops.maximum(number, 1)}


_TASKS = {
  task.head: task
  for task in (
    multi_label.MultiLabelTask,
    sequence_classification.SequenceClassificationTask,
    sequence_regression.SequenceRegressionTask,
    _TagsOfRows,
  )
}
_TASK_IDS = "task_ids"
# Columns that a row has once, whatever its task.
_SHARED = (features.INPUT_IDS, features.SEGMENT_IDS)
# What metrics of the parts begin with.
_KINDS = ("label_", "tag_")
MEAN = "mean"


@dataclasses.dataclass(frozen=True)
class TaskExample:
  """An example of one of several tasks.

  Attributes:
    task: str, the name of the task.
    example: the example as its task has it.
  """

  task: str
  example: object

  @property
  def origin(self):
    """Its place in a file, for messages."""
    return self.example.origin

  @property
  def is_labelled(self):
    """Whether it can be learned or scored."""
    return self.example.is_labelled


@dataclasses.dataclass(frozen=True)
class MultiTaskPreprocessor(fine_tuning.Preprocessor):
  """Makes rows of `TaskExample`s: those of their tasks, with all columns.

  Attributes:
    max_seq_length: int, most ids of a row.
    parts: {task: `Preprocessor` of texts or tags}.
  """

  max_seq_length: int
  parts: dict

  @property
  def columns(self):
    """{name: `Column`}: ids, the number of the task, and those of each."""
    first = next(iter(self.parts.values()))
    own = {
      _of_task(column, name): kind
      for name, part in self.parts.items()
      for column, kind in part.columns.items()
      if column not in _SHARED
    }
    shared = {column: first.columns[column] for column in _SHARED}
    return {**shared, _TASK_IDS: fine_tuning.Column(shape=()), **own}

  def texts(self, example):
    """Returns the texts of the example."""
    return self.parts[example.task].texts(example.example)

  def make_rows(self, examples, tokenizer, counts):
    """Yields the rows of all examples, task by task; see `Preprocessor`."""
    columns = self.columns
    for number, (name, part) in enumerate(self.parts.items()):
      own = _examples_of(name, examples)
      for row in part.make_rows(own, tokenizer, counts):
        length = len(row[features.INPUT_IDS])
        row = {
          column if column in _SHARED else _of_task(column, name): values
          for column, values in row.items()
        }
        empty = {
          column: _empty(kind, length)
          for column, kind in columns.items()
          if column not in row
        }
        yield row | empty | {_TASK_IDS: number}

  def describe(self):
    """Returns {option: JSON value} of what decides the rows."""
    options = {name: part.describe() for name, part in self.parts.items()}
    return {
      "max_seq_length": self.max_seq_length,
      "tasks_of_pairs": [n for n, o in options.items() if o.get("text_pairs")],
      "tasks_of_tags": {n: o for n, o in options.items() if "tag_scheme" in o},
      "task_labels": {name: o["labels"] for name, o in options.items()},
    }


def _of_task(column, name):
  """Returns the name of a column of a task's own."""
  return f"{column}/{name}"


def _empty(kind, length):
  """Returns the values of a `Column` in a row of another task."""
  shape = (length, *kind.shape[1:]) if kind.is_ragged else kind.shape
  return np.full(shape, kind.padding, kind.dtype)


@dataclasses.dataclass(frozen=True)
class Described:
  """What task.json says of several tasks."""

  tasks: dict
  tasks_of_pairs: tuple[str, ...]
  tasks_of_tags: dict


@dataclasses.dataclass(frozen=True)
class MultiTask(base.Task):
  """Classifies, scores or tags texts, by a head for each task.

  The loss of a batch is the sum over the tasks of their mean losses, each times
  its share of the rows and its weight; that of a row of tags is their mean.

  Attributes:
    config: `EncoderConfig`.
    tasks: {name: `Task`, or what its `describe` says, with its head}.
    weights: {name: float}, factors of the losses other than 1.
    size_exponent: float, an epoch has rows of each task in proportion to their
      number to the power of this; 1 for each row once.
    shares: {name: float}, rows of each task in an epoch, relative to each
      other, in the place of these; {} without.

  Raises:
    ValueError: a task has another head; or tags are learned together with
      others by a model whose padding comes before the tokens (XLNet).
  """

  config: configs.EncoderConfig
  tasks: dict
  weights: dict = dataclasses.field(default_factory=dict)
  size_exponent: float = 1.0
  shares: dict = dataclasses.field(default_factory=dict)

  head = heads.MULTI_TASK

  def __post_init__(self):
    if self._of_tags and self.pads_left:
      raise ValueError(
        f"The tags of {', '.join(self._of_tags)} must be learned alone by"
        " XLNet, which has padding before the texts to classify and after those"
        " to tag."
      )

  @property
  def _of_tags(self):
    head = heads.TOKEN_CLASSIFICATION
    return [name for name, part in self.parts.items() if part.head == head]

  @property
  def has_pooler(self):
    """Whether a head reads the encoder's pooler."""
    return any(part.has_pooler for part in self.parts.values())

  @property
  def parts(self):
    """{name: `Task`}."""
    return {name: self._part(name, task) for name, task in self.tasks.items()}

  def _part(self, name, task):
    if isinstance(task, token_classification.TokenClassificationTask):
      return _TagsOfRows(self.config, task.labels)
    if isinstance(task, base.Task):
      return task
    if task.get("head") not in _TASKS:
      raise ValueError(
        f"tasks: {name} has the head {task.get('head')!r}, which must be one of"
        f" {', '.join(_TASKS)}."
      )
    labels = {"labels": tuple(task["labels"])} if task.get("labels") else {}
    return _TASKS[task["head"]](self.config, **labels)

  def build_model(self):
    """Returns a `MultiTaskClassifier`, its heads as those of the tasks."""
    model = models.MultiTaskClassifier(
      self.config,
      {name: len(part.labels or "1") for name, part in self.parts.items()},
      token_tasks=self._of_tags,
    )
    for name, part in self.parts.items():
      if part.head == heads.REGRESSION:
        bias = model.get_layer(f"{name}_classifier").output_bias
        bias.assign([part.mean_score])
    return model

  def describe(self):
    """Returns {option: JSON value} to build the same model again."""
    tasks = {
      name: {
        "head": part.head,
        "labels": part.labels and [*part.labels],
      }
      for name, part in self.parts.items()
    }
    return {"tasks": tasks}

  def describe_training(self):
    """Returns {option: JSON value} of what decides the training alone."""
    return {
      "task_weights": self.weights,
      "size_exponent": self.size_exponent,
      "task_shares": self.shares,
    }

  def groups(self, rows):
    """Returns the rows of each task and how many of them an epoch reads."""
    if self.size_exponent == 1 and not self.shares:
      return None
    tasks = rows[_TASK_IDS]
    places = [np.flatnonzero(tasks == k) for k in range(len(self.tasks))]
    shares = [len(of_task) ** self.size_exponent for of_task in places]
    if self.shares:
      shares = [self.shares[name] for name in self.tasks]
    bounds = np.rint(np.cumsum(shares) / np.sum(shares) * len(rows))
    quotas = np.diff(bounds.astype(int), prepend=0)
    return [*zip(places, map(int, quotas), strict=True)]

  def denominators(self, batch):
    """Returns the number of rows of the batch for each task."""
    return dict.fromkeys(self.tasks, ops.sum(cross_entropy.row_weights(batch)))

  def losses(self, batch, outputs):
    """Returns the sums over the rows of each task, times its weight."""
    return {
      name: self.weights.get(name, 1.0)
      * sum(part.losses(own, _outputs_of(name, outputs)).values())
      for name, part, own in self._batches(batch)
    }

  def metrics(self, batch, outputs):
    """Returns the metrics of each task, over its rows."""
    found = {"padding_share": cross_entropy.padding_share(batch)}
    for name, part, own in self._batches(batch):
      metrics = part.metrics(own, _outputs_of(name, outputs))
      found |= {
        f"{name}_{metric.removeprefix(kind)}": pair
        for metric, pair in metrics.items()
        for kind in _KINDS
        if metric.startswith(kind)
      }
    return found

  def _batches(self, batch):
    """Yields (name, `Task`, batch); rows of other tasks are padding."""
    mask = batch[features.INPUT_MASK]
    for number, (name, part) in enumerate(self.parts.items()):
      is_own = ops.cast(batch[_TASK_IDS] == number, mask.dtype)
      own = {
        features.INPUT_MASK: mask * is_own[:, None],
        features.LABEL_IDS: batch[_of_task(features.LABEL_IDS, name)],
      }
      yield name, part, batch | own


@dataclasses.dataclass(frozen=True)
class MultiTaskEvaluator(fine_tuning.Evaluator):
  """Scores each task by its own metrics, and their mean.

  Attributes:
    parts: {task: `Evaluator`}.
  """

  parts: dict

  main_metric = MEAN
  baseline_name = "best constant answers"

  @property
  def token_outputs(self):
    """The outputs of tags."""
    return tuple(
      f"{name}/{output}"
      for name, part in self.parts.items()
      for output in part.token_outputs
    )

  def answers(self, examples, rows, outputs):
    """Returns {task: (its examples, their answers)}."""
    found = {}
    for number, (name, part) in enumerate(self.parts.items()):
      own = _examples_of(name, examples)
      places = np.flatnonzero(rows[_TASK_IDS] == number)
      ending = _of_task("", name)
      own_rows = {
        column.removesuffix(ending): _at(rows[column], places)
        for column in rows.columns
        if column.endswith(ending)
      }
      logits = {"logits": _at(outputs[f"{name}/logits"], places)}
      if own:
        found[name] = own, part.answers(own, own_rows, logits)
    return found

  def score(self, examples, answers):
    """Returns the mean of the main metrics, and the metrics of each task."""
    return self._with_mean(
      {name: self.parts[name].score(*own) for name, own in answers.items()}
    )

  def baselines(self, examples):
    """Returns as `score`, of the best constant answers."""
    return self._with_mean(
      {
        name: part.baselines(own)
        for name, part in self.parts.items()
        if (own := _examples_of(name, examples))
      }
    )

  def write(self, examples, answers, scores, folder):
    """Writes the files of each task, in a folder of its own beside this one."""
    parent, split = os.path.split(os.path.normpath(folder))
    return {
      f"{name} {what}": path
      for name, own in answers.items()
      for what, path in self.parts[name]
      .write(*own, {}, os.path.join(parent, name, split))
      .items()
    }

  def intervals(self, examples, answers, scores):
    """Returns those of the metrics of each task."""
    return _prefixed(
      {
        name: self.parts[name].intervals(*own, self.parts[name].score(*own))
        for name, own in answers.items()
      }
    )

  def describe(self):
    """Returns the metrics, by which the best run was selected."""
    metrics = {name: part.main_metric for name, part in self.parts.items()}
    return {"task_metrics": metrics}

  def _with_mean(self, scores):
    """Returns {metric: float} of {task: scores}, the mean first."""
    main = [own[self.parts[name].main_metric] for name, own in scores.items()]
    return {MEAN: float(np.mean(main)), **_prefixed(scores)}


def _prefixed(values):
  """Returns {"<task>_<name>": value} of {task: {name: value}}."""
  return {
    f"{task}_{name}": value
    for task, own in values.items()
    for name, value in own.items()
  }


def _examples_of(name, examples):
  """Returns the examples of a task, as it has them."""
  return [each.example for each in examples if each.task == name]


def _at(values, places):
  """Returns some of the values by row, an array or a list of arrays."""
  if isinstance(values, np.ndarray):
    return values[places]
  return [values[place] for place in places]


def _outputs_of(name, outputs):
  """Returns the outputs of a task's head, under their usual names."""
  return {"logits": outputs[f"{name}/logits"]}
