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
  run_actions,
)
from keras_bert_impl.training import (
  run_configuration,
  run_results,
  savers,
  training_loop,
)

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


def run(common):
  """Does the run of the settings, or all runs of a search, and reports.

  Args:
    common: `fine_tuning_run.Run`, what all runs have in common.

  Returns:
    dict, the content of results.json in its output_dir.

  Raises:
    ValueError: no labelled dev set selects the best run, or a value is out of
      range.
  """
  varied = plan(common.settings, common.training["random_seed"])
  if len(varied) == 1:
    only = common.varied(common.output_dir, **varied[0])
    run_actions.do(only)
    return only.results
  if not common.settings.do_train or not common.data.selecting_split:
    raise ValueError(
      "--grid and --num_restarts need --do_train and a dev set with labels,"
      " which selects the best run."
    )
  # Wrong values fail before the first run.
  runs = [
    common.varied(
      os.path.join(common.output_dir, "runs", configurations.name_of(values)),
      **values,
    )
    for values in varied
  ]
  return _search(common, runs)


def _search(common, runs):
  """Does the runs that are not finished yet; reports on all runs.

  Returns:
    dict, the content of results.json of the search.
  """
  metric = common.fine_tuning.evaluator.main_metric
  path = os.path.join(common.output_dir, run_results.RESULTS_NAME)
  entries, best = [], None
  for number, run in enumerate(runs, start=1):
    name = configurations.name_of(run.values)
    print(f"\nRun {number} of {len(runs)}: {name}")
    if run.is_scored:
      check_same(run)
    else:
      _complete(run)
    entries.append(_entry(run, metric))
    score = entries[-1]["score"]
    print(f"dev {metric} {score:.4f}")
    loser = run
    if best is None or score > best.scores[metric]:
      best, loser = run, best
    if loser:
      savers.remove_all(loser.output_dir)
    results = {
      "metric": metric,
      "best": entries[runs.index(best)],
      "configurations": configurations.summarize(entries),
      "runs": entries,
      "num_runs": len(runs),
      "versions": run_results.versions(),
    }
    files.write_json(path, results)
  page = fine_tuning_report.write_search(common, results)
  header, rows = configurations.table(results)
  print(f"\n{run_results.table(rows, header)}\n")
  print(f"best run  {results['best']['score']:.4f}  {best.output_dir}")
  print(f"results   {path}")
  print(f"report    {page}")
  if common.settings.do_predict:
    run_actions.evaluate(best, common.data.other_splits)
    run_actions.write_report(best)
    best.folder.print_report(run_actions.summary(best.results))
  return results


def check_same(run):
  """Checks that the run in the folder has this configuration and data.

  Raises:
    ValueError: they differ; the message names the difference.
  """
  run_configuration.check_same(run.training_config(), run.fixed())
  where = run.folder.join(run_results.RESULTS_NAME)
  for split in run.data.dev_splits:
    evaluation = files.field(run.results["eval"], split, dict, where)
    rows = files.field(evaluation, "rows", str, where)
    if rows != run.data.fingerprint(split):
      raise ValueError(
        f"output_dir ({run.output_dir}) has scores of other {split} examples:"
        " choose another --output_dir."
      )


def _complete(run):
  """Trains and scores a run; a diverged one gets the baseline's score."""
  try:
    run_actions.train(run)
  except training_loop.DivergedError as error:
    logging.warning("%s", error)
    run_actions.give_up(run, error)
  else:
    run_actions.evaluate(run, run.data.dev_splits)
    run_actions.write_report(run)
  run.close()


def _entry(run, metric):
  """Returns what results.json of the search tells of a run."""
  result = run.results["eval"][run.data.selecting_split]
  score = result["scores"][metric]
  return {
    "name": configurations.name_of(run.values),
    "values": run.values,
    "score": score,
    "scores": result["scores"],
    # The run learned nothing, as happens on small data.
    "is_degenerate": score <= result["baseline"] + _MARGIN,
    "folder": run.output_dir,
  }
