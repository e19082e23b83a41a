"""Early stopping: ends a run when its dev scores stop improving."""

import os

import numpy as np
from absl import logging

from keras_bert_impl.training import run_log, savers

EVALUATIONS_NAME = "eval_log.jsonl"
_BEST = "best"


class EarlyStopping:
  """Scores the dev set at each checkpoint; keeps the best one.

  Args:
    run: `Run`.
    patience: int, evaluations without a better score before training ends; 0
      only scores, and neither ends the training nor keeps a checkpoint.
    score: callable without arguments -> {metric: float} of the dev set.

  Raises:
    ValueError: the run has no dev set with labels.
  """

  def __init__(self, run, patience, score):
    self._run = run
    self._patience = patience
    self._score = score
    self._main_metric = run.fine_tuning.evaluator.main_metric
    if run.data.selecting_split is None:
      raise ValueError(
        "--early_stopping_patience needs a dev set with labels: give one, or 0"
        " to train to the end."
      )
    self._lines = run_log.JsonLines(
      os.path.join(run.output_dir, EVALUATIONS_NAME)
    )

  def __call__(self, step):
    """Returns whether to stop at `step`."""
    self._lines.cut(step)
    if step not in [entry["step"] for entry in self._lines.read()]:
      scores = self._score()
      logging.info("Step %d: %s.", step, scores)
      is_best = scores[self._main_metric] > max(self._values(), default=-np.inf)
      if self._patience and is_best:
        self._best_saver().save(step)
      self._lines.append({"step": step, **scores})
    values = self._values()
    num_worse = len(values) - 1 - int(np.argmax(values))
    return bool(self._patience) and num_worse >= self._patience

  def scores(self):
    """Returns the scores of the last evaluation, {metric: float}."""
    last = self._lines.read()[-1]
    return {name: value for name, value in last.items() if name != "step"}

  def restore_best(self):
    """Makes the best checkpoint the last one; returns its step.

    Raises:
      ValueError: it is not there any more, or damaged.
    """
    experiment = self._run.experiment
    if self._best_saver().restore_latest() is None:
      raise ValueError(
        f"output_dir ({self._run.output_dir}) has lost the checkpoint of its"
        " best step: choose another --output_dir to train again."
      )
    experiment.saver.save(experiment.loop.step)
    return experiment.loop.step

  def remove_best(self):
    """Deletes the copy of the best checkpoint."""
    savers.remove_all(self._best_saver().output_dir)

  def _values(self):
    """Returns the scores so far, list of float."""
    return [entry[self._main_metric] for entry in self._lines.read()]

  def _best_saver(self):
    folder = os.path.join(self._run.output_dir, _BEST)
    return self._run.experiment.saver.in_folder(folder)
