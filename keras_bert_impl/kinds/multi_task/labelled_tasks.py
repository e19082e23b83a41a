"""Labelled data to fine-tune on, by name and path."""

import dataclasses
import os

from keras_bert_impl import files, options
from keras_bert_impl.command_line import program
from keras_bert_impl.kinds.choices import choice_data
from keras_bert_impl.kinds.texts import classification_data
from tfrecords.labelled import data_sets

DEV_FRACTION = 0.2
_DEV_ARTICLES = 10
# Names of tasks of tags -> what they are called, and their flags.
_NER = {
  "ner": ("NER", {}),
  "conll-2003": ("NER", {}),
  "klue-ner": ("KLUE-NER", {"token_unit": "character"}),
}


@dataclasses.dataclass(frozen=True)
class Task:
  """A fine-tuning task of an experiment.

  Attributes:
    name: str, as the paper's table calls it.
    kind: "texts", "choices", "answers" or "tags".
    flags: {flag of the script: value} that name its data.
  """

  name: str
  kind: str
  flags: dict

  @property
  def script(self):
    """str, the script that fine-tunes on it."""
    return _SCRIPTS[self.kind]

  def configuration(self, config_class):
    """Returns an instance of a dataclass of the script with its flags."""
    return config_class(**options.parsed(config_class, self.flags))


_SCRIPTS = {
  "texts": "run_classifier",
  "choices": "run_multiple_choice",
  "answers": "run_squad",
  "tags": "run_ner",
}


def parse(text):
  """Returns the tasks of --tasks, tuple of `Task`.

  Args:
    text: str, "NAME=PATH,NAME=PATH"; a path is a folder of published files, or
      a file of which a part is held out.

  Raises:
    ValueError: it is not of this form, or a name is unknown.
    FileNotFoundError: there is no such file or folder.
  """
  tasks = []
  for part in program.split_names(text):
    name, _, path = part.partition("=")
    if not path:
      raise ValueError(f"tasks ({text!r}) must be NAME=PATH, NAME=PATH, ...")
    # It names a folder of the output.
    options.check_characters("tasks", name, "/")
    if name in ("", os.curdir, os.pardir):
      raise ValueError(f"tasks: {name!r} must be a name, such as mine.")
    if not files.exists(path):
      raise FileNotFoundError(f"File {path}, of the task {name}, is missing.")
    tasks.append(_task(name, path))
  names = [task.name for task in tasks]
  if len(set(names)) < len(names):
    raise ValueError(f"tasks ({text!r}) must name each task once.")
  return tuple(tasks)


def _task(name, path):
  """Returns the `Task` of one name and path."""
  is_folder = os.path.isdir(path)
  flags = {"data_dir" if is_folder else "train_file": path}
  held_out = {} if is_folder else {"dev_fraction": DEV_FRACTION}
  if name.lower() in _NER:
    canonical, form = _NER[name.lower()]
    return Task(canonical, "tags", flags | held_out | form)
  if name.lower() in ("squad", "squad2"):
    return _squad(name, path, is_folder)
  for kind, known in (
    ("texts", classification_data.DATA_SETS),
    ("choices", choice_data.DATA_SETS),
  ):
    try:
      found = data_sets.find(known, name).name
    except ValueError:
      continue
    return Task(found, kind, {"task_name": found} | flags | held_out)
  if is_folder:
    raise ValueError(
      f"tasks: {name!r} is no known data set, so {path} must be a file with the"
      " columns text and label."
    )
  return Task(name, "texts", flags | held_out)


def _squad(name, path, is_folder):
  version = "v2.0" if name.lower() == "squad2" else "v1.1"
  flags = {"train_file": path, "dev_articles": _DEV_ARTICLES}
  if is_folder:
    flags = {
      "train_file": os.path.join(path, f"train-{version}.json"),
      "predict_file": os.path.join(path, f"dev-{version}.json"),
    }
  if version == "v2.0":
    return Task(
      "SQuAD 2.0", "answers", flags | {"version_2_with_negative": True}
    )
  return Task("SQuAD", "answers", flags)
