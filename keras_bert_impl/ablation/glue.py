"""GLUE: its tasks in a folder, and the file that its site takes.

Source: Devlin et al. 2019, section 4.1 and appendix B.1: WNLI is left out of
table and average, and handed in as its majority class.
"""

import io
import os
import zipfile

from keras_bert_impl import files
from keras_bert_impl.ablation.commands import Command
from keras_bert_impl.ablation.table_plan import BestRun
from keras_bert_impl.kinds.multi_task.labelled_tasks import Task
from keras_bert_impl.kinds.texts import classification_data
from tfrecords.labelled import data_sets

# In the order of the paper's table.
_SCORED = ("MNLI", "QQP", "QNLI", "SST-2", "CoLA", "STS-B", "MRPC", "RTE")
_MAJORITY, _DIAGNOSTIC = "WNLI", "AX"
_NAMES = (*_SCORED, _MAJORITY, _DIAGNOSTIC)
_TRAINED_ON = {_DIAGNOSTIC: "MNLI"}
_OTHER_NAMES = {"diagnostic": _DIAGNOSTIC}
_ZIP = "submission.zip"
_OLDEST = (1980, 1, 1, 0, 0, 0)  # So that equal predictions give equal files.


def tasks(folder):
  """Returns the tasks of GLUE in a folder, tuple of `labelled_tasks.Task`.

  Args:
    folder: str; a task is a folder in it, with the task's name ("SST-2",
      "sst_2", ...) and its published files.

  Raises:
    FileNotFoundError: the folder, or a file to train or score on, is missing.
    ValueError: there is no task of the paper's table in it.
  """
  paths = _paths(folder)
  found = [name for name in _SCORED if name in paths]
  if not found:
    raise ValueError(
      f"tasks ({folder!r}) has no folder of a task of GLUE:"
      f" {', '.join(_SCORED)}."
    )
  for name in found:
    _check_files(name, paths[name], "train")
    _check_files(name, paths[name], "dev")
  return tuple(
    Task(name, "texts", {"task_name": name, "data_dir": paths[name]})
    for name in found
  )


def commands(folder, experiment, before):
  """Returns the `Command`s that predict the test sets of a folder, list.

  A task is predicted by its best run, AX by MNLI's, WNLI as its majority class.

  Args:
    folder: str, as of `tasks`.
    experiment: `table_plan.Experiment`.
    before: list of `Command`, the fine-tunings among them.

  Raises:
    FileNotFoundError: WNLI has no training set to count.
  """
  runs = {c.flags.get("task_name"): BestRun(c.folder) for c in before}
  found = []
  for name, path in _paths(folder).items():
    if _missing(name, path, "test"):
      continue
    if name == _MAJORITY:
      _check_files(name, path, "train")
      flags = {"predict_majority": True}
    elif _TRAINED_ON.get(name, name) in runs:
      flags = {
        "init_checkpoint": runs[_TRAINED_ON.get(name, name)],
        "max_seq_length": experiment.scale.max_seq_length,
      }
    else:
      continue
    found.append(_prediction(name, path, experiment, flags))
  return found


def write_zip(folder, commands):
  """Writes submission.zip of what has been predicted.

  Args:
    folder: str.
    commands: list of `Command`, as of `commands`, that have been run.

  Returns:
    str, a line that tells where it is, and what it lacks.
  """
  paths = {}
  for command in commands:
    submissions = _data_set(command.flags["task_name"]).submissions
    for split, name in submissions.items():
      paths[name] = os.path.join(command.folder, split, name)
  if not paths:
    return "no test files, so that there is nothing to hand in"
  content = io.BytesIO()
  with zipfile.ZipFile(content, "w") as archive:
    for name, path in sorted(paths.items()):
      archive.writestr(
        zipfile.ZipInfo(name, _OLDEST),
        files.read_bytes(path),
        zipfile.ZIP_DEFLATED,
      )
  path = os.path.join(folder, _ZIP)
  files.write_atomically(path, content.getvalue())
  names = [n for task in _NAMES for n in _data_set(task).submissions.values()]
  missing = ", ".join(name for name in names if name not in paths)
  wants = f" (GLUE's site also wants {missing})" if missing else ""
  return f"to hand in {path}{wants}"


def _prediction(name, path, experiment, flags):
  """Returns the `Command` that predicts a task without training."""
  folder = experiment.join("fine_tuning", name, "prediction")
  return Command(
    f"predictions of {name}",
    "run_classifier",
    folder,
    {
      "task_name": name,
      "data_dir": path,
      "output_dir": folder,
      "do_predict": True,
      "quiet": True,
      **flags,
    },
  )


def _paths(folder):
  """Returns {name: path} of the tasks in a folder."""
  if not os.path.isdir(folder):
    raise FileNotFoundError(f"Folder {folder}, of GLUE's tasks, is missing.")
  paths = {}
  for entry in sorted(os.listdir(folder)):
    try:
      name = _data_set(_OTHER_NAMES.get(entry.lower(), entry)).name
    except ValueError:
      continue
    if name in _NAMES and os.path.isdir(os.path.join(folder, entry)):
      paths[name] = os.path.join(folder, entry)
  return paths


def _data_set(name):
  return data_sets.find(classification_data.DATA_SETS, name)


def _missing(name, folder, kind):
  """Returns the missing files of the splits that begin with `kind`, list."""
  return [
    path
    for split, source in _data_set(name).splits.items()
    if split.startswith(kind)
    for path in data_sets.paths_of(source, folder)
    if not files.exists(path)
  ]


def _check_files(name, folder, kind):
  for path in _missing(name, folder, kind):
    raise FileNotFoundError(f"File {path}, of the task {name}, is missing.")
