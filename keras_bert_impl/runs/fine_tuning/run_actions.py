"""What is done with a `Run`: training, scores, files and report."""

import dataclasses
import time

from absl import logging

from keras_bert_impl import options
from keras_bert_impl.models import lora
from keras_bert_impl.reports import report_page
from keras_bert_impl.runs.fine_tuning import (
  early_stopping,
  fine_tuning_report,
  predictions,
  renewal,
  report_material,
)
from keras_bert_impl.runs.labelled_data import hidden_states
from keras_bert_impl.tasks.basics import pictures
from keras_bert_impl.training import run_configuration, savers
from keras_bert_impl.training import run_results as report

# The split whose thresholds are used for splits without labels.
_DEV = "dev"


def do(run):
  """Trains, evaluates, predicts and reports, as the settings say."""
  settings = run.settings
  if settings.do_train:
    train(run)
  splits = run.data.dev_splits if settings.do_eval else []
  if settings.do_predict:
    splits = run.data.other_splits
  evaluate(run, splits)
  write_report(run)
  if run.listener is None:
    run.folder.print_report(summary(run.results))


def train(run):
  """Trains to the last step."""
  if _is_trained(run):
    print(f"{run.output_dir} holds a finished run: nothing left to train.")
    return
  # Errors in the other splits should show before the training.
  for split in run.data.other_splits:
    run.data.rows(split)
  if run.fine_tuning.task.has_frozen_encoder:
    hidden_states.add(run, run.experiment)
  patience, listener = run.settings.early_stopping_patience, run.listener
  stopping = None
  if patience or (listener and run.data.selecting_split):
    stopping = early_stopping.EarlyStopping(
      run, patience, lambda: score(run, run.data.selecting_split)
    )

  rounds, is_over = renewal.Rounds(run), False

  def after_save(step):
    nonlocal is_over
    is_over = bool(stopping and stopping(step))
    scores = stopping.scores() if stopping else {}
    is_over |= bool(listener and listener.on_checkpoint(step, scores))
    return is_over or rounds.is_due(step)

  if listener:
    listener.begin(run.experiment, lambda names: _scores(run, names))
  on_report, is_due = listener and listener.on_report, True
  while is_due:
    rounds.begin(run.experiment.loop.step)
    summary = run.experiment.train(run.batches, after_save, on_report=on_report)
    is_due = not is_over and rounds.is_due(run.experiment.loop.step)
  run.results["train"] = dataclasses.asdict(summary)
  if patience:
    run.results["train"]["best_step"] = stopping.restore_best()
  if run.experiment.config.lora_rank:
    _write_adapters(run)
  if run.fine_tuning.write_model:
    run.fine_tuning.write_model(run)
  run.results["train"]["is_finished"] = True
  _save_results(run)
  if patience:
    stopping.remove_best()  # Only now: a killed run needs it again.


def _scores(run, wanted):
  """Returns the names of the scores after an epoch; some names are wanted."""
  split = run.data.selecting_split
  if not split:
    return []
  names = run.fine_tuning.evaluator.baselines(run.data.examples(split)).keys()
  # Not all metrics have a baseline; that takes as long as an evaluation.
  return names if wanted <= names else score(run, split).keys()


def _write_adapters(run):
  """Writes the adapters alone; the checkpoints hold them and all else."""
  folder, experiment = run.folder.join("adapter"), run.experiment
  try:
    lora.save_lora(experiment.model, folder, experiment.config.init_checkpoint)
    run.folder.artifacts["adapter"] = folder
  except ValueError as error:
    # The checkpoints say all that is needed here.
    logging.warning("%s is not written: %s", folder, error)


def outputs(run, split):
  """Returns (model outputs for a split, rows per second).

  Outputs are as `Evaluator.answers` takes them; an ensemble gives its mean.
  """
  started = time.monotonic()
  rows = run.rows(split)
  found = predictions.predict(
    run.experiment,
    rows,
    run.lengths,
    run.fine_tuning.evaluator.token_outputs,
    run.settings.members,
    run.predict,
  )
  speed = len(rows) / (time.monotonic() - started)
  if run.fine_tuning.more_outputs:
    found |= run.fine_tuning.more_outputs(run, split)
  return found, speed


def score(run, split):
  """Returns the scores {metric: float} of a split with labels."""
  evaluator, examples = run.fine_tuning.evaluator, run.data.examples(split)
  found, _ = outputs(run, split)
  answers = evaluator.answers(examples, run.data.rows(split), found)
  return evaluator.score(examples, answers)


def evaluate(run, splits):
  """Predicts splits, scores those with labels, and writes the results."""
  for split in splits:
    # Before the texts are tokenized, which takes long.
    _check_weights(run)
    _evaluate(run, split)
    _save_results(run)


def give_up(run, error):
  """Records a diverged run with the scores of the best constant answers."""
  evaluator = run.fine_tuning.evaluator
  run.results["train"] = {"is_finished": True, "error": str(error)}
  for split in run.data.dev_splits:
    result = _unscored(run.data, split)
    if run.data.is_labelled(split):
      scores = evaluator.baselines(run.data.examples(split))
      result["baseline"] = scores[evaluator.main_metric]
      result["scores"] = scores
    run.results.setdefault("eval", {})[split] = result
  _save_results(run)
  if run.has_report:
    fine_tuning_report.write(run)
  savers.remove_all(run.output_dir)


def write_report(run):
  """Writes results.json and, if there is to be one, report.html with curves."""
  folder, experiment = run.folder, run.experiment
  folder.artifacts["checkpoint"] = (
    experiment.saver.latest() or experiment.config.init_checkpoint
  )
  folder.artifacts["results"] = folder.join(report.RESULTS_NAME)
  if run.has_report:
    folder.plot_curves()
    folder.artifacts["report"] = folder.join(report_page.NAME)
  _save_results(run)
  if run.has_report:
    fine_tuning_report.write(run)


def summary(results):
  """Returns the table of results, str."""
  rows = []
  for split, result in results.get("eval", {}).items():
    for name in result["shown"]:
      rows.append((f"{split} {name}", f"{result['scores'][name]:.4f}"))
    if result["scores"]:
      baseline = f"{result['baseline']:.4f}"
      compared = result.get("baseline_name", "best constant answer")
      rows.append((f"{split}: {compared}", baseline))
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


def _evaluate(run, split):
  """Predicts a split, and scores it if it has labels."""
  evaluator, artifacts = run.fine_tuning.evaluator, run.folder.artifacts
  examples, rows = run.data.examples(split), run.data.rows(split)
  found, speed = outputs(run, split)
  folder = run.folder.join(split)
  result = _unscored(run.data, split) | {"rows_per_second": speed}
  answers = evaluator.answers(examples, rows, found)
  scores = report.scores_of(run.results, _DEV)
  if run.data.is_labelled(split):
    scores = evaluator.score(examples, answers)
    result["scores"] = scores
    result["shown"] = evaluator.shown_metrics or list(scores)
    result["baseline"] = evaluator.baseline(examples)
    result["baseline_name"] = evaluator.baseline_name
    intervals = evaluator.intervals(examples, answers, scores)
    result["intervals"] = {k: v._asdict() for k, v in intervals.items()}
    if run.has_report:
      judgement = evaluator.judge(examples, rows, found, answers, scores)
      figure = evaluator.plot(examples, answers, scores)
      _keep_material(run, split, judgement, figure)
  paths = evaluator.write(examples, answers, scores, folder)
  artifacts.update({f"{split} {what}": path for what, path in paths.items()})
  run.results.setdefault("eval", {})[split] = result


def _keep_material(run, split, judgement, figure):
  """Keeps what report.html shows of a split: its picture and its answers."""
  if figure:
    path = run.folder.join(split, "scores.png")
    run.folder.artifacts[f"{split} picture"] = path
    pictures.save(figure, path)
  shown = report_material.of_answers(
    run.data.preprocessor, run.data.examples(split), judgement, figure
  )
  report_material.keep(run.folder, report_material.ANSWERS, {split: shown})


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
  run_configuration.check_same(run.training_config(), run.fixed())
  if not savers.latest(run.output_dir):  # Diverged, or not the best.
    return True
  last = train.get("best_step", train["steps"])
  return run.experiment.loop.step == last


def _check_weights(run):
  """Raises ValueError unless there are trained weights."""
  if run.settings.do_train and not run.experiment.saver.latest():
    raise ValueError(
      f"output_dir ({run.output_dir}) holds a finished run whose checkpoint was"
      " deleted: choose another --output_dir to train it again."
    )
  run.experiment.check_weights()


def _save_results(run):
  """Writes results.json."""
  run.results["data"] = run.results.get("data", {}) | run.data.counts
  run.folder.save_results(
    {
      **options.as_flags(vars(run.settings)),
      **run.config,
      **vars(run.experiment.config),
    }
  )
