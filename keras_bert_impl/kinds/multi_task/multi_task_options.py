"""Options of several tasks: flags of run_multi_task.py."""

import dataclasses

from keras_bert_impl import options


@dataclasses.dataclass(frozen=True)
class MultiTaskConfig:
  """Tasks, and how much of each is learned.

  Raises:
    ValueError: options contradict each other.
  """

  tasks: str = options.required(
    "Tasks, NAME=PATH, comma-separated: folders of published data sets, or"
    " files."
  )
  size_exponent: float = options.common(
    0.75,
    "An epoch has rows of each task in proportion to their number to the power"
    " of this: 1 reads all once, 0 as many of each task.",
    interval="[0, 1]",
  )
  task_shares: tuple[float, ...] | None = options.listed(
    None,
    "Rows of each task relative to each other, comma-separated in the order of"
    " --tasks, in the place of --size_exponent.",
    is_common=True,
  )
  task_weights: tuple[float, ...] | None = options.listed(
    None,
    "Factors of the losses, comma-separated in the order of --tasks;"
    " default: 1.",
    is_common=True,
  )

  def numbers(self, name, tasks):
    """Returns the numbers of an option, {task: float}; {} where it is not set.

    Raises:
      ValueError: there is not one for each task, or one is not above 0.
    """
    given = getattr(self, name)
    if given is None:
      return {}
    if len(given) != len(tasks) or not all(0 < x < 1e9 for x in given):
      raise ValueError(
        f"{name} ({given}) must be {len(tasks)} numbers above 0, one for each"
        f" of {', '.join(tasks)}."
      )
    return dict(zip(tasks, given, strict=True))
