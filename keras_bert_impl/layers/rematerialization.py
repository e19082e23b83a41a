"""Rematerialization: computes blocks again for the gradient, to save memory."""

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
  """Makes every `TransformerBlock` trained inside keep only its input.

  Everything between its input and its output is computed again for the
  gradient: up to a third more work, for a fraction of the memory. The model
  does not change: variables, checkpoints and results are the same. It needs
  `random_seed`, or the second dropout masks would differ from the first.

  Args:
    is_on: bool; False changes nothing.
  """
  previous = _context.is_on
  _context.is_on = is_on
  try:
    yield
  finally:
    _context.is_on = previous


def apply(function, inputs, training):
  """Returns `function(*inputs)`, rematerialized inside `rematerialize`.

  Args:
    function: callable of tensors; returns tensors, and may read variables. The
      gradient reaches nothing else that it reads.
    inputs: list of float tensors.
    training: bool; without it there is no gradient.

  Raises:
    ValueError: inside `rematerialize` but outside `random_seed`.
  """
  if not (training and _context.is_on):
    return function(*inputs)
  return keras.remat(dropout.repeatable(function))(*inputs)
