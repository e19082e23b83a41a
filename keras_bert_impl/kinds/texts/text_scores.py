"""Scores and files of classification and regression, as for GLUE."""

import abc
import collections
import dataclasses
import os

import numpy as np

from keras_bert_impl.metrics import classification, intervals
from keras_bert_impl.tasks.basics import fine_tuning, prediction_files

# A number is called right within this share of the range of the true ones.
_NEAR = 0.1
# Metrics that are shares of the examples.
_SHARES = ("accuracy", "exact_match")
# Parts of the range of numbers, to count them by.
_NUM_PARTS = 5


class ValueEvaluator(fine_tuning.Evaluator):
  """Scores a value for each example. Abstract.

  Attributes:
    known: {name: metric}, of `metrics.classification`.
    metrics: tuple of names of `known`; the first is the main one.
    submissions: {split: file name}, of the splits whose predictions are handed
      in to GLUE.

  Raises:
    ValueError: a metric is none of `known`.
  """

  known: dict
  metrics: tuple
  submissions = {}

  def __post_init__(self):
    for name in self.metrics:
      if name not in self.known:
        raise ValueError(
          f"metrics ({name!r}) must be among {', '.join(self.known)}."
        )

  @property
  def main_metric(self):
    """The first of the metrics."""
    return self.metrics[0]

  @abc.abstractmethod
  def targets(self, examples):
    """Returns the true values, array [N] or, of several each, [N, C]."""

  @abc.abstractmethod
  def values(self, answers):
    """Returns the values that `answers` mean, an array as `targets`."""

  @abc.abstractmethod
  def constants(self, targets):
    """Returns the values, one of which is the best constant answer."""

  def score(self, examples, answers):
    """Returns the metrics of the values."""
    targets, found = self.targets(examples), self.values(answers)
    return {name: self.known[name](targets, found) for name in self.metrics}

  def baselines(self, examples):
    """Returns each metric of always giving the same value, the best one."""
    targets = self.targets(examples)
    return {
      name: max(
        self.known[name](targets, np.full_like(targets, constant))
        for constant in self.constants(targets)
      )
      for name in self.metrics
    }

  def intervals(self, examples, answers, scores):
    """Returns the interval of each metric; all but shares resample."""
    targets, found = self.targets(examples), self.values(answers)
    resampled = [name for name in self.metrics if name not in _SHARES]

    def scores_of(rows, weights):
      pairs = np.moveaxis(rows, 1, 0)
      return {name: self.known[name](*pairs, weights) for name in resampled}

    result = {}
    if resampled:
      pairs = np.stack([targets, found], axis=1)
      result = intervals.bootstrap(scores_of, pairs)
    for name in set(self.metrics) - set(resampled):
      num_right = round(scores[name] * len(targets))
      result[name] = intervals.wilson(num_right, len(targets))
    return {name: result[name] for name in self.metrics}

  def describe(self):
    """Returns the metrics, by which the best run was selected."""
    return {"metrics": list(self.metrics)}

  def write_values(self, examples, folder, values, columns, submitted=None):
    """Writes predictions.tsv and, for GLUE, the file to hand in.

    Args:
      examples: as `Evaluator.write`.
      folder: the same.
      values: list of N str.
      columns: as `prediction_files.write`.
      submitted: list of N str, what is handed in; default: the values.

    Returns:
      {what: path}.
    """
    ids = [example.id for example in examples]
    paths = {
      "predictions": prediction_files.write(folder, ids, values, columns)
    }
    split = os.path.basename(os.path.normpath(folder))
    if split in self.submissions:
      paths["submission"] = prediction_files.write_submission(
        os.path.join(folder, self.submissions[split]), ids, submitted or values
      )
    return paths


class LikeliestEvaluator(ValueEvaluator):
  """Scores the likeliest of some classes or choices. Abstract."""

  known = classification.OF_CLASSES

  def answers(self, examples, rows, outputs):
    """Returns the logits, float32 [N, C]."""
    return outputs["logits"]

  def values(self, answers):
    """Returns the likeliest, int [N]."""
    return np.argmax(answers, axis=-1)

  def constants(self, targets):
    """Returns the constant answers to compare with: all targets there are."""
    return np.unique(targets)

  @abc.abstractmethod
  def names(self, num_classes):
    """Returns the names of the classes in the files, C str."""

  @abc.abstractmethod
  def text(self, example, value):
    """Returns a class or choice as the report shows it, str."""

  def write(self, examples, answers, scores, folder):
    """Writes predictions.tsv: id, class, probability of each class."""
    names = self.names(answers.shape[1])
    found = [names[value] for value in self.values(answers)]
    columns = zip(names, fine_tuning.softmax(answers).T, strict=True)
    return self.write_values(examples, folder, found, dict(columns))

  def judge(self, examples, rows, outputs, answers, scores):
    """Returns the classes and the probability of those that were found."""
    targets, found = self.targets(examples), self.values(answers)
    return fine_tuning.Judgement(
      [*map(self.text, examples, targets)],
      [*map(self.text, examples, found)],
      found == targets,
      np.max(fine_tuning.softmax(answers), axis=-1),
    )


@dataclasses.dataclass(frozen=True)
class ClassEvaluator(LikeliestEvaluator):
  """Scores classes.

  Attributes:
    labels: tuple of str, names of the classes in the order of the logits.
    metrics: as `ValueEvaluator`.
    submissions: as `ValueEvaluator`.

  Raises:
    ValueError: a metric is none of classes or, "f1", not of that many.
  """

  labels: tuple[str, ...]
  metrics: tuple[str, ...] = ("accuracy",)
  submissions: dict = dataclasses.field(default_factory=dict)

  def __post_init__(self):
    super().__post_init__()
    of_two = sorted({"f1", "accuracy_and_f1"} & set(self.metrics))
    if of_two and len(self.labels) != 2:
      raise ValueError(
        f"metrics ({of_two[0]!r}) is for two classes, not {len(self.labels)}; "
        "take macro_f1."
      )

  def targets(self, examples):
    """Returns the numbers of the classes, int32 [N]."""
    labels = [self.labels.index(example.label) for example in examples]
    return np.array(labels, np.int32)

  def names(self, num_classes):
    """Returns the labels."""
    return self.labels

  def text(self, example, value):
    """Returns a label."""
    return self.labels[value]

  def plot(self, examples, answers, scores):
    """Returns the confusion matrix: rows are true, columns predicted."""
    return prediction_files.plot_confusion(
      self.targets(examples), self.values(answers), self.labels
    )

  def label_counts(self, examples):
    """Returns the numbers of the classes, in their order."""
    counts = collections.Counter(example.label for example in examples)
    return {label: counts[label] for label in self.labels}


@dataclasses.dataclass(frozen=True)
class NumberEvaluator(ValueEvaluator):
  """Scores numbers.

  Attributes:
    metrics: as `ValueEvaluator`.
    submissions: as `ValueEvaluator`.

  Raises:
    ValueError: a metric is none of numbers.
  """

  metrics: tuple[str, ...] = ("spearman", "pearson")
  submissions: dict = dataclasses.field(default_factory=dict)

  known = classification.OF_NUMBERS

  def answers(self, examples, rows, outputs):
    """Returns the numbers, float32 [N]."""
    return outputs["logits"][:, 0]

  def targets(self, examples):
    """Returns the numbers, float32 [N]."""
    return np.array([example.label for example in examples], np.float32)

  def values(self, answers):
    """Returns the answers as they are."""
    return answers

  def constants(self, targets):
    """Returns the least and the greatest number."""
    return np.min(targets), np.max(targets)

  def write(self, examples, answers, scores, folder):
    """Writes predictions.tsv and, for GLUE, the file to hand in."""
    found = [*map(prediction_files.exact, answers)]
    # GLUE takes what is in the range of STS-B only.
    submitted = [f"{answer:.3f}" for answer in np.clip(answers, 0, 5)]
    return self.write_values(examples, folder, found, {}, submitted)

  def plot(self, examples, answers, scores):
    """Returns a picture of the predicted numbers over the true ones."""
    return prediction_files.plot_scatter(self.targets(examples), answers)

  def judge(self, examples, rows, outputs, answers, scores):
    """Returns the numbers; right are those near the true one."""
    targets = self.targets(examples)
    distances = np.abs(answers - targets)
    return fine_tuning.Judgement(
      [f"{target:.4g}" for target in targets],
      [f"{answer:.4g}" for answer in answers],
      distances <= _NEAR * np.ptp(targets),
      distances,
      f"distance (right: up to {_NEAR:.0%} of the range)",
    )

  def label_counts(self, examples):
    """Returns how many are in each of some equal parts of the range.

    {} where there are none, as of pairs without scores to train on.
    """
    targets = self.targets(examples)
    if np.isnan(targets).any():
      return {}
    counts, edges = np.histogram(targets, _NUM_PARTS)
    return {
      f"{low:.4g} to {high:.4g}": int(count)
      for low, high, count in zip(edges, edges[1:], counts, strict=False)
    }
