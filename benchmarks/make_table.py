"""Writes the table of step_benchmark.py into a document.

  python benchmarks/make_table.py step.json docs/speed.md

What stands between the lines `<!-- step_benchmark -->` and
`<!-- /step_benchmark -->` is replaced. Of a line that was measured again the
last measurement counts.
"""

import argparse
import json
import pathlib
import statistics
import sys

if __name__ == "__main__":
  # The folder of this file holds benchmarks, not packages.
  sys.path[0] = str(pathlib.Path(__file__).parents[1])

from benchmarks import contestants

START, END = "<!-- step_benchmark -->\n", "<!-- /step_benchmark -->"


def make_table(entries):
  """Returns the table in Markdown.

  Args:
    entries: list of what `step_benchmark` writes, all of one machine.
  """
  latest = {(e["line"], e["case"]["dtype"]): e for e in entries}
  names = list(dict.fromkeys(n for e in latest.values() for n in e["seconds"]))
  names.remove("peak")
  peers = [name for name in names if name in contestants.ALL and name != "ours"]
  rows = [
    ["", *names, "ours / best of the others", "share of the peak"],
    ["---"] * (len(names) + 3),
    *(_row(entry, names, peers) for entry in latest.values()),
  ]
  table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
  return f"{entries[-1]['machine']}, examples/s:\n\n{table}\n"


def _row(entry, names, peers):
  """Returns the cells of a line."""
  case, seconds = contestants.Case(**entry["case"]), entry["seconds"]
  median = {name: statistics.median(seconds[name]) for name in seconds}
  rates = [
    _rate(case.batch_size / median[name]) if name in median else ""
    for name in names
  ]
  others = [name for name in peers if name in median]
  best = min(others, key=median.get, default=None)
  ratio = f"{median[best] / median['ours']:.2f}" if best else ""
  peak = contestants.PEAK_FLOPS / min(seconds["peak"])
  share = case.flops / median["ours"] / peak
  name = f"{entry['line']}, {case.dtype}"
  return [name, *rates, ratio, f"{share:.0%}"]


def _rate(value):
  return f"{value:.0f}" if value >= 100 else f"{value:.2f}"


def replace(document, table):
  """Returns the text of a document with its table replaced."""
  before, start, rest = document.partition(START)
  _, end, after = rest.partition(END)
  if not start or not end:
    raise ValueError(f"has no lines {START.strip()} and {END}.")
  return before + start + table + end + after


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("measured", type=pathlib.Path)
  parser.add_argument("document", type=pathlib.Path)
  arguments = parser.parse_args()
  lines = arguments.measured.read_text().splitlines()
  entries = [json.loads(line) for line in lines]
  entries = [e for e in entries if e["machine"] == entries[-1]["machine"]]
  text = replace(arguments.document.read_text(), make_table(entries))
  arguments.document.write_text(text)


if __name__ == "__main__":
  main()
