"""Several tasks of texts on one encoder, each with a head of its own.

The parts of a fine-tuning task, made of the parts of the others: their examples
stand together in the splits, and each names its task. A batch may have rows of
several tasks; all heads answer every row, and only that of its task learns.

Source: Liu et al. 2019, "Multi-Task Deep Neural Networks for Natural Language
Understanding". Differs from it: a batch may have rows of several tasks.
"""

import dataclasses
import itertools
import operator
import os

import numpy as np
from keras import ops

from keras_bert_impl import configs, features, heads, models
from keras_bert_impl.tasks.basics import (
  cross_entropy,
  example_types,
  fine_tuning,
)
from keras_bert_impl.tasks.basics import task as base
from keras_bert_impl.tasks.texts import (
  multi_label,
  sequence_classification,
  sequence_regression,
)

_TASKS = {
  task.head: task
  for task in (
    multi_label.MultiLabelTask,
    sequence_classification.SequenceClassificationTask,
    sequence_regression.SequenceRegressionTask,
  )
}
_TASK_IDS = "task_ids"
MEAN = "mean"


@dataclasses.dataclass(frozen=True)
class TaskExample(example_types.TextExample):
  """A text or pair of one of several tasks.

  Attributes: as `TextExample`.
    task: str, the name of the task.
  """

  task: str = ""


@dataclasses.dataclass(frozen=True)
class MultiTaskPreprocessor(fine_tuning.Preprocessor):
  """Makes rows of `TaskExample`s: those of their tasks, with all label columns.

  Attributes:
    max_seq_length: int, most ids of a text or pair.
    parts: {task: `TextPreprocessor`}.
  """

  max_seq_length: int
  parts: dict

  @property
  def columns(self):
    """{name: `Column`}: ids, the number of the task, the labels of each."""
    first = next(iter(self.parts.values()))
    columns = {**first.columns, _TASK_IDS: fine_tuning.Column(shape=())}
    del columns[features.LABEL_IDS]
    return columns | {
      _labels_of(name): part.columns[features.LABEL_IDS]
      for name, part in self.parts.items()
    }

  def texts(self, example):
    """Returns the text or the pair."""
    return self.parts[example.task].texts(example)

  def make_rows(self, examples, tokenizer, counts):
    """Yields a row for each example; see `Preprocessor`."""
    labels = {
      name: np.zeros(column.shape, column.dtype)
      for name, column in self.columns.items()
      if name.startswith(features.LABEL_IDS)
    }
    numbers = {name: number for number, name in enumerate(self.parts)}
    of_task = operator.attrgetter("task")
    for name, group in itertools.groupby(examples, of_task):
      for row in self.parts[name].make_rows([*group], tokenizer, counts):
        label = row.pop(features.LABEL_IDS)
        own = {_TASK_IDS: numbers[name], _labels_of(name): label}
        yield row | labels | own

  def describe(self):
    """Returns {option: JSON value} of what decides the rows."""
    of_pairs = [name for name, part in self.parts.items() if part.text_pairs]
    labels = {n: part.describe()["labels"] for n, part in self.parts.items()}
    return {
      "max_seq_length": self.max_seq_length,
      "tasks_of_pairs": of_pairs,
      "task_labels": labels,
    }


@dataclasses.dataclass(frozen=True)
class MultiTask(base.Task):
  """Classifies and scores texts or pairs of texts, by a head for each task.

  The loss of a batch is the sum over the tasks of their mean losses, each times
  its share of the rows and its weight.

  Attributes:
    config: `EncoderConfig`.
    tasks: {name: `Task` of texts, or what its `describe` says, with its head}.
    weights: {name: float}, factors of the losses other than 1.
    size_exponent: float, an epoch has rows of each task in proportion to their
      number to the power of this; 1 for each row once.
    shares: {name: float}, rows of each task in an epoch, relative to each
      other, in the place of these; {} without.

  Raises:
    ValueError: a task is none of texts.
  """

  config: configs.EncoderConfig
  tasks: dict
  weights: dict = dataclasses.field(default_factory=dict)
  size_exponent: float = 1.0
  shares: dict = dataclasses.field(default_factory=dict)

  head = heads.MULTI_TASK
  has_pooler = True

  @property
  def parts(self):
    """{name: `Task`}."""
    return {name: self._part(name, task) for name, task in self.tasks.items()}

  def _part(self, name, task):
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
    return {
      name: sum(part.denominators(own).values())
      for name, part, own in self._batches(batch, is_masked=False)
    }

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
        metric.replace("label", name, 1): pair
        for metric, pair in metrics.items()
        if metric not in found
      }
    return found

  def _batches(self, batch, is_masked=True):
    """Yields (name, `Task`, batch); masked, rows of other tasks are padding."""
    for number, (name, part) in enumerate(self.parts.items()):
      mask = batch[features.INPUT_MASK]
      if is_masked:
        is_own = ops.cast(batch[_TASK_IDS] == number, mask.dtype)
        mask = mask * is_own[:, None]
      own = {
        features.INPUT_MASK: mask,
        features.LABEL_IDS: batch[_labels_of(name)],
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

  def answers(self, examples, rows, outputs):
    """Returns {task: (its examples, their answers)}."""
    found = {}
    for name, places in self._places(examples).items():
      own = [examples[place] for place in places]
      logits = {"logits": outputs[f"{name}/logits"][places]}
      found[name] = own, self.parts[name].answers(own, rows, logits)
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
        name: self.parts[name].baselines([examples[k] for k in places])
        for name, places in self._places(examples).items()
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
        name: self.parts[name].intervals(
          *own, {k: scores[f"{name}_{k}"] for k in self.parts[name].metrics}
        )
        for name, own in answers.items()
      }
    )

  def describe(self):
    """Returns the metrics, by which the best run was selected."""
    metrics = {name: [*part.metrics] for name, part in self.parts.items()}
    return {"task_metrics": metrics}

  def _places(self, examples):
    """Returns {task: places of its examples}, of those that have any."""
    places = {name: [] for name in self.parts}
    for place, example in enumerate(examples):
      places[example.task].append(place)
    return {name: own for name, own in places.items() if own}

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


def _labels_of(name):
  """Returns the name of the column of a task's labels."""
  return f"{features.LABEL_IDS}/{name}"


def _outputs_of(name, outputs):
  """Returns the outputs of a task's head, under their usual names."""
  return {"logits": outputs[f"{name}/logits"]}
