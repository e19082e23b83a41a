"""What the language models of both directions see."""

import numpy as np

from tests import architectures

_PLACE = 3  # of the token that is changed
# Of each output, the places that must not see that token, and the others.
_PARTS = {
  "token_logits": (slice(None, _PLACE), slice(_PLACE, None)),
  "backward_token_logits": (slice(_PLACE + 1, None), slice(None, _PLACE + 1)),
}


def differences(model):
  """Yields what another token changes, for each output of a model.

  Yields:
    two arrays: the largest difference of the logits at each place that predicts
    the token or comes before it in reading, and at each of the others.
  """
  changed = architectures.IDS.copy()
  changed[:, _PLACE] = (changed[:, _PLACE] + 1) % 50
  before, after = (
    {name: np.array(x) for name, x in model({"input_ids": ids}).items()}
    for ids in (architectures.IDS, changed)
  )
  for name, (unchanged, others) in _PARTS.items():
    difference = np.abs(before[name] - after[name]).max(axis=(0, 2))  # [L]
    yield difference[unchanged], difference[others]
