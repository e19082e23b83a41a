"""Graphs of ids, without strings, that other formats can hold."""

import contextlib
from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from keras_bert_impl.layers.basics import kernels

LENGTH = "length"


class Graph(NamedTuple):
  """A function of ids and weights.

  Attributes:
    function: of {input: tensor} and a list of tensors, the weights; returns
      {output: tensor}.
    inputs: {name: `tf.TensorSpec`}.
    axes: {name: tuple of str or int}, the axes of each input.
    weights: list of variables.
  """

  function: Callable
  inputs: dict
  axes: dict
  weights: list

  def trace(self):
    """Returns the concrete function, of inputs by name."""
    return _trace(
      lambda *inputs: self._call(inputs, list(self.weights)),
      list(self.inputs.values()),
    ).get_concrete_function()

  def trace_apart(self):
    """Returns the `tf.function` of inputs and weights, weight_0 and so on."""
    specs = [
      tf.TensorSpec(weight.shape, weight.dtype, f"weight_{number}")
      for number, weight in enumerate(self.weights)
    ]
    size = len(self.inputs)
    return _trace(
      lambda *tensors: self._call(tensors[:size], list(tensors[size:])),
      [*self.inputs.values(), *specs],
    )

  def _call(self, inputs, weights):
    return self.function(dict(zip(self.inputs, inputs, strict=True)), weights)


def of_servable(servable, fixed_length=None, part=None):
  """Returns the `Graph` of what a `Servable` computes of ids.

  Args:
    servable: `servables.Servable`.
    fixed_length: int, tokens of the only row; None for any shape.
    part: str, one of its `parts`; None for `answer_rows`.
  """
  whole = servable.answer_rows, servable.row_inputs
  compute, axes = servable.parts[part] if part else whole

  def function(rows, weights):
    with _holding(servable, weights):
      return compute(rows)

  sizes = {LENGTH: fixed_length}
  default = None if fixed_length is None else 1
  specs = {
    name: tf.TensorSpec(
      [x if isinstance(x, int) else sizes.get(x, default) for x in names],
      tf.float32 if name in servable.float_inputs else tf.int32,
      name,
    )
    for name, names in axes.items()
  }
  return Graph(function, specs, axes, list(servable.model_weights))


def _trace(function, specs):
  traced = tf.function(function, specs, autograph=False)
  with kernels.portable():
    traced.get_concrete_function()
  return traced


@contextlib.contextmanager
def _holding(servable, weights):
  """Lets a servable compute with other weights."""
  own = servable.model_weights
  servable.model_weights = weights
  try:
    yield
  finally:
    servable.model_weights = own
