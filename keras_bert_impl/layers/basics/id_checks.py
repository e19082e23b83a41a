"""Checks of ids, where they have values."""

import numpy as np

_REMEDIES = {
  "input_mask": "0 is padding, 1 a token and 2 a global token.",
}


def check_ids(name, ids, size):
  """Raises ValueError unless ids, int, are in [0, size).

  A look-up of others gives rows of other tokens, zeros or NaN, depending on
  the device. Nothing is checked while a step is traced: ids have no values yet.
  """
  try:
    values = np.asarray(ids)
  # Traced by TensorFlow or JAX, or partly on another machine.
  except (RuntimeError, TypeError):
    return
  wrong = values[(values < 0) | (values >= size)]
  if wrong.size:
    remedy = _REMEDIES.get(name, "tokenize with the model's own vocabulary.")
    raise ValueError(
      f"{name} ({wrong[0]}) must be from 0 to {size - 1}: {remedy}"
    )
