"""A table of the paper beside ours: text, picture, page, results.json."""

import os

from keras_bert_impl import files
from keras_bert_impl.ablation import table_rows
from keras_bert_impl.reports import report_page, sections
from keras_bert_impl.tasks.basics import pictures
from keras_bert_impl.training import run_results

_CAPTION = (
  "Ours, in brackets the standard deviation (n - 1) and the number of"
  " fine-tunings, | the paper's."
)


def write(table, rows, folder, configuration, folders):
  """Prints a table and writes results.json, table.png and report.html.

  Args:
    table: `table_rows.Table`.
    rows: as `table_plan.scores_of` returns them.
    folder: str.
    configuration: {name: JSON value} of the run.
    folders: {title: folder} of the trainings, whose pages are linked.
  """
  os.makedirs(folder, exist_ok=True)
  print(f"\n{table.title}: ours (standard deviation, runs) | the paper's\n")
  print(as_text(rows))
  results = os.path.join(folder, run_results.RESULTS_NAME)
  files.write_json(
    results,
    {
      "table": table.name,
      "rows": rows,
      "configuration": configuration,
      "versions": run_results.versions(),
    },
  )
  figure = _plot(table, rows)
  picture = os.path.join(folder, "table.png")
  pictures.save(figure, picture)
  path = report_page.write(
    folder,
    table.title,
    [
      report_page.Section(
        "Scores",
        report_page.table(("", *_columns(rows)), _lines(rows))
        + report_page.note(_CAPTION),
      ),
      report_page.Section("Picture", report_page.figures([("", figure)])),
      report_page.Section("Trainings", _links(folder, folders)),
      *sections.origin([sections.command(configuration)]),
    ],
  )
  print(f"\nresults  {results}\npicture  {picture}\nreport   {path}")


def as_text(rows):
  """Returns the table as aligned text, ours and the paper's in each cell."""
  return run_results.table(_lines(rows), ("", *_columns(rows)))


def _lines(rows):
  """Returns the cells of the rows, tuples of str, the names first."""
  columns = _columns(rows)
  return [
    (row["name"], *(_cell(row, column) for column in columns)) for row in rows
  ]


def _links(folder, folders):
  """Returns links to the pages of the trainings that have one."""
  pages = {
    title: os.path.join(each, report_page.NAME)
    for title, each in folders.items()
  }
  return report_page.table(
    (),
    [
      (report_page.link(os.path.relpath(path, folder), title),)
      for title, path in pages.items()
      if os.path.exists(path)
    ],
  )


def _columns(rows):
  names = [name for row in rows for name in row["scores"]]
  # The paper's order: the perplexity comes first.
  return sorted(
    dict.fromkeys(names), key=lambda name: name != table_rows.PERPLEXITY
  )


def _cell(row, column):
  score = row["scores"].get(column)
  ours = "-"
  if score:
    ours = f"{score['mean']:.1f}"
    if score["n"] > 1:
      ours += f" ({score['sd']:.1f}, {score['n']})"
  paper = row["paper"].get(column)
  return ours if paper is None else f"{ours} | {paper}"


def _plot(table, rows):
  """Returns the figure of a table."""
  if any(row.step is not None for row in table.rows):
    return _plot_steps(table, rows)
  return _plot_row(table, *rows) if len(rows) == 1 else _plot_bars(table, rows)


def _plot_bars(table, rows):
  """Returns the scores of each column as bars, with standard deviations."""
  columns = _columns(rows)
  figure = pictures.new_figure(max(4 * len(columns), 5), 0.4 * len(rows) + 1.4)
  for index, column in enumerate(columns):
    axes = figure.add_subplot(1, len(columns), index + 1)
    shown = [row for row in rows if column in row["scores"]]
    scores = [row["scores"][column] for row in shown]
    means = [score["mean"] for score in scores]
    names = [row["name"] if index == 0 else "" for row in shown]
    places = range(len(shown))
    axes.barh(places, means, xerr=[score["sd"] for score in scores])
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    low = min(score["mean"] - score["sd"] for score in scores)
    high = max(score["mean"] + score["sd"] for score in scores)
    margin = max(high - low, 1.0)
    axes.set_xlim(max(low - margin, 0.0), high + margin)
    axes.set_title(column)
  figure.suptitle(table.title)
  return figure


def _plot_row(table, row):
  """Returns the scores of a single row as bars, and the paper's as lines."""
  columns = _columns([row])
  scores = [row["scores"][column] for column in columns]
  figure = pictures.new_figure(6, 0.4 * len(columns) + 1.2)
  axes = figure.add_subplot()
  axes.barh(
    range(len(columns)),
    [score["mean"] for score in scores],
    xerr=[score["sd"] for score in scores],
    label=row["name"],
  )
  shown = [n for n, column in enumerate(columns) if column in row["paper"]]
  axes.scatter(
    [row["paper"][columns[n]] for n in shown],
    shown,
    marker="|",
    color="black",
    s=200,
    label="the paper's",
  )
  axes.set_yticks(range(len(columns)), columns)
  axes.invert_yaxis()
  axes.set_title(table.title)
  axes.legend(
    loc="upper center", bbox_to_anchor=(0.5, -0.05), ncols=2, frameon=False
  )
  return figure


def _plot_steps(table, rows):
  """Returns the scores after k steps as a line for each pre-training."""
  columns = _columns(rows)
  figure = pictures.new_figure(5 * len(columns), 4)
  for index, column in enumerate(columns):
    axes = figure.add_subplot(1, len(columns), index + 1)
    lines = {}
    for row, scores in zip(table.rows, rows, strict=True):
      name = row.name.rpartition(", ")[0]
      lines.setdefault(name, []).append((row.step, scores["scores"][column]))
    for name, points in lines.items():
      axes.errorbar(
        [step for step, _ in points],
        [score["mean"] for _, score in points],
        yerr=[score["sd"] for _, score in points],
        marker="o",
        capsize=3,
        label=name,
      )
    axes.set_xlabel("steps of pre-training")
    axes.set_title(column)
    axes.legend(frameon=False)
    axes.grid(alpha=0.3)
  return figure
