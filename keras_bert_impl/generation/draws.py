"""Random numbers that are pure functions of a seed, a prompt and a place.

So a text that is drawn does not depend on the batch that its prompt is in. In
int32 alone, which wraps around on every backend.
"""

from keras import ops


def prompt_keys(ids, mask):
  """Returns a number for each prompt, int32 [B].

  Args:
    ids: int32 [B, L].
    mask: int [B, L], 1 for a token and 0 for padding, on either side.
  """
  mask = ops.cast(mask, "int32")
  place = ops.cumsum(mask, axis=1)
  # The sum is the same wherever padding is.
  return ops.sum(_mixed(ids + _mixed(place)) * mask, axis=1)


def row_bits(keys, number, place, seed):
  """Returns 32 random bits for each row, int32 [R].

  Args:
    keys: int32 [R], of `prompt_keys`.
    number: int32 [R], which of the texts for a prompt it is.
    place: int32 scalar, number of tokens generated.
    seed: int32 scalar.
  """
  found = _mixed(ops.cast(keys, "int32") + _mixed(ops.cast(seed, "int32")))
  found = _mixed(found + _mixed(ops.cast(number, "int32") + 0x3C6EF372))
  return _mixed(found + _mixed(ops.cast(place, "int32") + 0x1B873593))


def draw(logits, bits):
  """Returns a token of each row, int32 [R], drawn from softmax of its logits.

  The token with the largest sum of logit and noise. The inverse of the
  distribution would need one random number of a row in place of V, but there
  another batch, which rounds sums otherwise, changes far more of the tokens.

  Args:
    logits: float32 [R, V], minus infinity for what must not be drawn.
    bits: int32 [R], of `row_bits`.

  Source: Gumbel 1954; Maddison et al. 2014, section 2.
  """
  of_tokens = _mixed(ops.arange(logits.shape[-1], dtype="int32") + 0x51ED270B)
  found = _mixed(ops.expand_dims(bits, 1) + of_tokens)
  share = (ops.cast(_shifted(found, 1), "float32") + 0.5) / 2**31
  noise = -ops.log(-ops.log1p(-share))
  return ops.cast(ops.argmax(logits + noise, axis=-1), "int32")


def _mixed(x):
  """Returns int32 whose every bit depends on all bits of `x`.

  Source: Appleby, MurmurHash3, fmix32 (public domain).
  """
  x = ops.cast(x, "int32")
  x = ops.bitwise_xor(x, _shifted(x, 16)) * -0x7A143595  # 0x85EBCA6B
  x = ops.bitwise_xor(x, _shifted(x, 13)) * -0x3D4D51CB  # 0xC2B2AE35
  return ops.bitwise_xor(x, _shifted(x, 16))


def _shifted(x, bits):
  """Returns `x` shifted to the right, zeros coming in, int32."""
  return ops.bitwise_and(ops.right_shift(x, bits), (1 << (32 - bits)) - 1)
