"""ELECTRA's corruption of the input: samples tokens from the generator."""

import keras
from keras import ops

from keras_bert_impl.layers.basics import dropout, layer


class TokenSampler(layer.Layer):
  """Replaces masked tokens by samples from the generator's distribution.

  Inside `random_seed` the sample depends only on that seed and the layer's
  path, as a `Dropout` mask does. No gradient flows through it.

  Args:
    **kwargs: of `keras.layers.Layer`.

  Source: Clark et al. 2020, section 2.
  """

  def __init__(self, **kwargs):
    # Keras may pass ids as floats; bfloat16 would round them.
    super().__init__(autocast=False, **kwargs)

  def build(
    self,
    input_ids_shape,
    masked_lm_positions_shape,
    masked_lm_ids_shape,
    masked_lm_weights_shape,
    logits_shape,
  ):
    """Creates the random state that is used outside `random_seed`."""
    self.seed_generator = keras.random.SeedGenerator(name="seed_generator")

  def call(
    self,
    input_ids,
    masked_lm_positions,
    masked_lm_ids,
    masked_lm_weights,
    logits,
  ):
    """Draws the tokens.

    Args:
      input_ids: int [B, L], masked.
      masked_lm_positions: int [B, P], all different where the weight is 1.
      masked_lm_ids: int [B, P], the original tokens.
      masked_lm_weights: float [B, P], 1 for a prediction, 0 for padding.
      logits: float [B, P, V], the generator's.

    Returns:
      Tuple of the ids with the drawn tokens in place and of which tokens were
      replaced (1; a token drawn equal to the original counts as original, 0),
      both int32 [B, L].
    """
    # 0 has no logarithm.
    uniform = ops.maximum(dropout.draw(self, ops.shape(logits)), 1e-9)
    gumbel = -ops.log(-ops.log(uniform))
    drawn = ops.argmax(ops.stop_gradient(logits) + gumbel, axis=-1)
    drawn = ops.cast(drawn, "int32")
    length = ops.shape(input_ids)[1]
    # Each prediction's column; rows of padding stay empty.
    place = ops.one_hot(
      ops.cast(masked_lm_positions, "int32"), length, dtype="float32"
    ) * ops.expand_dims(masked_lm_weights, -1)  # [B, P, L]
    differs = ops.not_equal(drawn, ops.cast(masked_lm_ids, "int32"))
    is_drawn = _sum_int(place, ops.ones_like(drawn))
    is_replaced = _sum_int(place, differs)
    ids = ops.cast(input_ids, "int32") * (1 - is_drawn)
    return ids + _sum_int(place, drawn), is_replaced


def _sum_int(place, values):
  """Returns [B, P, L] times [B, P], summed over P: int32 [B, L].

  Computed in float32, which holds every id exactly.
  """
  values = ops.expand_dims(ops.cast(values, "float32"), -1)  # [B, P, 1]
  return ops.cast(ops.sum(place * values, axis=1), "int32")
