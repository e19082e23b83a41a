"""One fine-tuning run in its folder: training, scores, files and report."""

import dataclasses
import gc
import os
import time

import keras
from absl import logging

from keras_bert_impl import files
from keras_bert_impl.checkpoints import reading
from keras_bert_impl.checkpoints.descriptions import config_json, description
from keras_bert_impl.checkpoints.naming import names
from keras_bert_impl.model_folders import run_folder, task_file
from keras_bert_impl.reports import report_page
from keras_bert_impl.runs.fine_tuning import (
  early_stopping,
  fine_tuning_report,
  predictions,
  report_material,
  run_setup,
)
from keras_bert_impl.runs.labelled_data import hidden_states
from keras_bert_impl.tasks.basics import pictures
from keras_bert_impl.training import experiment as experiment_lib
from keras_bert_impl.training import run_configuration, savers
from keras_bert_impl.training import run_results as report

# The split whose thresholds are used for splits without labels.
_DEV = "dev"
_UNTRAINED = (
  "Train the missing weights with --do_train, or give the configuration of the"
  " checkpoint."
)


class Run:
  """One fine-tuning run.

  Args:
    setup: `run_setup.Setup`.
    output_dir: str.
    **values: values that replace those of the setup: fields of
      `TrainingConfig` or `FineTuningConfig`.

  Attributes:
    output_dir: as given.
    values: as given.
    folder: `RunFolder`.
    plan: `run_setup.Plan`.
    data: `fine_tuning_data.Data`.
    evaluator: `Evaluator`.
    settings: `FineTuningConfig`, with the values.
  """

  def __init__(self, setup, output_dir, **values):
    self.output_dir = output_dir
    self.values = values
    self.data = setup.data
    self.evaluator = setup.fine_tuning.evaluator
    self._setup = setup
    self.plan = run_setup.Plan(setup, output_dir, values)
    self.settings = self.plan.settings
    self.folder = run_folder.RunFolder(output_dir)
    self._experiment = None

  @property
  def results(self):
    """The content of results.json, dict."""
    return self.folder.results

  @property
  def is_scored(self):
    """Whether all splits except test sets have been evaluated."""
    evaluated = self.results.get("eval", {})
    return all(split in evaluated for split in self.data.dev_splits)

  @property
  def scores(self):
    """{metric: float}, scores of the split that selects runs, or {}."""
    return report.scores_of(self.results, self.data.selecting_split)

  @property
  def experiment(self):
    """The `Experiment`, built at first use."""
    if self._experiment is None:
      is_training = self.settings.do_train
      config = self.plan.training_config()
      self._experiment = experiment_lib.Experiment(
        self._setup.fine_tuning.task,
        config,
        self.plan.fixed(),
        # Training can start from a random head; predictions cannot.
        required_prefixes=names.ENCODER_PREFIXES if is_training else ("",),
        remedy=None if is_training else _UNTRAINED,
      ).start()
      if not is_training:
        _check_checkpoints(
          self._setup, self.settings.members, config.init_checkpoint
        )
      _keep_model_files(self.folder, self._setup, self._experiment.model.config)
    return self._experiment

  def check_same(self):
    """Checks that the run in the folder has this configuration and data.

    Raises:
      ValueError: they differ; the message names the difference.
    """
    run_configuration.check_same(self.plan.training_config(), self.plan.fixed())
    where = self.folder.join(report.RESULTS_NAME)
    for split in self.data.dev_splits:
      evaluation = files.field(self.results["eval"], split, dict, where)
      rows = files.field(evaluation, "rows", str, where)
      if rows != self.data.fingerprint(split):
        raise ValueError(
          f"output_dir ({self.output_dir}) has scores of other {split}"
          " examples: choose another --output_dir."
        )

  def train(self):
    """Trains to the last step."""
    if _is_trained(self):
      print(f"{self.output_dir} holds a finished run: nothing left to train.")
      return
    # Errors in the other splits should show before the training.
    for split in self.data.other_splits:
      self.data.rows(split)
    if self._setup.fine_tuning.task.has_frozen_encoder:
      hidden_states.add(self.plan, self.experiment)
    patience = self.settings.early_stopping_patience
    stopping = patience and early_stopping.EarlyStopping(self, patience)
    summary = self.experiment.train(self.plan.batches, stopping or None)
    self.results["train"] = dataclasses.asdict(summary)
    if stopping:
      self.results["train"]["best_step"] = stopping.restore_best()
    self.results["train"]["is_finished"] = True
    self._save_results()
    if stopping:
      stopping.remove_best()  # Only now: a killed run needs it again.

  def outputs(self, split):
    """Returns (model outputs for a split, rows per second).

    Outputs are as `Evaluator.answers` takes them; an ensemble gives its mean.
    """
    started = time.monotonic()
    rows = self.plan.rows(split)
    outputs = predictions.predict(
      self.experiment,
      rows,
      self._setup.lengths,
      self.evaluator.token_outputs,
      self.settings.members,
    )
    return outputs, len(rows) / (time.monotonic() - started)

  def score(self, split):
    """Returns the scores {metric: float} of a split with labels."""
    examples, rows = self.data.examples(split), self.data.rows(split)
    outputs, _ = self.outputs(split)
    answers = self.evaluator.answers(examples, rows, outputs)
    return self.evaluator.score(examples, answers)

  def evaluate(self, splits):
    """Predicts splits, scores those with labels, and writes the results."""
    for split in splits:
      # Before the texts are tokenized, which takes long.
      _check_weights(self.experiment, self.settings.do_train)
      self._evaluate(split)
      self._save_results()

  def give_up(self, error):
    """Records a diverged run with the scores of the best constant answers."""
    self.results["train"] = {"is_finished": True, "error": str(error)}
    for split in self.data.dev_splits:
      result = _unscored(self.data, split)
      if self.data.is_labelled(split):
        scores = self.evaluator.baselines(self.data.examples(split))
        result["baseline"] = scores[self.evaluator.main_metric]
        result["scores"] = scores
      self.results.setdefault("eval", {})[split] = result
    self._save_results()
    fine_tuning_report.write(self, self._setup)
    savers.remove_all(self.output_dir)

  def report(self):
    """Writes the loss curves, report.html and results.json."""
    self.folder.plot_curves()
    self.folder.artifacts["checkpoint"] = (
      self.experiment.saver.latest() or self.experiment.config.init_checkpoint
    )
    self.folder.artifacts["results"] = self.folder.join(report.RESULTS_NAME)
    self.folder.artifacts["report"] = self.folder.join(report_page.NAME)
    self._save_results()
    fine_tuning_report.write(self, self._setup)

  def close(self):
    """Frees the memory of the model; a later use builds it again."""
    self._experiment = None
    keras.utils.clear_session()
    gc.collect()  # Graphs and models refer to each other.

  def _evaluate(self, split):
    """Predicts a split, and scores it if it has labels."""
    evaluator, artifacts = self.evaluator, self.folder.artifacts
    examples, rows = self.data.examples(split), self.data.rows(split)
    outputs, speed = self.outputs(split)
    folder = self.folder.join(split)
    result = _unscored(self.data, split) | {"rows_per_second": speed}
    answers = evaluator.answers(examples, rows, outputs)
    scores = report.scores_of(self.results, _DEV)
    if self.data.is_labelled(split):
      scores = evaluator.score(examples, answers)
      result["scores"] = scores
      result["shown"] = evaluator.shown_metrics or list(scores)
      result["baseline"] = evaluator.baseline(examples)
      intervals = evaluator.intervals(examples, answers, scores)
      result["intervals"] = {k: v._asdict() for k, v in intervals.items()}
      figure = evaluator.plot(examples, answers, scores)
      if figure:
        artifacts[f"{split} picture"] = os.path.join(folder, "scores.png")
        pictures.save(figure, artifacts[f"{split} picture"])
      judgement = evaluator.judge(examples, rows, outputs, answers, scores)
      shown = report_material.of_answers(
        self.data.preprocessor, examples, judgement, figure
      )
      report_material.keep(self.folder, report_material.ANSWERS, {split: shown})
    paths = evaluator.write(examples, answers, scores, folder)
    artifacts.update({f"{split} {what}": path for what, path in paths.items()})
    self.results.setdefault("eval", {})[split] = result

  def _save_results(self):
    """Writes results.json."""
    self.results["data"] = self.results.get("data", {}) | self.data.counts
    self.folder.save_results(
      {
        **vars(self.settings),
        **self._setup.config,
        **vars(self.experiment.config),
      }
    )


def summary(results):
  """Returns the table of results, str."""
  rows = []
  for split, result in results.get("eval", {}).items():
    for name in result["shown"]:
      rows.append((f"{split} {name}", f"{result['scores'][name]:.4f}"))
    if result["scores"]:
      baseline = f"{result['baseline']:.4f}"
      rows.append((f"{split}: best constant answer", baseline))
    rows.append((f"{split} rows/s", f"{result['rows_per_second']:.1f}"))
  if "train" in results:
    train = results["train"]
    rows += [
      ("steps", str(train["steps"])),
      ("examples/s", f"{train['examples_per_second']:.1f}"),
      ("padding", f"{train['padding_share']:.1%}"),
    ]
  data = [
    f"{split}: " + ", ".join(f"{n} {what}" for what, n in counts.items())
    for split, counts in results["data"].items()
  ]
  return "\n".join([report.table(rows, ("", "this run")), "", *data])


def _unscored(data, split):
  """Returns the results of a split before it is scored."""
  return {"rows": data.fingerprint(split), "scores": {}, "shown": []}


def _is_trained(run):
  """Returns whether a run's folder holds the weights of a finished training.

  One whose last checkpoint is damaged goes on from the one before.

  Raises:
    ValueError: its configuration is another one.
  """
  train = run.results.get("train", {})
  if not train.get("is_finished"):
    return False
  run_configuration.check_same(run.plan.training_config(), run.plan.fixed())
  if not savers.latest(run.output_dir):  # Diverged, or not the best.
    return True
  last = train.get("best_step", train["steps"])
  return run.experiment.loop.step == last


def _check_weights(experiment, is_training):
  """Raises ValueError unless there are trained weights."""
  if is_training and not experiment.saver.latest():
    raise ValueError(
      f"output_dir ({experiment.config.output_dir}) holds a finished run whose"
      " checkpoint was deleted: choose another --output_dir to train it again."
    )
  experiment.check_weights()


def _keep_model_files(folder, setup, config):
  """Writes the model's files and task.json beside the checkpoints.

  Args:
    folder: `RunFolder`.
    setup: `run_setup.Setup`.
    config: `EncoderConfig` of the model.
  """
  task = setup.fine_tuning.task
  folder.keep_model_files(config, setup.data.vocabulary, setup.data.options)
  folder.write_json(task_file.NAME, task_file.describe(setup.fine_tuning))
  if not task.has_standard_head:
    return
  described = description.Description(config, task.head, task.labels)
  try:
    folder.write_json(config_json.FILE_NAME, config_json.to_dict(described))
  except ValueError as error:
    # The other files say all that is needed here.
    logging.warning("%s is not written: %s", config_json.FILE_NAME, error)


def _check_checkpoints(setup, members, origin):
  """Checks classes and vocabulary of the checkpoints to evaluate.

  Args:
    setup: `run_setup.Setup`.
    members: list of str, checkpoints of an ensemble, or [].
    origin: str, the checkpoint of a single model, or None.

  Raises:
    ValueError: a head has other classes, or members of the ensemble have
      different vocabularies.
  """
  ours = setup.fine_tuning.task.labels or ()
  for path in members or filter(None, [origin]):
    checkpoint = reading.open_checkpoint(path)
    theirs = checkpoint.description and checkpoint.description.labels
    if theirs != ours and set(theirs or ()) & set(ours):
      raise ValueError(
        f"{path} has the classes {', '.join(theirs)}, in this order, but the"
        f" task has {', '.join(ours)}: train with --do_train, or give a"
        " checkpoint of this task."
      )
    theirs = experiment_lib.vocabulary_fingerprint(checkpoint.folder)
    if members and theirs not in (None, setup.data.vocabulary.fingerprint):
      raise ValueError(
        f"ensemble_dirs: {path} has another vocabulary than the other runs, so"
        " its ids mean other tokens: give runs with the same vocabulary."
      )
