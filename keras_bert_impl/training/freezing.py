"""Freezing: which layers of a model are trained.

A frozen variable is one with `trainable = False`, the flag of Keras. The
training loop asks for gradients of the others only, so that nothing is computed
backwards below the lowest of them; the optimizer has no moments of it.
"""

import math
import re

from absl import logging

from keras_bert_impl.optimizers import layerwise

ALL, HEAD = "all", "head"
_LAST = re.compile(r"last_([1-9][0-9]*)")


def num_blocks(train_layers):
  """Returns how many transformer blocks are trained, int; None for all layers.

  Args:
    train_layers: str, "all", "head" or "last_N".

  Raises:
    ValueError: it is none of these.
  """
  if train_layers in (ALL, HEAD):
    return None if train_layers == ALL else 0
  last = _LAST.fullmatch(train_layers)
  if last is None:
    raise ValueError(
      f"train_layers ({train_layers!r}) must be all, head or last_N, with N"
      " from 1 to the number of the model's blocks, such as last_4."
    )
  return int(last.group(1))


def check(train_layers, config):
  """Checks that the blocks of an encoder can be frozen so.

  Args:
    train_layers: as `num_blocks`.
    config: `EncoderConfig`.

  Raises:
    ValueError: it is no such value, there are fewer blocks, or they share their
      weights.
  """
  number = num_blocks(train_layers)
  if number:
    config.check_own_blocks(
      f"train_layers ({train_layers!r}) must be all or head"
    )
  if number and number > config.num_hidden_layers:
    raise ValueError(
      f"train_layers ({train_layers!r}) must be at most"
      f" last_{config.num_hidden_layers}: the model has"
      f" {config.num_hidden_layers} blocks."
    )


def log_share(model):
  """Logs how many of a model's weights are trained."""
  numbers = [
    sum(math.prod(weight.shape) for weight in weights)
    for weights in (model.trainable_weights, model.weights)
  ]
  logging.info("Training %d of %d weights.", *numbers)


def freeze(model, train_layers):
  """Freezes all variables of a model but those of the layers to train.

  What is frozen already stays so.

  Args:
    model: `EncoderModel`.
    train_layers: "all"; "head", what stands on top of the encoder, of which the
      pooler is part; or "last_N", the head and the last N transformer blocks.

  Raises:
    ValueError: as `check`; or the model trains no such block at all.
  """
  check(train_layers, model.config)
  number = num_blocks(train_layers)
  if number is None:
    return
  num_layers = model.config.num_hidden_layers
  lowest = num_layers + 1 - number
  depths = [
    layerwise.depth(variable.path, num_layers)
    for variable in model.trainable_variables
  ]
  if lowest not in depths:
    raise ValueError(
      f"train_layers ({train_layers!r}) must be all or head: the encoder of"
      " this model is frozen, or nothing reads that block."
    )
  before = model.trainable_variables
  for variable, depth in zip(before, depths, strict=True):
    variable.trainable = depth >= lowest
  logging.info(
    "Training %d of %d variables (train_layers=%s).",
    len(model.trainable_variables),
    len(model.weights),
    train_layers,
  )
