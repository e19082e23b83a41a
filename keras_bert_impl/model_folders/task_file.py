"""The file task.json of a fine-tuned model: the task of its training."""

import dataclasses
import numbers
import os
import types
import typing

from keras_bert_impl import files, options
from keras_bert_impl.training import run_results

NAME = "task.json"
_NONE = types.NoneType
_PLAIN = (bool, dict, float, int, str, _NONE)
_NAMES = tuple[str, ...]


def read(folder, kinds=()):
  """Returns the task of a run from `task.json` in its folder, {} without one.

  Args:
    folder: str.
    kinds: iterable of `kind.Kind`, those whose tasks the file may describe:
      their dataclasses say of what types and in what ranges its values are.

  Raises:
    ValueError: no run has written it so; names the file.
  """
  path = os.path.join(folder, NAME)
  allowed, texts, intervals = _schema(kinds)
  task = run_results.read_json(path, types=allowed) or {}
  for name in texts & task.keys():
    for item in task[name] or ():
      files.check_type(item, str, f"each of {name} in {path}")
  try:
    for name in intervals.keys() & task.keys():
      if isinstance(task[name], numbers.Real):
        options.check_numbers(intervals[name], **{name: task[name]})
  except ValueError as error:
    raise ValueError(f"{error} See {path}.") from error
  for kind in kinds:
    task_class = kind.tasks.get(task.get("head"))
    has_names = task_class and _hints(task_class).get("labels") == _NAMES
    if has_names and not task.get("labels", True):
      raise ValueError(
        f"labels ({task['labels']!r}) in {path} must be the names of the"
        " classes."
      )
  return task


def write(folder, task):
  """Writes the file into a folder; `task` is as `read` returns it."""
  files.write_json(os.path.join(folder, NAME), task)


def _schema(kinds):
  """Returns ({name: types}, names of lists of texts, {name: interval})."""
  allowed = {"head": (str,), "labels": (list, _NONE), "max_seq_length": (int,)}
  texts, intervals = {"labels"}, {"max_seq_length": options.SEQ_LENGTHS}
  for kind in kinds:
    described = (*kind.described, *kind.tasks.values())
    for config_class in described:
      for name, hint in _hints(config_class).items():
        allowed[name] = allowed.get(name, ()) + _json_types(hint)
        texts |= {name} if hint == _NAMES else set()
    for config_class in (*described, kind.options):
      for field in dataclasses.fields(config_class):
        if field.metadata.get("interval"):
          intervals[field.name] = field.metadata["interval"]
  return allowed, texts, intervals


def _hints(config_class):
  """Returns {name: type} of the fields of a dataclass."""
  hints = typing.get_type_hints(config_class)
  return {f.name: hints[f.name] for f in dataclasses.fields(config_class)}


def _json_types(hint):
  """Returns the types of JSON that a field of a type is written as, tuple."""
  if isinstance(hint, types.UnionType):
    return sum(map(_json_types, typing.get_args(hint)), ())
  if tuple in (hint, typing.get_origin(hint)):
    return (list,)
  return (hint,) if hint in _PLAIN else (object,)
