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


def uniform(keys, number, place, seed):
  """Returns a number in [0, 1) for each row, float32 [R].

  Args:
    keys: int32 [R], of `prompt_keys`.
    number: int32 [R], which of the texts for a prompt it is.
    place: int32 scalar, number of tokens generated.
    seed: int32 scalar.
  """
  found = _mixed(ops.cast(keys, "int32") + _mixed(ops.cast(seed, "int32")))
  found = _mixed(found + _mixed(ops.cast(number, "int32") + 0x3C6EF372))
  found = _mixed(found + _mixed(ops.cast(place, "int32") + 0x1B873593))
  # 24 bits, which float32 holds exactly.
  return ops.cast(_shifted(found, 8), "float32") / 2**24


def draw(logits, uniform_numbers):
  """Returns a token of each row, int32 [R], by the inverse of its distribution.

  Args:
    logits: float32 [R, V], minus infinity for what must not be drawn.
    uniform_numbers: float32 [R], in [0, 1).
  """
  probs = ops.softmax(logits, axis=-1)
  below = ops.cumsum(probs, axis=-1)  # [R, V]
  wanted = uniform_numbers[:, None] * below[:, -1:]
  found = ops.sum(ops.cast(below <= wanted, "int32"), axis=-1)
  # Rounding may reach the sum; the last possible token is meant then.
  is_possible = probs > 0
  size = probs.shape[-1]
  last = size - 1 - ops.argmax(ops.flip(is_possible, axis=-1), axis=-1)
  return ops.minimum(found, ops.cast(last, "int32"))


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
