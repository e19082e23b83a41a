"""Sections that the pages of all runs have."""

import json
import shlex
import sys

from etils import epy

from keras_bert_impl.reports import report_page
from keras_bert_impl.training import run_results

with epy.lazy_imports():
  # A table only starts other scripts: it needs no TensorFlow before its page.
  from keras_bert_impl.training import distribution

_NOTHING = "-"


def curves(entries, evaluation=None, short_names=None):
  """Returns the section of a training log; see `run_results.plot_curves`."""
  drawn = run_results.draw_curves(entries, evaluation, short_names)
  return report_page.Section("Curves", report_page.figures(drawn))


def scores(rows):
  """Returns the table of scores with their intervals.

  Args:
    rows: iterable of (name, score as str, `Interval` or None, score of guessing
      as str).
  """
  return report_page.table(
    ("", "score", "95 % interval", "by", "guessing"),
    [
      (name, score, *_interval(interval), other)
      for name, score, interval, other in rows
    ],
  )


def by_data_set(columns):
  """Returns a table of {data set: {what: text or number}}, one column each."""
  names = dict.fromkeys(name for column in columns.values() for name in column)
  return report_page.table(
    ("", *columns),
    [
      (name, *(column.get(name, "") for column in columns.values()))
      for name in names
    ],
  )


def command(configuration):
  """Returns the command of this process for `origin`, a JSON object.

  Args:
    configuration: {name: JSON value}, of all its flags.
  """
  line = shlex.join(["python", *sys.argv])
  # A file that is read again has lists for tuples.
  return json.loads(
    json.dumps({"command": line, "configuration": configuration})
  )


def origin(commands):
  """Returns the sections on how a folder was made, and on what.

  Args:
    commands: list of what `command` returned, the first command first.
  """
  lines = [
    f"<pre>{report_page.text(each['command'])}</pre>" for each in commands
  ]
  options = [_options(each["configuration"]) for each in commands]
  return [
    report_page.Section("Command line", "\n".join(lines)),
    report_page.Section("Configuration", "\n".join(options)),
    report_page.Section(
      "Environment", report_page.pairs(environment().items())
    ),
  ]


def environment():
  """Returns {name: str}: versions, machine and devices."""
  devices = {"devices": distribution.device_names()}
  return run_results.versions() | run_results.machine() | devices


def percent(share):
  """Returns a share as text, such as "12.5 %"."""
  return f"{100 * share:.1f} %"


def _options(configuration):
  """Returns the options of a command, folded."""
  shown = {
    name: value if isinstance(value, str) else json.dumps(value)
    for name, value in sorted(configuration.items())
  }
  return report_page.folded(
    f"{len(shown)} options", report_page.pairs(shown.items())
  )


def _interval(interval):
  """Returns an interval and its method as text."""
  if interval is None:
    return _NOTHING, _NOTHING
  low, high, method = interval
  return f"{low:.4f} to {high:.4f}", method
