"""Loops whose tensors grow from step to step, in graphs and eagerly."""

import keras


def run(goes_on, step, state):
  """Returns the state after the last step.

  Args:
    goes_on: function of the state that returns a bool tensor.
    step: function of the state that returns the next one, of the same structure
      and dtypes, whose tensors may have grown; of those with four axes only
      the first and the third.
    state: nested dicts and lists of tensors.
  """
  if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

    if not tf.executing_eagerly():
      state = tf.nest.map_structure(tf.convert_to_tensor, state)
      [state] = tf.while_loop(
        goes_on,
        lambda state: [step(state)],
        [state],
        shape_invariants=[tf.nest.map_structure(_open_shape, state)],
      )
      return state
  while bool(goes_on(state)):
    state = step(state)
  return state


def _open_shape(tensor):
  """Returns the `tf.TensorShape` of what a tensor may become."""
  import tensorflow as tf

  shape = [None] * len(tensor.shape)
  if len(shape) == 4:  # [R, N, T, D] of caches.
    shape[1], shape[3] = tensor.shape[1], tensor.shape[3]
  return tf.TensorShape(shape)
