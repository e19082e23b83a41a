"""Requests that a signature refuses, and what the error says."""

import numpy as np

# Messages of an exported graph about a rank, and about sizes.
WRONG_RANK = "is not compatible with expected shape"
WRONG_SIZE = "must be equally long, but have the shapes"


def of_other_ranks(inputs):
  """Yields {input: array} with one of them of an axis less, more or none."""
  for name, value in inputs.items():
    yield inputs | {name: value.reshape(-1)[0]}
    yield inputs | {name: value[..., np.newaxis]}
    if value.ndim > 1:
      yield inputs | {name: value[0]}


def of_other_sizes(inputs):
  """Yields {input: array} with one that is longer on an axis of them all."""
  shared = min(value.ndim for value in inputs.values())
  if len(inputs) > 1:
    for name, value in inputs.items():
      for axis in range(shared):
        yield inputs | {name: np.repeat(value, 2, axis)}


def of_ids(head):
  """Yields ({input: array}, what the error says) for `token_ids`."""
  inputs, config = head.requests["token_ids"], head.model.config
  limits = {
    "input_ids": config.vocab_size,
    "input_mask": 2,
    "segment_ids": config.type_vocab_size,
  }
  for name, given in inputs.items():
    limit = limits[name]
    for wrong in (-1, limit):
      value = given.copy()
      value[..., -1] = wrong
      message = f"{name} must be from 0 to {limit - 1}, but are from"
      yield inputs | {name: value}, message
  longest = head.servable.longest_row
  longer = {
    name: np.repeat(value[..., :1], longest + 1, -1)
    for name, value in inputs.items()
  }
  yield longer, f"at most {longest} ids, but has"


def of(head):
  """Yields (signature, {input: array}, what the error says)."""
  for signature, inputs in head.requests.items():
    inputs = {name: value[:1] for name, value in inputs.items()}
    for wrong in of_other_ranks(inputs):
      yield signature, wrong, WRONG_RANK
    for wrong in of_other_sizes(inputs):
      yield signature, wrong, WRONG_SIZE
    if signature == "token_ids":
      for wrong, message in of_ids(head):
        yield signature, wrong, message
