"""The record of a kind of task: what scripts, doors and servers get of it."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import NamedTuple


@dataclasses.dataclass(frozen=True, kw_only=True)
class NoOptions:
  """Options of a kind without any."""


class Prepared(NamedTuple):
  """What a kind makes of flags and files, for `job.Job.run`.

  Attributes:
    fine_tuning: `tasks.basics.fine_tuning.FineTuning`.
    splits: {split: list of examples}.
    counts: {split: {what: int}}, of the readers.
    note: str, to print at the end.
  """

  fine_tuning: object
  splits: dict
  counts: dict | None = None
  note: str = ""


@dataclasses.dataclass(frozen=True)
class Kind:
  """A kind of task: its parts, from its options to its SavedModels.

  Attributes:
    name: str, that of its package.
    options: dataclass of the options of the task, which are settings of `fit`.
    described: tuple of further dataclasses whose fields task.json holds, such
      as that of the rows.
    tasks: {head: class of its `Task`}, to open what was trained.
    servables: {head: class of its `Servable`}.
    pipeline: str, what hubs call it.
    prepare: function (`job.Job`, the script's configuration) -> `Prepared`;
      None without a script.
    scored: tuple of str, the heads whose outputs of rows alone are scored on
      files of examples, such as those of another format of a model.
  """

  name: str
  tasks: Mapping
  servables: Mapping
  options: type = NoOptions
  described: tuple[type, ...] = ()
  pipeline: str = "feature-extraction"
  prepare: Callable | None = None
  scored: tuple[str, ...] = ()


def of_task(task):
  """Returns the `Kind` of a `Task` alone, by which its models are opened."""
  return Kind("own", {task.head: type(task)}, {})
