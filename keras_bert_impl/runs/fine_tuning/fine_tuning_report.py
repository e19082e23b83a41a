"""The page report.html of a run, and of the runs of a search."""

import os

from keras_bert_impl.metrics import intervals
from keras_bert_impl.reports import (
  length_facts,
  report_page,
  sections,
)
from keras_bert_impl.runs.fine_tuning import (
  configurations,
  early_stopping,
  report_material,
)
from keras_bert_impl.runs.labelled_data import fine_tuning_data
from keras_bert_impl.tasks.basics import pictures
from keras_bert_impl.training import run_log, run_results

_METHODS = (
  f"{intervals.WILSON}: of a share of independent examples;"
  f" {intervals.BOOTSTRAP}: percentiles over up to"
  f" {intervals.NUM_RESAMPLES:,} resamples of the examples (of sentences, for"
  " tags). Both are of one model: they say what other data would change, not"
  " what another seed would. Guessing is the best constant answer."
)
_MOST_LABELS = 40


def write(run):
  """Writes the page of a `fine_tuning_run.Run`, of its folder's content."""
  data = report_material.keep(
    run.folder,
    report_material.DATA,
    report_material.cards(run.data, run.fine_tuning.evaluator),
  )
  run.folder.write_report(
    _title(run),
    [
      _scores(run.results, run.fine_tuning.evaluator.main_metric),
      _curves(run),
      *_answers(data[report_material.ANSWERS]),
      _data(data[report_material.DATA]),
    ],
  )


def write_search(search, results):
  """Writes the page of a search; returns its path.

  Args:
    search: `fine_tuning_run.Run`, what its runs have in common.
    results: dict, the content of its results.json.
  """
  best = results["best"]
  answers = report_material.read(best["folder"])[report_material.ANSWERS]
  found = run_results.read_results(best["folder"])
  configuration = vars(search.settings) | search.config | search.training
  return report_page.write(
    search.output_dir,
    _title(search),
    [
      _configurations(results),
      _runs(search.output_dir, results),
      _scores(found, results["metric"])._replace(
        title=f"Scores of the best run, {best['name']}"
      ),
      *_answers(answers),
      _data(report_material.cards(search.data, search.fine_tuning.evaluator)),
      *sections.origin([sections.command(configuration)]),
    ],
  )


def _title(run):
  head = run.fine_tuning.task.head or "fine-tuning"
  name = os.path.basename(os.path.normpath(run.output_dir))
  return f"{head.replace('_', ' ').capitalize()}: {name}"


def _scores(results, main_metric):
  """Returns the section of the scores of all splits, and of the training."""
  rows = []
  for split, result in results.get("eval", {}).items():
    known = result.get("intervals", {})
    for name in result["shown"]:
      interval = known.get(name)
      rows.append(
        (
          f"{split} {name}",
          f"{result['scores'][name]:.4f}",
          interval and intervals.Interval(**interval),
          f"{result['baseline']:.4f}" if name == main_metric else "",
        )
      )
  body = sections.scores(rows) + report_page.note(_METHODS) if rows else ""
  train = results.get("train", {})
  if "error" in train:
    body += report_page.note(train["error"])
  elif train:
    facts = f"{train['steps']} steps"
    if "best_step" in train:
      facts += f", the best at {train['best_step']}"
    speed, padding = train["examples_per_second"], train["padding_share"]
    padding = sections.percent(padding)
    body += report_page.note(
      f"{facts}; {speed:.1f} examples/s; {padding} padding."
    )
  return report_page.Section("Scores", body)


def _curves(run):
  """Returns the section of what was logged in training and between."""
  section = sections.curves(run_log.read(run.output_dir))
  metric = run.fine_tuning.evaluator.main_metric
  path = run.folder.join(early_stopping.EVALUATIONS_NAME)
  entries = run_log.JsonLines(path).read()
  if not entries:
    return section
  drawn = report_page.figures(
    [(f"dev {metric}", run_results.draw_curve(entries, metric))]
  )
  return section._replace(body=section.body + drawn)


def _answers(answers):
  """Returns the sections of the answers to each split."""
  found = []
  for split, shown in answers.items():
    picture = shown.get("picture")
    body = report_page.figures([("", picture)]) if picture else ""
    if "measure" in shown:
      wrong, number = shown["num_wrong"], shown["num_examples"]
      share = sections.percent(wrong / number)
      body += report_page.note(f"{wrong:,} of {number:,} are wrong ({share}).")
      for title, entries in (
        ("Wrong, the most certain first", shown["wrong"]),
        ("Right, some from all parts", shown["right"]),
      ):
        if entries:
          body += report_page.heading(title)
          body += "\n".join(_example(x, shown["measure"]) for x in entries)
    found.append(report_page.Section(f"Answers to {split}", body))
  return found


def _example(entry, measure):
  texts = "".join(
    f"<blockquote>{report_page.text(text)}</blockquote>"
    for text in entry["texts"]
  )
  facts = {
    "true": entry["gold"],
    "answer": entry["found"],
    measure: f"{entry['certainty']:.4f}",
  }
  terms = "".join(
    f"<dt>{report_page.text(name)}</dt><dd>{report_page.text(value)}</dd>"
    for name, value in facts.items()
  )
  return f"<article>{texts}<dl>{terms}</dl></article>"


def _data(cards):
  """Returns the section of the splits: where from, how many, how long."""
  if not cards:
    return report_page.Section("Data", "")
  train = [split for split in cards if split.startswith(fine_tuning_data.TRAIN)]
  cards = {split: cards[split] for split in dict.fromkeys([*train, *cards])}
  rows = {
    split: {
      **{what: f"{n:,}" for what, n in card["counts"].items()},
      **length_facts.facts(card["lengths"]),
    }
    | (
      {"texts that are trained on too": f"{card['also_trained_on']:,}"}
      if "also_trained_on" in card
      else {}
    )
    for split, card in cards.items()
  }
  body = sections.by_data_set(rows)
  body += length_facts.histograms({k: c["lengths"] for k, c in cards.items()})
  body += _label_table(
    {k: c["labels"] for k, c in cards.items() if "labels" in c}
  )
  files = {k: ", ".join(c["files"]) for k, c in cards.items() if c["files"]}
  if files:
    body += report_page.heading("Files") + report_page.pairs(files.items())
  return report_page.Section("Data", body)


def _label_table(counts):
  """Returns the table of {split: {label: number}}, with their shares."""
  labels = [*dict.fromkeys(label for each in counts.values() for label in each)]
  if not labels:
    return ""
  columns = {}
  for split, each in counts.items():
    total = max(1, sum(each.values()))
    columns[split] = {
      label: f"{number:,} ({sections.percent(number / total)})"
      for label, number in each.items()
      if label in labels[:_MOST_LABELS]
    }
  rest = len(labels) - _MOST_LABELS
  more = report_page.note(f"and {rest} more labels.") if rest > 0 else ""
  return report_page.heading("Labels") + sections.by_data_set(columns) + more


def _configurations(results):
  """Returns the section that compares the configurations of a search."""
  header, rows = configurations.table(results)
  body = report_page.table(header, rows)
  body += report_page.figures([(header[0], _plot_runs(results))])
  return report_page.Section(
    "Configurations",
    body
    + report_page.note(
      "Dots are runs, lines the mean and one standard deviation (n - 1) of the"
      " restarts. A degenerate run is no better than the best constant answer."
    ),
  )


def _plot_runs(results):
  """Returns a figure of the score of each run, by configuration."""
  groups = results["configurations"]
  canvas = pictures.new_figure(5, 0.9 + 0.3 * len(groups))
  bottom = 0.45 / (0.9 + 0.3 * len(groups))
  axes = canvas.add_axes((0.35, bottom, 0.6, 0.95 - bottom))
  places = {
    configurations.name_without_seed(group["values"]): place
    for place, group in enumerate(groups)
  }
  axes.errorbar(
    [group["mean"] for group in groups],
    [*places.values()],
    xerr=[group["standard_deviation"] for group in groups],
    fmt="|",
    markersize=12,
    capsize=3,
  )
  runs = results["runs"]
  where = [
    places[configurations.name_without_seed(run["values"])] for run in runs
  ]
  axes.plot([run["score"] for run in runs], where, "o", markersize=4)
  axes.set_yticks([*places.values()], [*places])
  axes.set_ylim(len(groups) - 0.5, -0.5)
  axes.locator_params(axis="x", nbins=4)
  axes.grid(axis="x", alpha=0.3)
  return canvas


def _runs(folder, results):
  """Returns the section with a line for each run, and its page."""
  rows = []
  for run in results["runs"]:
    place = os.path.relpath(run["folder"], folder)
    address = "/".join((*place.split(os.sep), report_page.NAME))
    shown = report_page.link(address, run["name"])
    if run["name"] == results["best"]["name"]:
      shown = report_page.Html(f"{shown} (best)")
    rows.append((shown, f"{run['score']:.4f}"))
  return report_page.Section(
    "Runs", report_page.table(("", f"dev {results['metric']}"), rows)
  )
