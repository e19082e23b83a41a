"""One fine-tuning in one folder: training, scores, files and report."""

import dataclasses
import gc
import math
import os
import time

import keras
import numpy as np
from absl import logging

from keras_bert_impl import files
from keras_bert_impl.checkpoints import description, names, reading
from keras_bert_impl.tokenizers import vocabulary as vocabulary_lib
from keras_bert_impl.tokenizers import vocabulary_files
from keras_bert_impl.training import config as config_lib
from keras_bert_impl.training import experiment as experiment_lib
from keras_bert_impl.training import report, run_configuration, run_log
from keras_bert_impl.training import saver as saver_lib
from official_tasks.command_line import common
from official_tasks.model_folders import task_file
from tfrecords.labelled import length_batches

EVALUATIONS_NAME = "eval_log.jsonl"
_BEST = "best"
# The split whose scores decide how others are answered.
_DEV = "dev"
_UNTRAINED = (
  "Train what is missing with --do_train, or give the configuration that"
  " belongs to the weights."
)


def training_config(values):
  """Returns a `TrainingConfig` while the number of steps is not known yet.

  Args:
    values: {field of `TrainingConfig`: value}; save_checkpoints_steps of 0
      stands for an epoch.
  """
  every = values["save_checkpoints_steps"] or 1
  return config_lib.TrainingConfig(**values | {"save_checkpoints_steps": every})


@dataclasses.dataclass(frozen=True)
class Setup:
  """What all runs of one command have in common.

  Attributes:
    fine_tuning: `FineTuning`.
    data: `fine_tuning_data.Data`.
    settings: `fine_tuning.FineTuningConfig`.
    training: {field of `TrainingConfig`: value}, without the numbers of steps.
    config: {name: value}, the script's own settings, for results.json.
  """

  fine_tuning: object
  data: object
  settings: object
  training: dict
  config: dict

  @property
  def lengths(self):
    """Lengths that batches are padded to, ascending tuple of int."""
    training = self.training
    is_tpu = training["use_tpu"] or training["distribution_strategy"] == "tpu"
    by_length = self.settings.bucket_by_length and not is_tpu
    return length_batches.padded_lengths(
      self.settings.max_seq_length, by_length
    )


class Run:
  """One fine-tuning.

  Args:
    setup: `Setup`.
    output_dir: str.
    **values: in place of those of the setup: fields of `TrainingConfig` or
      `FineTuningConfig`.

  Attributes:
    results: dict, what results.json holds.
  """

  def __init__(self, setup, output_dir, **values):
    of_training = {k: v for k, v in values.items() if k in setup.training}
    of_settings = {k: v for k, v in values.items() if k not in of_training}
    self.setup = setup
    self.settings = dataclasses.replace(setup.settings, **of_settings)
    self.data = setup.data
    self.task = setup.fine_tuning.task
    self.evaluator = setup.fine_tuning.evaluator
    self.output_dir = output_dir
    self.values = values
    self._training = setup.training | of_training | {"output_dir": output_dir}
    training_config(self._training)  # Checks the values.
    self._experiment = None
    self.results = report.read_results(output_dir)

  @property
  def is_finished(self):
    """Whether the training came to its end, now or before."""
    return self.results.get("train", {}).get("is_finished", False)

  @property
  def is_scored(self):
    """Whether all splits that are no test sets have been evaluated."""
    evaluated = self.results.get("eval", {})
    return all(split in evaluated for split in self.data.dev_splits)

  def check_same(self):
    """Checks that what the folder holds came of this configuration and data.

    Raises:
      ValueError: it did not; names the difference.
    """
    run_configuration.check_same(self._training_config(), self._fixed())
    where = self._path(report.RESULTS_NAME)
    for split in self.data.dev_splits:
      evaluation = files.field(self.results["eval"], split, dict, where)
      rows = files.field(evaluation, "rows", str, where)
      if rows != self.data.fingerprint(split):
        raise ValueError(
          f"output_dir ({self.output_dir}) holds scores of other examples of"
          f" {split}: choose another --output_dir."
        )

  def train(self):
    """Trains to the end."""
    if self.is_finished:
      run_configuration.check_same(self._training_config(), self._fixed())
      print(f"{self.output_dir} holds a finished run: nothing left to train.")
      return
    # What is wrong with the other examples had better be known before.
    for split in self.data.other_splits:
      self.data.rows(split)
    stopping = _EarlyStopping(self) if self.patience else None
    summary = self.experiment.train(self._batches, stopping)
    self.results["train"] = dataclasses.asdict(summary)
    if stopping:
      self.results["train"]["best_step"] = stopping.restore_best()
    self.results["train"]["is_finished"] = True
    self.save_results()
    if stopping:
      stopping.remove_best()  # Only now: a killed run needs it again.

  def evaluate(self, splits):
    """Scores (those with labels) and predicts splits."""
    for split in splits:
      self._evaluate(split)
      self.save_results()

  def give_up(self, error):
    """Notes that the training diverged: worth the best constant answer."""
    self.results["train"] = {"is_finished": True, "error": str(error)}
    for split in self.data.dev_splits:
      result = self._unscored(split)
      if self.data.is_labelled(split):
        baseline = self.evaluator.baseline(self.data.examples(split))
        result["baseline"] = baseline
        result["scores"] = {self.evaluator.main_metric: baseline}
      self.results.setdefault("eval", {})[split] = result
    self.save_results()
    self.remove_checkpoints()

  def report(self):
    """Writes the curves and what came out into results.json."""
    entries = run_log.read(self.output_dir)
    if entries:
      curves = self._path(report.CURVES_NAME)
      report.plot_curves(curves, entries)
      self._artifacts["curves"] = curves
    self._artifacts["checkpoint"] = (
      self.experiment.saver.latest() or self.experiment.config.init_checkpoint
    )
    self._artifacts["results"] = self._path(report.RESULTS_NAME)
    self.save_results()

  def print_report(self):
    """Prints what came out, and where the files are."""
    print(f"\n{summary(self.results)}\n")
    width = max(map(len, self._artifacts))
    for name, path in self._artifacts.items():
      print(f"{name:<{width}}  {path}")

  def outputs(self, split):
    """Returns (outputs of the rows of a split, rows per second).

    Outputs are as `Evaluator.answers` wants them; those of an ensemble are
    means.
    """
    started = time.monotonic()
    experiment = self.experiment
    folders = common.split_names(self.settings.ensemble_dirs or "")
    if not folders:
      outputs = self._predict(split)
    else:
      members = []
      for folder in folders:
        experiment.load(folder)
        members.append(self._predict(split))
      outputs = {name: _mean([m[name] for m in members]) for name in members[0]}
    seconds = time.monotonic() - started
    return outputs, len(self.data.rows(split)) / seconds

  def close(self):
    """Frees the memory of the model; a later use builds it anew."""
    self._experiment = None
    keras.utils.clear_session()
    gc.collect()  # Graphs and models refer to each other.

  def remove_checkpoints(self):
    """Deletes the weights; scores, predictions and logs stay."""
    saver_lib.remove_all(self.output_dir)

  @property
  def patience(self):
    """Evaluations without a better score before training ends; 0: never."""
    return self.settings.early_stopping_patience

  @property
  def experiment(self):
    """The `Experiment`, built at first use."""
    if self._experiment is None:
      self._experiment = experiment_lib.Experiment(
        self.task,
        self._training_config(),
        self._fixed(),
        # Heads may begin from random values, but those predict nothing.
        required_prefixes=(
          names.ENCODER_PREFIXES if self.settings.do_train else ("",)
        ),
        remedy=None if self.settings.do_train else _UNTRAINED,
      ).start()
      self._check_checkpoints()
      self._keep_model_files()
    return self._experiment

  @property
  def scores(self):
    """{metric: float} of the split that runs are selected by, or {}."""
    return report.scores_of(self.results, self.data.selecting_split)

  @property
  def _artifacts(self):
    return self.results.setdefault("artifacts", {})

  def _training_config(self):
    """Returns the `TrainingConfig` of this run."""
    values, settings = self._training, self.settings
    if settings.do_train:
      steps = sum(number for _, number in self._stages())
      every = values["save_checkpoints_steps"] or math.ceil(
        steps / settings.num_train_epochs
      )
      return config_lib.TrainingConfig(
        **values
        | {
          "num_train_steps": steps,
          "num_warmup_steps": int(steps * settings.warmup_proportion),
          "save_checkpoints_steps": every,
        }
      )
    # How a run was trained need not be said again to evaluate it; with a
    # checkpoint that it was not trained from, another one is meant.
    values = values | {
      k: v
      for k, v in self._recorded().items()
      if k in values
      and k not in config_lib.FREE_FIELDS
      and not (k == "init_checkpoint" and values[k])
    }
    values["save_checkpoints_steps"] = 1
    if settings.ensemble_dirs:
      [values["init_checkpoint"], *_] = common.split_names(
        settings.ensemble_dirs
      )
    return config_lib.TrainingConfig(**values | {"num_warmup_steps": 0})

  def _stages(self):
    """Returns [(`Rows`, int: steps)] of what is trained on."""
    if not self.data.stages:
      raise ValueError("--do_train needs training data.")
    stages = []
    for split in self.data.stages:
      rows = self.data.rows(split)
      steps = len(rows) * self.settings.num_train_epochs
      steps = int(steps / self._training["train_batch_size"])
      stages.append((rows, max(1, steps)))
    return stages

  def _fixed(self):
    """What a continued run must agree on, besides `TrainingConfig`."""
    if self.settings.do_train:
      of_training = {
        "lengths": list(self.setup.lengths),
        "num_train_epochs": self.settings.num_train_epochs,
        "warmup_proportion": self.settings.warmup_proportion,
        "train_rows": [self.data.fingerprint(s) for s in self.data.stages],
      }
    else:
      of_training = {
        name: value
        for name, value in self._recorded().items()
        if name not in self.setup.training
      }
    return of_training | {
      "encoder": self.task.config.to_dict(),
      "vocabulary": self.data.vocabulary.fingerprint,
      "task": self.setup.fine_tuning.describe(),
    }

  def _recorded(self):
    """Returns what the run in the folder was configured with, {} if none."""
    if not saver_lib.latest(self.output_dir):
      return {}
    return run_configuration.read_agreed(self.output_dir)

  def _batches(self, start_step):
    config = self.experiment.config
    return length_batches.training_batches(
      self._stages(),
      config.train_batch_size,
      config.random_seed,
      self.setup.lengths,
      start_step,
    )

  def _evaluate(self, split):
    self._check_weights()  # Before texts are tokenized for them.
    examples, rows = self.data.examples(split), self.data.rows(split)
    outputs, speed = self.outputs(split)
    folder = self._path(split)
    result = self._unscored(split) | {"rows_per_second": speed}
    evaluator = self.evaluator
    answers = evaluator.answers(examples, rows, outputs)
    scores = report.scores_of(self.results, _DEV)
    if self.data.is_labelled(split):
      scores = evaluator.score(examples, answers)
      result["scores"] = scores
      result["shown"] = evaluator.shown_metrics or list(scores)
      result["baseline"] = evaluator.baseline(examples)
      picture = os.path.join(folder, "scores.png")
      if evaluator.plot(examples, answers, scores, picture):
        self._artifacts[f"{split} picture"] = picture
    paths = evaluator.write(examples, answers, scores, folder)
    self._artifacts.update({f"{split} {k}": v for k, v in paths.items()})
    self.results.setdefault("eval", {})[split] = result

  def _check_weights(self):
    """Raises ValueError unless there are weights that can answer."""
    if self.settings.do_train and not self.experiment.saver.latest():
      raise ValueError(
        f"output_dir ({self.output_dir}) holds a finished run whose checkpoint"
        " was deleted: choose another --output_dir to train it again."
      )
    self.experiment.check_weights()

  def _unscored(self, split):
    """Returns what is known of a split before it is scored."""
    return {"rows": self.data.fingerprint(split), "scores": {}, "shown": []}

  def _predict(self, split):
    """Returns {output: array [N, ...] or list of N arrays [n, ...]}."""
    rows = self.data.rows(split)
    config = self.experiment.config
    batches, order = length_batches.evaluation_batches(
      rows, config.eval_batch_size, self.setup.lengths
    )
    found = [None] * len(rows)
    for number, outputs in enumerate(self.experiment.predict(batches)):
      first = number * config.eval_batch_size
      selected = order[first : first + config.eval_batch_size]
      for place, row in enumerate(selected):
        end = rows.lengths[row] if self.evaluator.has_token_outputs else None
        found[row] = {name: x[place][:end] for name, x in outputs.items()}
    collected = {name: [row[name] for row in found] for name in found[0]}
    if self.evaluator.has_token_outputs:
      return collected
    return {name: np.stack(values) for name, values in collected.items()}

  def _check_checkpoints(self):
    """Raises ValueError if heads tell other classes, or an ensemble differs."""
    if self.settings.do_train:
      return
    members = common.split_names(self.settings.ensemble_dirs or "")
    origin = self._experiment.config.init_checkpoint
    for path in members or filter(None, [origin]):
      checkpoint = reading.open_checkpoint(path)
      theirs = checkpoint.description and checkpoint.description.labels
      ours = self.task.labels or ()
      if theirs != ours and set(theirs or ()) & set(ours):
        raise ValueError(
          f"{path} tells the classes {', '.join(theirs)}, in this order, but"
          f" these are {', '.join(ours)}: train with --do_train, or give the"
          " checkpoint of this task."
        )
      theirs = experiment_lib.vocabulary_fingerprint(checkpoint.folder)
      if members and theirs not in (None, self.data.vocabulary.fingerprint):
        raise ValueError(
          f"ensemble_dirs: the vocabulary of {path} is not that of the others,"
          " so that its ids mean other tokens: ensemble runs of one vocabulary."
        )

  def _keep_model_files(self):
    """Puts beside the checkpoints what the model and its answers are."""
    config = self._experiment.model.config
    files.write_json(self._path(reading.BERT_CONFIG_NAME), config.to_dict())
    vocabulary = self.data.vocabulary
    path = self._path(vocabulary_files.FILE_NAMES[vocabulary.kind])
    vocabulary_lib.save_options(path, self.data.options)
    vocabulary.save(path)
    files.write_json(
      self._path(task_file.NAME),
      self.setup.fine_tuning.describe(),
    )
    if self.task.head:
      described = description.Description(
        config, self.task.head, self.task.labels
      )
      files.write_json(
        self._path(reading.CONFIG_NAME), description.to_config_json(described)
      )

  def _path(self, *parts):
    return os.path.join(self.output_dir, *parts)

  def save_results(self):
    """Writes results.json."""
    self.results |= {
      "data": self.results.get("data", {}) | self.data.counts,
      "configuration": {
        **vars(self.settings),
        **self.setup.config,
        **vars(self.experiment.config),
      },
      "versions": report.versions(),
    }
    files.write_json(self._path(report.RESULTS_NAME), self.results)


class _EarlyStopping:
  """Scores the dev set at each checkpoint; keeps the best one.

  Args:
    run: `Run`.
  """

  def __init__(self, run):
    self._run = run
    self._split = run.data.selecting_split
    if self._split is None:
      raise ValueError("early_stopping_patience needs a dev set with labels.")
    self._lines = run_log.JsonLines(
      os.path.join(run.output_dir, EVALUATIONS_NAME)
    )
    self._saver = None

  def __call__(self, step):
    """Returns whether to stop at `step`."""
    self._lines.cut(step)
    if step not in [entry["step"] for entry in self._lines.read()]:
      self._score(step)
    values = self._values()
    best = int(np.argmax(values))
    return len(values) - 1 - best >= self._run.patience

  def _score(self, step):
    run = self._run
    outputs, _ = run.outputs(self._split)
    examples, rows = run.data.examples(self._split), run.data.rows(self._split)
    scores = run.evaluator.score(
      examples, run.evaluator.answers(examples, rows, outputs)
    )
    logging.info("Step %d: %s.", step, scores)
    if scores[run.evaluator.main_metric] > max(self._values(), default=-np.inf):
      self._best_saver().save(step)
    self._lines.append({"step": step, **scores})

  def _values(self):
    """Returns the scores so far, list of float."""
    return [
      entry[self._run.evaluator.main_metric] for entry in self._lines.read()
    ]

  def restore_best(self):
    """Makes the best checkpoint the last one; returns its step."""
    experiment = self._run.experiment
    saver = self._best_saver()
    saver.restore(saver.latest())
    experiment.saver.save(experiment.loop.step)
    return experiment.loop.step

  def remove_best(self):
    """Deletes the copy of the best checkpoint."""
    saver_lib.remove_all(self._best_saver().output_dir)

  def _best_saver(self):
    folder = os.path.join(self._run.output_dir, _BEST)
    return self._run.experiment.saver.in_folder(folder)


def _mean(members):
  """Returns the mean of outputs: arrays, or lists of arrays."""
  if isinstance(members[0], list):
    return [np.mean(rows, axis=0) for rows in zip(*members, strict=True)]
  return np.mean(members, axis=0)


def summary(results):
  """Returns the table of what came out."""
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
