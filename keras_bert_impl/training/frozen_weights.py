"""Frozen weights: what oneDNN may assume where nothing is trained.

With `TF_ONEDNN_ASSUME_FROZEN_WEIGHTS=1` in the environment TensorFlow's matrix
products keep the weights in the order that suits the processor, from their
first call on, whatever the variables become. It is read once per process.
"""

import os

_NAME = "TF_ONEDNN_ASSUME_FROZEN_WEIGHTS"


def assume():
  """Makes products in this process keep the weights they see first.

  That pays in bfloat16. It has no effect after the first product, nor where the
  environment says otherwise.
  """
  os.environ.setdefault(_NAME, "1")


def check_trainable():
  """Raises ValueError if products would not see that weights change."""
  value = os.environ.get(_NAME, "0")
  if value.lower() not in ("0", "false"):
    raise ValueError(
      f"{_NAME} is {value!r} in the environment: no model can be trained, "
      "because products go on with the weights they saw first. Unset it."
    )
