"""Model card: the README.md beside a saved model, for people and hubs."""

import os
import pathlib
import tempfile

from keras_bert_impl import files
from keras_bert_impl.training import run_results

NAME = "README.md"
_UNTRAINED = "feature-extraction"
# Settings that a reader asks for first; others are in results.json.
_SETTINGS = (
  "init_checkpoint",
  "num_train_epochs",
  "train_batch_size",
  "learning_rate",
  "random_seed",
  "max_seq_length",
  "prefix",
  "max_target_length",
  "num_beams",
)


def write(folder, estimator, task, results):
  """Writes the card of a model.

  Args:
    folder: str.
    estimator: class of `kb` that opens the folder.
    task: {name: value}, as of `task_file.read`.
    results: results.json of its training; {} if it was not trained here.
  """
  name = os.path.basename(os.path.abspath(folder))
  is_for_task = (
    task.get("head") in estimator.kind.tasks or estimator._answers_untrained
  )
  lines = [
    "---",
    "library_name: keras_bert_impl",
    f"pipeline_tag: {estimator.kind.pipeline if is_for_task else _UNTRAINED}",
    "license: unknown  # Yours to say: data and first model have theirs.",
    "---",
    "",
    f"# {name}",
    "",
    "```python",
    "import keras_bert_impl as kb",
    "",
    f'model = kb.{estimator.__name__}.from_checkpoint("{name}")',
    "```",
  ]
  if task.get("labels"):
    lines += ["", f"Labels: {', '.join(task['labels'])}."]
  lines += _table("Data", results.get("data", {}), _counts)
  lines += _table("Scores", results.get("eval", {}), _scores)
  configuration = results.get("configuration", {})
  configuration = configuration | {"init_checkpoint": _public(configuration)}
  settings = {
    k: configuration[k] for k in _SETTINGS if configuration.get(k) is not None
  }
  lines += _table("Settings", settings, str)
  lines += _table("Versions", run_results.versions(), str)
  files.write_atomically(os.path.join(folder, NAME), "\n".join(lines) + "\n")


def _public(configuration):
  """Returns the name of the first checkpoint for people elsewhere, or None."""
  path = configuration.get("init_checkpoint")
  if not path or not os.path.isabs(path):
    return path
  # That of an earlier `fit` is gone with its estimator.
  is_passing = tempfile.gettempdir() in map(str, pathlib.Path(path).parents)
  return None if is_passing else os.path.basename(os.path.normpath(path))


def _table(title, values, show):
  """Returns the lines of a section; [] without values."""
  if not values:
    return []
  rows = [f"| {name} | {show(value)} |" for name, value in values.items()]
  return ["", f"## {title}", "", "| | |", "|---|---|", *rows]


def _counts(counts):
  return ", ".join(f"{number} {what}" for what, number in counts.items())


def _scores(result):
  return ", ".join(f"{k} {v:.4f}" for k, v in result["scores"].items())
