"""Reports of a run: results.json, tables and the picture of its curves."""

import importlib.metadata
import os
import pathlib
import platform

from keras_bert_impl import files
from keras_bert_impl.tasks.basics import pictures

RESULTS_NAME = "results.json"
CURVES_NAME = "curves.png"
_NONE = type(None)
# Types of the fields that are read again.
_RESULT_TYPES = {
  "artifacts": dict,
  "best": (dict, _NONE),
  "commands": list,
  "configuration": dict,
  "data": dict,
  "eval": dict,
  "exported_step": int,
  "train": dict,
}
# Points of a curve on a page.
_MOST_POINTS = 500
_PACKAGES = ("tensorflow", "keras", "numpy", "tensorflow-text")


def versions():
  """Returns {package: version} of Python and the main dependencies."""
  found = {"python": platform.python_version()}
  for package in _PACKAGES:
    try:
      found[package] = importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
      found[package] = None
  return found


def machine():
  """Returns {name: str}, what this machine is."""
  processor = platform.machine()
  cpus = pathlib.Path("/proc/cpuinfo")
  if cpus.exists():
    lines = cpus.read_text(encoding="utf-8", errors="replace").splitlines()
    models = [x.partition(":")[2] for x in lines if x.startswith("model name")]
    processor = " ".join([processor, *models[:1]])
  return {
    "system": platform.platform(),
    "processor": " ".join(processor.split()),
    "cores": str(num_cores()),
  }


def num_cores():
  """Returns the number of cores that this process may use."""
  if hasattr(os, "sched_getaffinity"):  # Not on macOS and Windows.
    return len(os.sched_getaffinity(0))
  return os.cpu_count()


def read_json(path, kind=dict, types=None):
  """Returns the content of a run's JSON file, or None without the file.

  Args and errors: as of `files.parse_json`.
  """
  try:
    return files.find_json(path, kind, types)
  except ValueError as error:
    raise ValueError(
      f"{error} A run wrote it: restore it, or delete it to do without."
    ) from error


def read_results(output_dir):
  """Returns the content of a folder's `results.json`, {} without one.

  Raises:
    ValueError: no run has written it so; names the file.
  """
  path = os.path.join(output_dir, RESULTS_NAME)
  return read_json(path, types=_RESULT_TYPES) or {}


def scores_of(results, split):
  """Returns a split's {metric: float} in the results of a fine-tuning, or {}.

  Raises:
    ValueError: no run has written it so.
  """
  evaluated = results.get("eval", {})
  place = f"eval of {split} in {RESULTS_NAME}"
  evaluation = files.field(evaluated, split, dict, place, default={})
  scores = files.field(evaluation, "scores", dict, place, default={})
  files.check_fields(scores, dict.fromkeys(scores, (float, _NONE)), place)
  return scores


def table(rows, header=()):
  """Returns a text table of rows of cells with aligned columns.

  Args:
    rows: list of equally long tuples of str; all but the first column are
      aligned right.
    header: tuple of str, or empty for none.
  """
  lines = [*([header] if header else []), *rows]
  widths = [max(len(row[i]) for row in lines) for i in range(len(lines[0]))]

  def line(cells):
    first, *rest = (
      cell.rjust(width) if i else cell.ljust(width)
      for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join([first, *rest]).rstrip()

  text = [line(row) for row in lines]
  if header:
    text.insert(1, "  ".join("-" * width for width in widths))
  return "\n".join(text)


def _panels(names, short_names):
  """Yields (name, title) of the logged scalars to plot."""
  for name in names:
    of_what, _, kind = name.rpartition("_")
    if of_what and kind in ("loss", "accuracy"):
      short = short_names.get(of_what, of_what.replace("_", " "))
      yield name, f"{short} {kind}"
  for name in ("learning_rate", "examples_per_second"):
    if name in names:
      yield name, name.replace("_per_second", "/s").replace("_", " ")


def plot_curves(path, entries, evaluation=None, short_names=None):
  """Plots losses, accuracies, learning rate and speed over the steps as PNG.

  Args:
    path: str, of the PNG.
    entries: list of dicts with `step` and scalars (`run_log.read`).
    evaluation: {metric: float}, drawn as dots at the end.
    short_names: {loss name: str}, for the titles.
  """
  panels = list(_panels(entries[-1] if entries else (), short_names or {}))
  canvas = pictures.new_figure(12, 3.2 * -(-len(panels) // 3))
  for index, (name, label) in enumerate(panels):
    axes = canvas.add_subplot(-(-len(panels) // 3), 3, index + 1)
    _plot_curve(axes, entries, name, evaluation)
    axes.set_title(label)
  pictures.save(canvas, path)


def draw_curves(entries, evaluation=None, short_names=None):
  """Yields (title, figure) of each curve of `plot_curves`, drawn for a page.

  Of a long log, every so many entries, the last one always.
  """
  step = -(-len(entries) // _MOST_POINTS) or 1
  entries = entries[::-step][::-1]
  for name, label in _panels(entries[-1] if entries else (), short_names or {}):
    yield label, draw_curve(entries, name, evaluation)


def draw_curve(entries, name, evaluation=None):
  """Returns a small figure of a scalar over the steps; see `plot_curves`."""
  canvas = pictures.new_figure(3.4, 2.2)
  axes = canvas.add_axes((0.17, 0.2, 0.79, 0.7))
  _plot_curve(axes, entries, name, evaluation)
  return canvas


def _plot_curve(axes, entries, name, evaluation):
  """Draws a scalar of the log, and that of the evaluation as a dot."""
  steps = [entry["step"] for entry in entries]
  axes.plot(steps, [e[name] for e in entries], linewidth=1, label="training")
  if evaluation and name in evaluation:
    axes.plot([steps[-1]], [evaluation[name]], "o", label="evaluation")
    axes.legend(frameon=False)
  axes.set_xlabel("step")
  axes.locator_params(nbins=5)
  axes.grid(alpha=0.3)
