"""The training loop, tf.distribute strategies, checkpoints, logs, reports."""
