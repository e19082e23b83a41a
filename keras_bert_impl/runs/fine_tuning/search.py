"""Search: restarts of a fine-tuning run, and a grid of hyper-parameters.

Each run has its own folder, `<output_dir>/runs/<name>/`. Finished runs are not
repeated, so the same command continues an interrupted search. Only the weights
of the best run so far are kept.
"""

import itertools
import os

from absl import logging

from keras_bert_impl import files
from keras_bert_impl.runs.fine_tuning import (
  configurations,
  fine_tuning_report,
  fine_tuning_run,
)
from keras_bert_impl.training import run_results, savers, training_loop

# Devlin et al. 2019, appendix A.3.
_PAPER = (
  "train_batch_size=16,32;learning_rate=5e-5,4e-5,3e-5,2e-5;"
  "num_train_epochs=2,3,4"
)
_TYPES = {
  "train_batch_size": int,
  "learning_rate": float,
  "num_train_epochs": float,
  "layerwise_lr_decay": float,
  "warmup_proportion": float,
  "weight_decay_rate": float,
}
_MARGIN = 1e-6


def parse_grid(text):
  """Parses --grid into a list of {hyper-parameter: value}.

  Raises:
    ValueError: `text` is not of the form "name=value,value;name=value".
  """
  if not text:
    return [{}]
  axes = {}
  for part in (_PAPER if text == "paper" else text).split(";"):
    name, _, values = part.partition("=")
    if name not in _TYPES:
      raise ValueError(
        f"grid ({text!r}): {name!r} must be one of {', '.join(_TYPES)}; write"
        ' "learning_rate=5e-5,3e-5;num_train_epochs=2,3", or paper.'
      )
    try:
      numbers = [_TYPES[name](value) for value in values.split(",")]
    except ValueError:
      raise ValueError(
        f"grid ({text!r}): the values of {name} must be numbers, separated by"
        f" commas, not {values!r}."
      ) from None
    if name in axes or len(set(numbers)) < len(numbers):
      raise ValueError(
        f"grid ({text!r}) must name {name} once, without repeated values."
      )
    axes[name] = numbers
  return [
    dict(zip(axes, values, strict=True))
    for values in itertools.product(*axes.values())
  ]


def plan(settings, random_seed):
  """Returns [{hyper-parameter or random_seed: value}], one entry per run."""
  return [
    {**point, "random_seed": random_seed + restart}
    for point in parse_grid(settings.grid)
    for restart in range(settings.num_restarts)
  ]


def run(setup):
  """Does the run of the settings, or all runs of a search, and reports.

  Args:
    setup: `run_setup.Setup`.

  Returns:
    dict, the content of results.json in its output_dir.
  """
  output_dir = setup.training["output_dir"]
  runs = plan(setup.settings, setup.training["random_seed"])
  if len(runs) == 1:
    return _run_one(fine_tuning_run.Run(setup, output_dir, **runs[0]))
  return _Search(setup, runs).run()


def _run_one(run):
  settings = run.settings
  if settings.do_train:
    run.train()
  splits = run.data.dev_splits if settings.do_eval else []
  if settings.do_predict:
    splits = run.data.other_splits
  run.evaluate(splits)
  run.report()
  run.folder.print_report(fine_tuning_run.summary(run.results))
  return run.results


class _Search:
  """The runs of a grid search or of restarts.

  Args:
    setup: `run_setup.Setup`.
    runs: list of {name: value}, as `plan` returns it.

  Raises:
    ValueError: no labelled dev set selects the best run, or a value is out of
      range.
  """

  def __init__(self, setup, runs):
    settings = setup.settings
    data = setup.data
    if not settings.do_train or not data.selecting_split:
      raise ValueError(
        "--grid and --num_restarts need --do_train and a dev set with labels,"
        " which selects the best run."
      )
    self._setup = setup
    self._metric = setup.fine_tuning.evaluator.main_metric
    self._output_dir = setup.training["output_dir"]
    self._runs = runs
    for values in runs:
      self._make(values)  # Wrong values fail before the first run.

  def run(self):
    """Does the runs that are not finished yet; reports on all runs.

    Returns:
      dict, the content of results.json of the search.
    """
    entries, best = [], None
    for number, values in enumerate(self._runs):
      run = self._make(values)
      name = configurations.name_of(values)
      print(f"\nRun {number + 1} of {len(self._runs)}: {name}")
      if run.is_scored:
        run.check_same()
      else:
        self._complete(run)
      entries.append(self._entry(run))
      print(f"dev {self._metric} {entries[-1]['score']:.4f}")
      if best is None or entries[-1]["score"] > best["score"]:
        best, loser = entries[-1], best
      else:
        loser = entries[-1]
      if loser:
        savers.remove_all(loser["folder"])
      results = self._write(entries, best)
    page = fine_tuning_report.write_search(
      self._output_dir, self._setup, results
    )
    self._print(results)
    print(f"report    {page}")
    if self._setup.settings.do_predict:
      run = self._make(best["values"])
      run.evaluate(self._setup.data.other_splits)
      run.report()
      run.folder.print_report(fine_tuning_run.summary(run.results))
    return results

  def _make(self, values):
    folder = os.path.join(
      self._output_dir, "runs", configurations.name_of(values)
    )
    return fine_tuning_run.Run(self._setup, folder, **values)

  def _complete(self, run):
    """Trains and scores a run; a diverged one gets the baseline's score."""
    try:
      run.train()
    except training_loop.DivergedError as error:
      logging.warning("%s", error)
      run.give_up(error)
    else:
      run.evaluate(self._setup.data.dev_splits)
      run.report()
    run.close()

  def _entry(self, run):
    result = run.results["eval"][run.data.selecting_split]
    score = result["scores"][self._metric]
    return {
      "name": configurations.name_of(run.values),
      "values": run.values,
      "score": score,
      "scores": result["scores"],
      # The run learned nothing, as happens on small data.
      "is_degenerate": score <= result["baseline"] + _MARGIN,
      "folder": run.output_dir,
    }

  def _write(self, entries, best):
    """Writes results.json of the search; returns its content."""
    results = {
      "metric": self._metric,
      "best": best,
      "configurations": configurations.summarize(entries),
      "runs": entries,
      "num_runs": len(self._runs),
      "versions": run_results.versions(),
    }
    path = os.path.join(self._output_dir, run_results.RESULTS_NAME)
    files.write_json(path, results)
    return results

  def _print(self, results):
    best = results["best"]
    header, rows = configurations.table(results)
    print(f"\n{run_results.table(rows, header)}\n")
    print(f"best run  {best['score']:.4f}  {best['folder']}")
    print(
      f"results   {os.path.join(self._output_dir, run_results.RESULTS_NAME)}"
    )
