"""Range checks of token and segment ids."""

import numpy as np


def check(name, ids, size):
  """Raises ValueError if ids are out of range; traced ids are not checked.

  A look-up of such ids gives rows of other tokens, zeros or NaN, depending on
  backend and device. While a step is traced, ids have no values yet: nothing is
  checked, and the step costs nothing more.

  Args:
    name: str, for the message.
    ids: int tensor, array or list.
    size: int; ids must be in [0, size).
  """
  try:
    values = np.asarray(ids)
  # Traced by TensorFlow or JAX, or partly on another machine.
  except (RuntimeError, TypeError):
    return
  wrong = values[(values < 0) | (values >= size)]
  if wrong.size:
    raise ValueError(
      f"{name} ({wrong[0]}) must be from 0 to {size - 1}: tokenize with the "
      "model's own vocabulary."
    )


def check_inputs(input_ids, segment_ids, embeddings):
  """Checks the inputs of an embedding layer, as `check` does.

  Args:
    input_ids: int [B, L].
    segment_ids: int [B, L]; ignored where there are fewer than two segments.
    embeddings: `Embeddings`.
  """
  check("input_ids", input_ids, embeddings.vocab_size)
  if embeddings.type_vocab_size > 1:
    check("segment_ids", segment_ids, embeddings.type_vocab_size)
