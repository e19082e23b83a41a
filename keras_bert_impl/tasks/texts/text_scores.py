"""Scores and files of classification and regression, as for GLUE."""

import collections
import dataclasses
import os

import numpy as np

from keras_bert_impl.metrics import classification, intervals
from keras_bert_impl.tasks.basics import fine_tuning, prediction_files

# A number is called right within this share of the range of the true ones.
_NEAR = 0.1
# Of the range of numbers, to count them by.
_NUM_PARTS = 5


@dataclasses.dataclass(frozen=True)
class ClassEvaluator(fine_tuning.Evaluator):
  """Scores classes.

  Attributes:
    labels: tuple of str, names of the classes in the order of the logits.
    metrics: tuple of names in `metrics.classification.OF_CLASSES`; the first is
      the main one.
    submissions: {split: file name}, of the splits whose predictions are handed
      in to GLUE.

  Raises:
    ValueError: a metric is none of classes or, "f1", not of that many.
  """

  labels: tuple[str, ...]
  metrics: tuple[str, ...] = ("accuracy",)
  submissions: dict = dataclasses.field(default_factory=dict)

  def __post_init__(self):
    _check_metrics(self.metrics, classification.OF_CLASSES)
    of_two = sorted({"f1", "accuracy_and_f1"} & set(self.metrics))
    if of_two and len(self.labels) != 2:
      raise ValueError(
        f"metrics ({of_two[0]!r}) is for two classes, not {len(self.labels)}; "
        "take macro_f1."
      )

  @property
  def main_metric(self):
    """The first of the metrics."""
    return self.metrics[0]

  def answers(self, examples, rows, outputs):
    """Returns the logits, float32 [N, C]."""
    del examples, rows
    return outputs["logits"]

  def score(self, examples, answers):
    """Returns the metrics of the likeliest classes."""
    targets, found = self._targets(examples), np.argmax(answers, axis=-1)
    return {
      name: classification.OF_CLASSES[name](targets, found)
      for name in self.metrics
    }

  def baseline(self, examples):
    """Returns the score of always giving the same class."""
    return self._baseline(examples, self.main_metric)

  def baselines(self, examples):
    """Returns those of all metrics."""
    return {name: self._baseline(examples, name) for name in self.metrics}

  def write(self, examples, answers, scores, folder):
    """Writes predictions.tsv and, for GLUE, the file to hand in."""
    del scores
    probabilities = fine_tuning.softmax(answers)
    found = [self.labels[answer] for answer in np.argmax(answers, axis=-1)]
    columns = dict(zip(self.labels, probabilities.T, strict=True))
    ids = [example.id for example in examples]
    path = prediction_files.write(folder, ids, found, columns)
    return {"predictions": path} | _submit(self.submissions, folder, ids, found)

  def plot(self, examples, answers, scores):
    """Returns the confusion matrix: rows are true, columns predicted."""
    del scores
    found = np.argmax(answers, axis=-1)
    return prediction_files.plot_confusion(
      self._targets(examples), found, self.labels
    )

  def intervals(self, examples, answers, scores):
    """Returns those of all metrics, by resampling but for the accuracy."""
    del scores
    found = np.argmax(answers, axis=-1)
    return _intervals(
      classification.OF_CLASSES, self.metrics, self._targets(examples), found
    )

  def judge(self, examples, rows, outputs, answers, scores):
    """Returns the classes and the probability of those that were found."""
    del rows, outputs, scores
    found = np.argmax(answers, axis=-1)
    return fine_tuning.Judgement(
      [example.label for example in examples],
      [self.labels[answer] for answer in found],
      found == self._targets(examples),
      np.max(fine_tuning.softmax(answers), axis=-1),
    )

  def label_counts(self, examples):
    """Returns the numbers of the classes, in their order."""
    counts = collections.Counter(example.label for example in examples)
    return {label: counts[label] for label in self.labels}

  def describe(self):
    """Returns the metrics, by which the best run was selected."""
    return {"metrics": list(self.metrics)}

  def _baseline(self, examples, metric):
    score = classification.OF_CLASSES[metric]
    classes = range(len(self.labels))
    return _best_constant(score, self._targets(examples), classes)

  def _targets(self, examples):
    """Returns int32 [N]."""
    labels = [self.labels.index(example.label) for example in examples]
    return np.array(labels, np.int32)


@dataclasses.dataclass(frozen=True)
class NumberEvaluator(fine_tuning.Evaluator):
  """Scores numbers.

  Attributes:
    metrics: tuple of names in `metrics.classification.OF_NUMBERS`; the first is
      the main one.
    submissions: as `ClassEvaluator`.

  Raises:
    ValueError: a metric is none of numbers.
  """

  metrics: tuple[str, ...] = ("spearman", "pearson")
  submissions: dict = dataclasses.field(default_factory=dict)

  def __post_init__(self):
    _check_metrics(self.metrics, classification.OF_NUMBERS)

  @property
  def main_metric(self):
    """The first of the metrics."""
    return self.metrics[0]

  def answers(self, examples, rows, outputs):
    """Returns the numbers, float32 [N]."""
    del examples, rows
    return outputs["logits"][:, 0]

  def score(self, examples, answers):
    """Returns the metrics."""
    targets = self._targets(examples)
    return {
      name: classification.OF_NUMBERS[name](targets, answers)
      for name in self.metrics
    }

  def baseline(self, examples):
    """Returns the score of always giving the least or the greatest number."""
    return self._baseline(examples, self.main_metric)

  def baselines(self, examples):
    """Returns those of all metrics."""
    return {name: self._baseline(examples, name) for name in self.metrics}

  def write(self, examples, answers, scores, folder):
    """Writes predictions.tsv and, for GLUE, the file to hand in."""
    del scores
    ids = [example.id for example in examples]
    found = [*map(prediction_files.exact, answers)]
    path = prediction_files.write(folder, ids, found, {})
    # GLUE takes what is in the range of STS-B only.
    submitted = [f"{answer:.3f}" for answer in np.clip(answers, 0, 5)]
    return {"predictions": path} | _submit(
      self.submissions, folder, ids, submitted
    )

  def plot(self, examples, answers, scores):
    """Returns a picture of the predicted numbers over the true ones."""
    del scores
    return prediction_files.plot_scatter(self._targets(examples), answers)

  def intervals(self, examples, answers, scores):
    """Returns those of all metrics, by resampling."""
    del scores
    return _intervals(
      classification.OF_NUMBERS, self.metrics, self._targets(examples), answers
    )

  def judge(self, examples, rows, outputs, answers, scores):
    """Returns the numbers; right are those near the true one."""
    del rows, outputs, scores
    targets = self._targets(examples)
    distances = np.abs(answers - targets)
    return fine_tuning.Judgement(
      [f"{target:.4g}" for target in targets],
      [f"{answer:.4g}" for answer in answers],
      distances <= _NEAR * np.ptp(targets),
      distances,
      f"distance (right: up to {_NEAR:.0%} of the range)",
    )

  def label_counts(self, examples):
    """Returns how many are in each of some equal parts of the range."""
    targets = self._targets(examples)
    counts, edges = np.histogram(targets, _NUM_PARTS)
    return {
      f"{low:.4g} to {high:.4g}": int(count)
      for low, high, count in zip(edges, edges[1:], counts, strict=False)
    }

  def describe(self):
    """Returns the metrics, by which the best run was selected."""
    return {"metrics": list(self.metrics)}

  def _baseline(self, examples, metric):
    score = classification.OF_NUMBERS[metric]
    targets = self._targets(examples)
    return _best_constant(score, targets, (np.min(targets), np.max(targets)))

  def _targets(self, examples):
    """Returns float32 [N]."""
    return np.array([example.label for example in examples], np.float32)


def _check_metrics(names, known):
  for name in names:
    if name not in known:
      raise ValueError(f"metrics ({name!r}) must be among {', '.join(known)}.")


def _intervals(known, names, targets, found):
  """Returns {metric: `Interval`} of the metrics `names` of the `known` ones."""

  def scores(rows, weights):
    return {name: known[name](*rows.T, weights) for name in names}

  found_intervals = intervals.bootstrap(
    scores, np.stack([targets, found], axis=1)
  )
  if "accuracy" in names:
    found_intervals["accuracy"] = intervals.wilson(
      np.sum(targets == found), len(targets)
    )
  return found_intervals


def _best_constant(score, targets, constants):
  """Returns the best score of always answering one of `constants`."""
  return max(
    score(targets, np.full_like(targets, constant)) for constant in constants
  )


def _submit(submissions, folder, ids, found):
  """Writes GLUE's file if the split of `folder` has one."""
  split = os.path.basename(os.path.normpath(folder))
  if split not in submissions:
    return {}
  path = os.path.join(folder, submissions[split])
  return {"submission": prediction_files.write_submission(path, ids, found)}
