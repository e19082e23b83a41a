"""Makes a pair of encoders of two checkpoints, one of each direction."""

import dataclasses

from keras_bert_impl import heads
from keras_bert_impl.checkpoints.naming import mappings, names
from keras_bert_impl.training import experiment


def pair(forward, backward):
  """Returns the checkpoint of a `models.BidirectionalPair`.

  It has the heads and poolers that both have.

  Args:
    forward: `checkpoints.reading.Checkpoint`, of a left-to-right model.
    backward: the same, of a right-to-left one.

  Raises:
    FileNotFoundError: nothing beside one says what it is.
    ValueError: a direction is another, or the two have other sizes or another
      vocabulary.
  """
  first, second = forward.described(), backward.described()
  _check_direction(forward.path, first.config, "left_to_right")
  _check_direction(backward.path, second.config, "right_to_left")
  config = first.config.in_direction("both")
  _check_same(config, second.config, forward.path, backward.path)
  vocabularies = {
    experiment.vocabulary_fingerprint(checkpoint.folder)
    for checkpoint in (forward, backward)
  }
  if len(vocabularies - {None}) > 1:
    raise ValueError(
      f"{backward.path} has another vocabulary than {forward.path}: ids would"
      " mean other tokens."
    )
  return dataclasses.replace(
    forward,
    tensors=_Joined(forward.tensors, backward.tensors),
    description=dataclasses.replace(
      first,
      config=config,
      head=first.head if first.head == second.head else heads.ENCODER,
      use_pooler=first.use_pooler and second.use_pooler,
    ),
  )


class _Joined(mappings.Tensors):
  """The weights of two models; of the second, behind `RIGHT_TO_LEFT`."""

  def __init__(self, forward, backward):
    self._places = {name: (forward, name) for name in forward.shapes}
    for name in backward.shapes:
      self._places[names.RIGHT_TO_LEFT + name] = backward, name
    self.shapes = {
      name: tensors.shapes[own] for name, (tensors, own) in self._places.items()
    }

  def __getitem__(self, name):
    tensors, own = self._places[name]
    return tensors[own]


def _check_direction(path, config, direction):
  found = config.reading_direction
  if found != direction:
    raise ValueError(
      f"{path} must be a model of causal_direction {direction!r}, not"
      f" {found!r}: --input is the left-to-right one and --right_to_left the"
      " other."
    )


def _check_same(first, second, path, other_path):
  """Raises ValueError if configurations differ in more than the direction."""
  for field in dataclasses.fields(first):
    ours, theirs = getattr(first, field.name), getattr(second, field.name)
    if field.name != "causal_direction" and ours != theirs:
      raise ValueError(
        f"{field.name} of {other_path} ({theirs!r}) must be that of {path}"
        f" ({ours!r})."
      )
