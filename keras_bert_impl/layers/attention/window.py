"""Local (sliding window) attention: each position sees only those near it.

A row is cut into blocks as long as the window; a shorter row is one block. The
queries of a block meet the keys of their own, and of half a block on either
side if there is another. So scores and time grow with the length of a row, not
with its square.

Axes, besides those of `layers`: W positions of a block, S blocks of a row, K
keys that a block meets: 2 W, or W if it is the whole row.

Source: Beltagy et al. 2020 (Longformer), section 3.1; Warner et al. 2024
(ModernBERT), section 2.1.2.
"""

import dataclasses
import functools

from keras import ops

from keras_bert_impl.layers.attention import (
  buckets,
  disentangled,
  rotary,
  scores,
  self_attention,
)
from keras_bert_impl.layers.basics import kernels, layer, parts


@dataclasses.dataclass(frozen=True)
class WindowConfig(parts.Part):
  """Fields of layers in which a token sees only those near it.

  Attributes:
    attention_window: tokens of a window: a token sees those up to half of it
      away; 0 means that it sees all. With `use_global_tokens` it may be a tuple
      of the window of each layer.
    global_attention_every: n: the first layer and every n-th after it see all.
  """

  attention_window: int | tuple[int, ...] = parts.field(0)
  global_attention_every: int = parts.field(1, "[1, inf)")

  SWITCH = "attention_window"
  EXCLUDES = (buckets.BucketsConfig, disentangled.DisentangledConfig)

  @classmethod
  def check(cls, config):
    """Raises ValueError if a window has no token on either side."""
    size = config.attention_window
    if isinstance(size, tuple) and not config.use_global_tokens:
      raise ValueError(
        f"attention_window ({size}) must be one number for all layers without"
        " use_global_tokens."
      )
    if min(config.windows_by_layer) < 2:
      raise ValueError(
        f"attention_window ({size}) must be at least 2, one "
        "token on either side, or 0 for none."
      )
    config.check_layers_may_differ()

  @property
  def windows(self):
    """The window of each layer's attention, None where it sees all; a list."""
    every = self.global_attention_every
    return [
      size if size and number % every else None
      for number, size in enumerate(self.windows_by_layer)
    ]

  @property
  def windows_by_layer(self):
    """The window of each layer, whether or not it sees all; a tuple."""
    size = self.attention_window
    whole = isinstance(size, tuple)
    return size if whole else self.num_hidden_layers * (size,)

  def of_layers(self, chosen):
    """Returns the configuration of some layers alone.

    Args:
      chosen: sequence of int, their numbers.
    """
    size = self.attention_window
    if isinstance(size, tuple):
      size = tuple(size[layer] for layer in chosen)
    return dataclasses.replace(
      self, num_hidden_layers=len(chosen), attention_window=size
    )

  @classmethod
  def attention(cls, config, dtype, index):
    """Returns a new `LocalAttention`, or None for a layer that sees all."""
    window = config.windows[index]
    if window is None:
      return None
    return self_attention.of_config(
      config, dtype, LocalAttention, window=window
    )


@dataclasses.dataclass(eq=False, repr=False)
class _LocalAttentionArguments(layer.Arguments):
  window: int
  causal_direction: str | None = None
  chunk_size: int | None = None


class LocalAttention(_LocalAttentionArguments, self_attention.AttentionKind):
  """Each position sees those up to half a window away, in time linear in L.

  Positions may come as "rotary", as of `RotaryEmbedding`; with "everywhere",
  key and value of others, float [B, G, N, D], and which of them are there, bool
  [B, G], each position sees these too.

  Args:
    window: int, at least 2.
    causal_direction: str or None; see `AttentionKind`.
    chunk_size: int or None, without effect here.
    **kwargs: of `keras.layers.Layer`.

  Raises:
    ValueError: the window is no integer of at least 2.

  Source: Beltagy et al. 2020 (Longformer), section 3.1.
  """

  def __post_init__(self):
    super().__post_init__()
    if not isinstance(self.window, int) or self.window < 2:
      raise ValueError(
        f"window ({self.window!r}) of {self.name} must be an integer of at"
        " least 2."
      )

  @property
  def reach(self):
    """Tokens on either side that a position sees, int."""
    return self.window // 2

  def attend(
    self, query, key, value, seen, positions, drop, *, whole, training
  ):
    """Computes the context of each position; as `AttentionKind.attend`.

    A position of a mask [B, L] that sees nothing, such as padding far from all
    tokens, gets the mean of the row's values; in a causal encoder, zeros. So it
    is in transformers.

    Raises:
      ValueError: positions are a bias, which a window has no place for.
    """
    if "bias" in positions:
      raise ValueError(
        f"A bias of positions does not go with the window ({self.window}) of"
        f" {self.name}."
      )
    attention_mask = seen
    angles = (positions["rotary"],) if "rotary" in positions else ()
    shape, reach = ops.shape(query)[:2], self.window // 2
    length, direction = shape[1], self.causal_direction
    # Two blocks have as many scores as the whole row.
    whole |= isinstance(length, int) and length <= 4 * reach
    mean = ops.mean(value, axis=1, keepdims=True)
    if whole:
      seen = _band(attention_mask, length, reach, direction)
      arrange = rotary.turned_heads
    else:
      seen = _seen_in_blocks(attention_mask, shape, reach, direction)
      arrange = _heads_in_blocks(reach)
    query, key, value = kernels.arrange(
      arrange, (query, key, value), angles, training
    )
    others = key, value
    if "everywhere" in positions:
      num_blocks = 1 if whole else _num_blocks(length, reach)
      seen, others = _with_others(
        seen, others, positions["everywhere"], num_blocks
      )
    context, probs = scores.attend(scores.rows(query, seen), others, drop)

    def as_rows(x):  # [B S, W, ...] -> [B, L, ...]
      if whole:
        return x
      padded = length + _fill(length, 2 * _sizes(length, reach)[0])
      return ops.reshape(x, (shape[0], padded, x.shape[-1]))[:, :length]

    context = as_rows(context)
    if attention_mask is not None and len(attention_mask.shape) == 2:
      sees_any = as_rows(ops.any(seen, axis=-1, keepdims=True))
      mean = ops.reshape(mean, (shape[0], 1, context.shape[-1]))
      context = ops.where(sees_any, context, 0.0 if direction else mean)
    return context, probs


# Cached, because `kernels.arrange` compiles a program for each function object.
@functools.cache
def _heads_in_blocks(reach):
  """Returns a function that splits query, key and value by block and head.

  It takes them as [B, L, N, D] and perhaps the angles of `RotaryEmbedding`,
  turns query and key by these, and returns [B S, N, W or K, D].
  """

  def arrange(query, key, value, *angles):
    if angles:
      query, key = rotary.turn(query, *angles), rotary.turn(key, *angles)
    half, around = _sizes(ops.shape(query)[1], reach)
    blocks = (
      _blocks(query, 2 * half),
      _neighbourhoods(key, half, around),
      _neighbourhoods(value, half, around),
    )
    return tuple(map(scores.split_heads, blocks))

  return arrange


def _sizes(length, reach):
  """Returns half of W, and how many keys around a block its queries meet.

  Rows of up to W are one block, with none around it. Blocks of the window would
  be many times as long as a short text, where lengths are not known before.
  """
  if isinstance(length, int):
    return reach, reach  # Shorter rows are not in blocks.
  half = ops.clip((length + 1) // 2, 1, reach)
  return half, ops.where(length <= 2 * half, 0, half)


def _num_blocks(length, reach):
  """Returns S, the number of blocks of a row."""
  size = 2 * _sizes(length, reach)[0]
  return (length + size - 1) // size


def _with_others(seen, own, others, num_blocks):
  """Returns what is seen, key and value of blocks, with others before them.

  Args:
    seen: bool [B S, W, K].
    own: key and value, float [B S, N, K, D].
    others: key and value, float [B, G, N, D], and bool [B, G], which are seen.
    num_blocks: int, S.
  """
  *others, is_there = others

  def of_blocks(x):  # [B, ...] -> [B S, ...]
    batch, *rest = ops.shape(x)
    x = ops.broadcast_to(ops.expand_dims(x, 1), (batch, num_blocks, *rest))
    return ops.reshape(x, (batch * num_blocks, *rest))

  is_there = ops.expand_dims(of_blocks(is_there), 1)  # [B S, 1, G]
  size = ops.shape(is_there)[-1]
  is_there = ops.broadcast_to(is_there, (*ops.shape(seen)[:2], size))
  others = [of_blocks(scores.split_heads(x)) for x in others]
  return (
    ops.concatenate([is_there, seen], axis=-1),
    [ops.concatenate(pair, axis=2) for pair in zip(others, own, strict=True)],
  )


def _band(attention_mask, length, reach, direction):
  """Returns which positions each one of a row sees, bool [B or 1, L, L]."""
  place = ops.arange(length)
  near = _is_near(place[None, :] - place[:, None], reach, direction)[None]
  if attention_mask is None:
    return near
  return near & scores.whole_mask(attention_mask)


def _seen_in_blocks(attention_mask, shape, reach, direction):
  """Returns which of its neighbourhood a position sees, bool [B S, W, K]."""
  half, around = _sizes(shape[1], reach)
  size = 2 * half
  place = ops.arange(size + 2 * around)[None, :] - around
  distance = place - ops.arange(size)[:, None]
  near = _is_near(distance, reach, direction)
  if attention_mask is None:
    attention_mask = ops.ones(shape, "bool")
  if scores.is_of_texts(attention_mask):
    # From 1 on, as what is before and after the row is 0.
    texts = ops.cast(ops.squeeze(attention_mask, -1), "int32") + 1
    own = _blocks(texts, size)[:, :, None]
    return near & ops.equal(own, _neighbourhoods(texts, half, around)[:, None])
  attention_mask = ops.cast(attention_mask, "bool")
  if len(attention_mask.shape) == 2:
    return near & _neighbourhoods(attention_mask, half, around)[:, None]
  return near & _diagonal(attention_mask, half, around)


def _is_near(distance, reach, direction):
  """Returns whether a position sees another one at that distance, bool."""
  first = 0 if direction == "right_to_left" else -reach
  last = 0 if direction == "left_to_right" else reach
  return (distance >= first) & (distance <= last)


def _pad(x, axis, before, after):
  """Returns `x` with zeros before and after it on an axis."""
  padding = [[0, 0] for _ in x.shape]
  padding[axis] = [before, after]
  return ops.pad(x, padding)


def _fill(length, size):
  """Returns how many positions of padding make a row one of whole blocks."""
  # In numbers above zero: ONNX rounds towards it.
  return (length + size - 1) // size * size - length


def _blocks(x, size):
  """[B, L, ...] -> [B S, W, ...], padded."""
  _, length, *rest = ops.shape(x)
  x = _pad(x, 1, 0, _fill(length, size))
  return ops.reshape(x, (-1, size, *rest))


def _neighbourhoods(x, half, around):
  """[B, L, ...] -> [B S, K, ...]: each block, and what is around it."""
  batch, length, *rest = ops.shape(x)
  size, fill = 2 * half, _fill(length, 2 * half)
  x = _pad(x, 1, half, fill + half)
  # Not -1, which TensorFlow cannot infer for a batch of no rows.
  num_blocks = (length + fill) // size + 1
  x = ops.reshape(x, (batch, num_blocks, size, *rest))  # [B, S + 1, W, ...]
  pieces = x[:, :-1, half - around :], x[:, 1:, : half + around]
  x = ops.concatenate(pieces, axis=2)  # [B, S, K, ...]
  return ops.reshape(x, (-1, size + 2 * around, *rest))


def _diagonal(x, half, around):
  """[B, L, L] -> [B S, W, K]: for each block, its neighbourhood's columns."""
  batch, length, _ = ops.shape(x)
  size, fill = 2 * half, _fill(length, 2 * half)
  x = _pad(_pad(x, 1, 0, fill), 2, half, fill + half)
  _, rows, columns = ops.shape(x)
  blocks = rows // size
  # The columns of each block begin W further right than those of the block
  # before. With W zeros after each block, and read row after row, they all
  # begin at 0.
  x = _pad(ops.reshape(x, (batch, rows * columns)), 1, 0, rows)
  x = ops.reshape(x, (batch, blocks, size * columns + size))
  x = ops.reshape(x[:, :, : size * columns], (-1, size, columns))
  return x[:, :, half - around : half + size + around]
