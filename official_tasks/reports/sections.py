"""Sections that the pages of all runs have."""

import json
import shlex
import sys

from keras_bert_impl.training import report
from official_tasks.reports import page

_NOTHING = "-"


def curves(entries, evaluation=None, short_names=None):
  """Returns the section of a training log; see `report.plot_curves`."""
  drawn = report.draw_curves(entries, evaluation, short_names)
  return page.Section("Curves", page.figures(drawn))


def scores(rows):
  """Returns the table of scores with their intervals.

  Args:
    rows: iterable of (name, score as str, `Interval` or None, score of guessing
      as str).
  """
  return page.table(
    ("", "score", "95 % interval", "by", "guessing"),
    [
      (
        page.text(name),
        page.text(score),
        *_interval(interval),
        page.text(other),
      )
      for name, score, interval, other in rows
    ],
  )


def origin(configuration, environment):
  """Returns the sections on how the run was made.

  Args:
    configuration: {name: JSON value}.
    environment: {name: value}: versions, machine, devices.
  """
  shown = {
    name: value if isinstance(value, str) else json.dumps(value)
    for name, value in sorted(configuration.items())
  }
  command = shlex.join(["python", *sys.argv])
  return [
    page.Section("Command line", f"<pre>{page.text(command)}</pre>"),
    page.Section(
      "Configuration",
      page.folded(f"{len(shown)} options", page.pairs(shown.items())),
    ),
    page.Section("Environment", page.pairs(environment.items())),
  ]


def percent(share):
  """Returns a share as text, such as "12.5 %"."""
  return f"{100 * share:.1f} %"


def _interval(interval):
  """Returns an interval and its method as text."""
  if interval is None:
    return _NOTHING, _NOTHING
  low, high, method = interval
  return f"{low:.4f} to {high:.4f}", page.text(method)
