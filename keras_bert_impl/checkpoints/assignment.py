"""Assigns the tensors of a checkpoint to a model's variables, by name."""

import dataclasses

import numpy as np

from keras_bert_impl import given_arrays

_MOST_ERRORS = 20
_MOST_EXAMPLES = 8
_REMEDY = (
  "Give the configuration that belongs to the weights, or --allow_partial "
  "(allow_partial=True) to start these from fresh values."
)


@dataclasses.dataclass(frozen=True)
class Assignment:
  """Result of an assignment: lists of names.

  Attributes:
    loaded: variables that have their values from the checkpoint now.
    new: variables that kept theirs.
    left_over: tensors that no variable took.
  """

  loaded: list
  new: list
  left_over: list

  def __str__(self):
    told = f"{len(self.loaded)} loaded"
    for what, members in (("new", self.new), ("left over", self.left_over)):
      more = ", ..." if len(members) > _MOST_EXAMPLES else ""
      examples = f" ({', '.join(members[:_MOST_EXAMPLES])}{more})"
      told += f"; {len(members)} {what}{examples if members else ''}"
    return told


def assign(
  variables,
  tensors,
  origin,
  allow_partial=False,
  remedy=None,
  required_prefixes=("",),
):
  """Assigns to each variable the tensor of its name.

  Nothing is assigned unless all names and shapes fit.

  Args:
    variables: dict of name -> variable with `shape` and `assign`.
    tensors: mapping of name -> array, with a dict `shapes`. A variable may take
      over the memory of an array.
    origin: str, the checkpoint, for messages.
    allow_partial: bool, whether variables may keep their values where there is
      no tensor of their name and shape.
    remedy: str, the last sentence of the message; default: what to look at.
    required_prefixes: tuple of str; variables whose names begin otherwise may
      always keep their values.

  Returns:
    `Assignment`.

  Raises:
    ValueError: required tensors are missing or have another shape; names the
      first of them. Or none fits, even with `allow_partial`; or as `read`.
  """
  problems = _problems(
    {name: variable.shape for name, variable in variables.items()},
    tensors.shapes,
  )
  errors = [
    problem
    for name, problem in problems.items()
    if name.startswith(tuple(required_prefixes)) and not allow_partial
  ]
  if len(problems) == len(variables):
    errors = list(problems.values())
  if errors:
    shown, rest = "; ".join(errors[:_MOST_ERRORS]), len(errors) - _MOST_ERRORS
    more = f"; and {rest} more" if rest > 0 else ""
    raise ValueError(
      f"Checkpoint {origin} does not fit the model: {shown}{more}."
      f" {remedy or _REMEDY}"
    )
  loaded = [name for name in variables if name not in problems]
  for name in loaded:
    variables[name].assign(given_arrays.Given(read(tensors, name, origin)))
  left_over = [name for name in tensors.shapes if name not in loaded]
  return Assignment(loaded, list(problems), left_over)


def read(tensors, name, origin):
  """Returns the array `name`.

  Args:
    tensors: as for `assign`.
    name: str.
    origin: as for `assign`.

  Raises:
    ValueError: a value in it is NaN or infinite.
  """
  array = np.asarray(tensors[name])
  # A NaN is the least and the greatest of all; `isfinite` takes memory.
  if array.size and not np.isfinite([array.min(), array.max()]).all():
    raise ValueError(
      f"{name} of checkpoint {origin} holds NaN or infinite values, as after a "
      "training that diverged: give another checkpoint."
    )
  return array


def _problems(expected, shapes):
  """Returns {name: fault} of the tensors that do not fit."""
  problems = {}
  for name, shape in expected.items():
    stored = shapes.get(name)
    if stored is None:
      problems[name] = f"{name} is missing"
    elif tuple(stored) != tuple(shape):
      problems[name] = (
        f"{name} has shape {tuple(stored)} there, but {tuple(shape)} in the "
        "model"
      )
  return problems
