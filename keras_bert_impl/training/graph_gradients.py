"""Gradients that TensorFlow registers live as long as their graphs."""

import contextlib
import weakref

from tensorflow.python.framework import ops

_HELD = "_keras_bert_impl_gradients"


@contextlib.contextmanager
def held_by_graphs():
  """Lets the gradients that are registered inside end with their graphs.

  `tf.custom_gradient` registers a function for every call in a graph: so do
  all-reduces and what is rematerialized. TensorFlow never forgets one, and each
  keeps its graph alive, with all weights. Inside, the graph holds the function,
  and the entry only refers to it.
  """
  register = ops.RegisterGradient

  def register_weakly(name):
    def hold(function):
      graph = ops.get_default_graph()
      setattr(graph, _HELD, [*getattr(graph, _HELD, ()), function])
      reference = weakref.ref(function)
      register(name)(lambda op, *upstream: reference()(op, *upstream))
      return function

    return hold

  ops.RegisterGradient = register_weakly
  try:
    yield
  finally:
    ops.RegisterGradient = register
