"""The configurations of a search: their names, and what their runs come to."""

import statistics


def summarize(entries):
  """Returns a summary of the restarts of each configuration, list of dicts.

  The standard deviation is the sample's (n - 1); it is 0 for a single run.
  """
  groups = {}
  for entry in entries:
    values = _without_seed(entry["values"])
    groups.setdefault(name_of(values), (values, []))[1].append(entry)
  summaries = []
  for values, members in groups.values():
    scores = [member["score"] for member in members]
    summaries.append(
      {
        "values": values,
        "num_runs": len(scores),
        "mean": statistics.mean(scores),
        "standard_deviation": statistics.stdev(scores) if scores[1:] else 0.0,
        "best": max(scores),
        "num_degenerate": sum(member["is_degenerate"] for member in members),
      }
    )
  return summaries


def name_of(values):
  """Returns the name of a run's folder, such as "learning_rate=3e-05"."""
  # Enough digits that no two runs have the same name.
  return "-".join(f"{name}={value:.12g}" for name, value in values.items())


def name_without_seed(values):
  """Returns the name of a run's configuration, "all" if there is only one."""
  return name_of(_without_seed(values)) or "all"


def table(results):
  """Returns (header, rows) of str, a row for each configuration.

  Args:
    results: dict, the content of a search's results.json.
  """
  header = (
    f"dev {results['metric']}",
    "runs",
    "mean",
    "s.d.",
    "best",
    "degenerate",
  )
  rows = [
    (
      name_without_seed(group["values"]),
      str(group["num_runs"]),
      f"{group['mean']:.4f}",
      f"{group['standard_deviation']:.4f}",
      f"{group['best']:.4f}",
      str(group["num_degenerate"]),
    )
    for group in results["configurations"]
  ]
  return header, rows


def _without_seed(values):
  return {k: v for k, v in values.items() if k != "random_seed"}
