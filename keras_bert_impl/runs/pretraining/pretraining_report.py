"""Scores of a pre-training run, and its page report.html."""

import os
from typing import NamedTuple

from keras_bert_impl.metrics import intervals
from keras_bert_impl.reports import length_facts, report_page, sections
from keras_bert_impl.training import run_log, run_results

_METHOD = (
  f"{intervals.WILSON}: of the share of tokens, as if they were independent of"
  f" each other; {intervals.BOOTSTRAP}: rows of text are drawn again. They say"
  " what other text would change, not what another seed would."
)
_ROWS_MEASURED = 4096


class Score(NamedTuple):
  """A line of the table of scores.

  Attributes:
    name: str.
    score: str.
    interval: `Interval`, or None.
    comparison: str, the score of guessing, or "".
  """

  name: str
  score: str
  interval: object = None
  comparison: str = ""


def scores(results, task):
  """Yields the `Score`s of the evaluation in the results, if there is one.

  Args:
    results: dict, the content of results.json.
    task: `PretrainingTask`.
  """
  evaluation = results.get("eval")
  if not evaluation:
    return
  data = "held-out" if evaluated_file(results) else "training-data"
  guesses = task.guesses(evaluation)
  for name, short in task.short_names.items():
    found = {
      what: evaluation[f"{name}_{what}"]
      for what in ("accuracy", "number", "precision", "recall", "perplexity")
      if evaluation.get(f"{name}_{what}") is not None
    }
    title = f"{data} {short}"
    if "accuracy" in found:
      accuracy, number = found["accuracy"], found.get("number")
      yield Score(
        f"{title} accuracy",
        f"{accuracy:.1%}",
        intervals.wilson(accuracy * number, number) if number else None,
        guesses.get(name, ""),
      )
    if "recall" in found:
      rates = f"{found['precision']:.1%}, {found['recall']:.1%}"
      yield Score(f"{title} precision, recall", rates)
    if "perplexity" in found:
      yield Score(f"{title} perplexity", f"{found['perplexity']:.1f}")
  yield from standard_scores(evaluation)


def standard_scores(evaluation):
  """Yields the `Score`s of `standard.evaluate`, if the evaluation has some."""
  found = evaluation.get("standard", {})
  whose = found.get("predicted_by")
  for name, interval in found.get("intervals", {}).items():
    title = f"standard {name.replace('_', ' ')}"
    number = f"{found[name]:{'.1%' if name.endswith('accuracy') else '.3f'}}"
    yield Score(
      f"{title} ({whose})" if whose else title,
      number,
      intervals.Interval(**interval),
    )


def evaluated_file(results):
  """Returns the --eval_input_file of the evaluation in the results, or None."""
  # Earlier versions did not note it: that of their only command counts.
  options = results.get("eval", {})
  if "eval_input_file" not in options:
    options = results["configuration"]
  return options["eval_input_file"]


def write(folder, task, config, sample_lengths, filled):
  """Writes the page of a run, of what is in its folder and its results.

  Args:
    folder: `RunFolder`.
    task: `PretrainingTask`.
    config: `pretraining_config.PretrainingConfig`.
    sample_lengths: callable, number of rows -> {data: int [N], their tokens}.
    filled: list of (text with [MASK], most probable tokens).
  """
  results = folder.results
  entries = run_log.read(folder.path)
  name = os.path.basename(os.path.normpath(folder.path))
  folder.write_report(
    f"Pre-training ({config.data.objective}): {name}",
    [
      scores_section([*scores(results, task)], results),
      sections.curves(entries, results.get("eval"), task.short_names),
      report_page.Section(
        "Predictions for examples", report_page.pairs(filled)
      ),
      _data(results, config, sample_lengths(_ROWS_MEASURED)),
    ],
  )


def scores_section(rows, results):
  """Returns the section of `Score`s, and of the speed in the results."""
  body = sections.scores(rows)
  if any(row.interval for row in rows):
    body += report_page.note(_METHOD)
  if "train" in results:
    train = results["train"]
    body += report_page.note(
      f"{train['steps']} steps; {train['examples_per_second']:.1f} examples/s;"
      f" {train['tokens_per_second']:.0f} tokens/s without padding."
    )
  return report_page.Section("Scores", body)


def table(results, rows):
  """Returns the printed table of `Score`s, and of the speed, str."""
  lines = [
    (row.name, row.score, row.comparison or _interval(row)) for row in rows
  ]
  if "train" in results:
    train = results["train"]
    lines += [
      ("steps", str(train["steps"]), ""),
      ("examples/s", f"{train['examples_per_second']:.1f}", ""),
      ("tokens/s (no padding)", f"{train['tokens_per_second']:.0f}", ""),
    ]
  return run_results.table(lines, ("", "this run", "for comparison"))


def _interval(row):
  """Returns the interval of a `Score` as text, "" without one."""
  if row.interval is None:
    return ""
  form = ".1%" if row.score.endswith("%") else ".3f"
  return f"95 %: {row.interval.low:{form}} to {row.interval.high:{form}}"


def _data(results, config, found):
  """Returns the section of the records: how many, of what, in which files.

  Args:
    results: dict, the content of results.json.
    config: `pretraining_config.PretrainingConfig`.
    found: {data: int [N], tokens of some rows}.
  """
  summaries = {
    name: length_facts.summary(each, config.data.max_seq_length)
    for name, each in found.items()
  }
  counts = {
    name.removeprefix("num_").replace("_", " "): f"{number:,}"
    for name, number in results["data"].items()
    if number is not None
  }
  files = {
    "training": config.data.input_file,
    "evaluation": evaluated_file(results) or config.data.input_file,
  }
  measured = {
    name: {"rows measured": f"{len(found[name]):,}", **length_facts.facts(each)}
    for name, each in summaries.items()
  }
  return report_page.Section(
    "Data",
    report_page.pairs((counts | files).items())
    + sections.by_data_set(measured)
    + length_facts.histograms(summaries),
  )
