"""A step down the gradient of a task."""

import tensorflow as tf


def check_loss_falls(task, model, batch, *names):
  """Checks that a small step down the gradient lowers a sum of losses.

  Args:
    task: `Task`.
    model: that of the task.
    batch: {column: array}.
    *names: of all losses.
  """
  inputs = {name: batch[name] for name in model.input}

  def loss():
    losses = task.losses(batch, model(inputs, training=False))
    assert losses.keys() == {*names}
    return tf.add_n([*losses.values()]) / len(batch["input_ids"])

  variables = [v.value for v in model.trainable_variables]
  with tf.GradientTape() as tape:
    before = loss()
  slopes = tape.gradient(before, variables)
  slopes = [None if s is None else tf.convert_to_tensor(s) for s in slopes]
  norm = tf.linalg.global_norm(slopes)
  for variable, slope in zip(variables, slopes, strict=True):
    if slope is not None:
      variable.assign_sub(0.02 / norm * slope)
  # What the slope promises, nearly.
  assert 0.5 * 0.02 * norm < before - loss() < 1.5 * 0.02 * norm


def batch_of_texts(labels):
  """Returns three rows with labels."""
  return {
    "input_ids": tf.constant([[2, 5, 3], [2, 6, 3], [2, 7, 3]]),
    "segment_ids": tf.zeros((3, 3), tf.int32),
    "input_mask": tf.ones((3, 3), tf.int32),
    "label_ids": tf.constant(labels),
  }
