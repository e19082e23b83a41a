"""From the tensors of a checkpoint to the variables of a model, by name."""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Assignment:
  """What an assignment did; lists of names.

  Attributes:
    loaded: variables that have their values from the checkpoint now.
    new: variables that kept theirs.
    left_over: tensors that no variable took.
  """

  loaded: list
  new: list
  left_over: list

  def __str__(self):
    return "; ".join(
      f"{len(members)} {what}" + _examples(members, how_many)
      for what, members, how_many in (
        ("loaded", self.loaded, 0),
        ("new", self.new, 8),
        ("left over", self.left_over, 8),
      )
    )


def assign(
  variables,
  tensors,
  origin,
  allow_partial=False,
  remedy=None,
  required_prefixes=("",),
):
  """Gives each variable the tensor of its name.

  Nothing is assigned unless everything fits.

  Args:
    variables: dict of name -> variable with `shape` and `assign`.
    tensors: mapping of name -> array, with a dict `shapes`.
    origin: str, the checkpoint, for messages.
    allow_partial: bool, whether variables may keep their values where there is
      no tensor of their name and shape.
    remedy: str, the last sentence of the message; default: what to look at.
    required_prefixes: tuple of str; variables whose names begin otherwise may
      always keep their values.

  Returns:
    `Assignment`.

  Raises:
    ValueError: required tensors are missing or have another shape; names them
      all. Or none fits, even with `allow_partial`.
  """
  problems = {}
  for name, variable in variables.items():
    shape = tensors.shapes.get(name)
    if shape is None:
      problems[name] = f"{name} is missing"
    elif tuple(shape) != tuple(variable.shape):
      problems[name] = (
        f"{name} has shape {tuple(shape)} there, but {tuple(variable.shape)} "
        "in the model"
      )
  errors = [
    problem
    for name, problem in problems.items()
    if name.startswith(tuple(required_prefixes)) and not allow_partial
  ]
  if len(problems) == len(variables):
    errors = list(problems.values())
  if errors:
    raise ValueError(
      f"Checkpoint {origin} does not fit the model: "
      f"{'; '.join(errors)}. {remedy or _REMEDY}"
    )
  loaded = [name for name in variables if name not in problems]
  for name in loaded:
    variables[name].assign(np.asarray(tensors[name]))
  left_over = [name for name in tensors.shapes if name not in loaded]
  return Assignment(loaded, list(problems), left_over)


_REMEDY = (
  "Give the configuration that belongs to the weights, or --allow_partial "
  "(allow_partial=True) to start these from fresh values."
)


def _examples(members, how_many):
  if not members or not how_many:
    return ""
  more = ", ..." if len(members) > how_many else ""
  return f" ({', '.join(members[:how_many])}{more})"
