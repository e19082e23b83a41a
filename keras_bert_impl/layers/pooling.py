"""Pools the hidden states of a text's tokens into one vector."""

import keras
from keras import ops

from keras_bert_impl.layers import base


def _first(mask, positions):
  return _one_hot(mask)


def _last(mask, positions):
  # Times the mask, for a row that has no token.
  return _one_hot(mask * positions) * mask


def _mean(mask, positions):
  return mask / _sum(mask)


def _mean_sqrt_len(mask, positions):
  return mask / ops.sqrt(_sum(mask))


def _weighted_mean(mask, positions):
  return mask * positions / _sum(mask * positions)


# The weights [B, L] of tokens in the sum that is the vector, from their mask
# [B, L] and positions [L], 1 for the first token of the row.
_WEIGHTS = {
  "cls": _first,
  "mean": _mean,
  "mean_sqrt_len_tokens": _mean_sqrt_len,
  "weightedmean": _weighted_mean,
  "lasttoken": _last,
}
_MAX = "max"
MODES = (*_WEIGHTS, _MAX)


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class Pooling(base.Layer):
  """Pools hidden states [B, L, H] to vectors [B, D], D = H times the modes.

  Args:
    modes: str, or tuple of str whose vectors are joined, of
      "cls", the state of the first token;
      "mean", their mean;
      "mean_sqrt_len_tokens", their sum over the root of their number;
      "weightedmean", their mean, weighted by 1, 2, 3, ... of their positions;
      "lasttoken", the state of the last token;
      "max", the maximum of each component.
    **kwargs: of `keras.layers.Layer`.

  Raises:
    ValueError: an unknown mode.

  Source: Reimers and Gurevych 2019, section 3; sentence-transformers,
  pooling.py.
  """

  def __init__(self, modes=("mean",), **kwargs):
    super().__init__(**kwargs)
    self.modes = (modes,) if isinstance(modes, str) else tuple(modes)
    for mode in self.modes:
      if mode not in MODES:
        raise ValueError(
          f"pooling ({mode!r}) must be one of {', '.join(MODES)}."
        )

  def call(self, hidden, input_mask):
    """Pools float [B, L, H] where `input_mask`, int [B, L], is 1, to [B, D].

    Raises:
      ValueError: the rows hold several texts, with a mask of 3 axes.
    """
    check_mask(input_mask)
    # bfloat16 does not hold all integers above 256.
    mask = ops.cast(input_mask, "float32")
    positions = ops.arange(1, ops.shape(hidden)[1] + 1, dtype="float32")

    def pool(mode):
      if mode == _MAX:
        return _max(hidden, mask)
      weights = ops.cast(_WEIGHTS[mode](mask, positions), hidden.dtype)
      return ops.einsum("bl,blh->bh", weights, hidden)

    return ops.concatenate([pool(mode) for mode in self.modes], axis=-1)

  def compute_mask(self, inputs, previous_mask):
    """Returns None: a vector has no positions to mask."""
    return None

  def compute_output_spec(self, hidden, input_mask):
    """Returns the shape and dtype of `call`."""
    check_mask(input_mask)
    shape = (hidden.shape[0], len(self.modes) * hidden.shape[-1])
    return keras.KerasTensor(shape, self.compute_dtype)


def check_mask(input_mask):
  """Raises ValueError if a mask is that of rows of several texts: of 3 axes."""
  if input_mask is not None and len(input_mask.shape) == 3:
    raise ValueError(
      "A pooler reads one text of a row, but the rows hold several texts, with "
      f"a mask of shape {tuple(input_mask.shape)}: give use_pooler=False with "
      "use_sequence_ids=True."
    )


def _one_hot(scores):
  """Returns 1 at the first of the highest scores of each row, 0 elsewhere."""
  best = ops.argmax(scores, axis=1)
  return ops.one_hot(best, ops.shape(scores)[1], dtype=scores.dtype)


def _sum(weights):
  # The sum of a row without tokens is to divide by too.
  return ops.maximum(ops.sum(weights, axis=1, keepdims=True), 1e-9)


def _max(hidden, mask):
  """Returns the maximum [B, H] of tokens; 0 for a row that has none."""
  is_token = mask[:, :, None] > 0
  highest = ops.max(ops.where(is_token, hidden, float("-inf")), axis=1)
  return ops.where(ops.any(is_token, axis=1), highest, 0.0)
