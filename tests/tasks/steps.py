"""Steps down the gradient of a task of texts."""

import tensorflow as tf


def check_loss_falls(task, labels):
  """Checks that eight steps lower the loss of three rows.

  Args:
    task: `Task` with the loss "label".
    labels: list of 3 numbers.
  """
  model = task.build_model()
  batch = {
    "input_ids": tf.constant([[2, 5, 3], [2, 6, 3], [2, 7, 3]]),
    "segment_ids": tf.zeros((3, 3), tf.int32),
    "input_mask": tf.ones((3, 3), tf.int32),
    "label_ids": tf.constant(labels),
  }
  inputs = {name: batch[name] for name in model.input}
  losses = []
  for _ in range(8):
    with tf.GradientTape() as tape:
      loss = task.losses(batch, model(inputs))["label"]
    losses.append(float(loss))
    variables = [v.value for v in model.trainable_variables]
    for variable, slope in zip(
      variables, tape.gradient(loss, variables), strict=True
    ):
      if slope is not None:
        variable.assign_sub(0.05 * tf.convert_to_tensor(slope))
  assert losses[-1] < 0.9 * losses[0]
