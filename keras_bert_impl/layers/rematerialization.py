"""Blocks that are computed again in the backward pass, to save memory."""

import contextlib
import threading

import keras

from keras_bert_impl.layers import dropout


# MirroredStrategy runs each replica in a thread of its own.
class _Context(threading.local):
  is_on = False


_context = _Context()


@contextlib.contextmanager
def rematerialize(is_on=True):
  """Makes every `TransformerBlock` trained inside keep its input alone.

  What lies between its input and its output is computed a second time when the
  gradient is taken: up to a third more work, for a fraction of the memory.
  Nothing of it is part of the model, so that variables, checkpoints and results
  are those of a model trained without it. It needs `random_seed`, without which
  the second dropout masks would be others than the first.

  Args:
    is_on: bool; without it nothing changes.
  """
  previous = _context.is_on
  _context.is_on = is_on
  try:
    yield
  finally:
    _context.is_on = previous


def apply(function, inputs):
  """Returns `function(inputs)`, computed again for the gradient if asked for.

  Args:
    function: callable of a tensor; returns tensors, and may read variables.
    inputs: float tensor.

  Raises:
    ValueError: inside of `rematerialize` but outside of `random_seed`.
  """
  if not _context.is_on:
    return function(inputs)
  return keras.remat(dropout.repeatable(function))(inputs)
