"""Windows with global tokens: these see all tokens, and all see them.

Each token sees those near it and the global ones. A global token looks at all
tokens by projections of its own. So scores and time grow with the length of a
row, as with a window alone.

Axes, besides those of `layers`: G slots, which hold the global tokens of a row.

Source: Beltagy et al. 2020 (Longformer), section 3.1.
"""

import dataclasses
import math

from keras import ops

from keras_bert_impl.layers.attention import scores, self_attention, window
from keras_bert_impl.layers.basics import kernels, layer, parts
from keras_bert_impl.layers.heads import output_heads

# What the tokens are that are global where `input_mask` says nothing of it.
FIRST, QUESTION, CHOICE = "first", "question", "choice"
# Enough for a question of 64 tokens. Where a row has more, all tokens look as
# global ones do: the results are the same, in time that grows with L * L.
NUM_SLOTS = 128


@dataclasses.dataclass(frozen=True)
class GlobalTokensConfig(window.WindowConfig):
  """Field of windows with global tokens (Longformer).

  Attributes:
    use_global_tokens: whether each layer has the window `attention_window`, an
      even number, or that of its own, and tokens whose `input_mask` is 2 are
      global.
  """

  use_global_tokens: bool = parts.field(False, shows=True)

  SWITCH = "use_global_tokens"
  EXCLUDES = (self_attention.HeadsConfig, self_attention.DirectionConfig)

  @classmethod
  def check(cls, config):
    """Raises ValueError if a window is odd, or positions are not added."""
    given, sizes = config.attention_window, config.windows_by_layer
    if len(sizes) != config.num_hidden_layers:
      raise ValueError(
        f"attention_window ({given}) must be one number, or one for each of"
        f" num_hidden_layers ({config.num_hidden_layers})."
      )
    if min(sizes) < 2 or any(size % 2 for size in sizes):
      raise ValueError(
        f"attention_window ({given}) must be an even number of at least 2, as"
        " many tokens on either side, with use_global_tokens."
      )
    if config.global_attention_every != 1 or not config.has_positions_in_input:
      raise ValueError(
        f"global_attention_every ({config.global_attention_every}) must be 1,"
        f" and position_embedding_type ({config.position_embedding_type!r}) of"
        " those that are added to the input, with use_global_tokens."
      )

  @property
  def windows(self):
    """The window of each layer's attention; as `WindowConfig.windows`."""
    if not self.use_global_tokens:
      return super().windows
    return [*self.windows_by_layer]

  @property
  def num_ids(self):
    """How many values there are of each input that is checked, {name: int}."""
    marks = {"input_mask": 3} if self.use_global_tokens else {}
    return super().num_ids | marks

  @classmethod
  def attention(cls, config, dtype, index):
    """Returns a new `GlobalAttention`."""
    return self_attention.of_config(
      config,
      dtype,
      GlobalAttention,
      window=config.windows[index],
      units=config.num_attention_heads * config.head_size,
      use_bias=config.attention_bias,
      initializer_range=config.initializer_range,
      name="global",
    )


@dataclasses.dataclass(eq=False, repr=False)
class _GlobalTokensArguments(layer.Arguments):
  default: str | None = None


class GlobalTokens(_GlobalTokensArguments, layer.Layer):
  """Marks the global tokens of rows that mark none themselves.

  Args:
    default: str, "first": the first token; "question": those before the first
      separator; "choice": those after the first separator and the next token.
      None: no token. The separator is what a row ends with.
    **kwargs: of `keras.layers.Layer`.

  Source: transformers, modeling_longformer.py.
  """

  of_keras = {"autocast": False}

  def call(self, input_ids, input_mask):
    """Returns int32 [B, L]: 0 for padding, 1 for a token, 2 for a global one.

    Args:
      input_ids: int [B, L].
      input_mask: int [B, L], of the same values.

    Raises:
      ValueError: as `layer.check_ids`, other values.
    """
    layer.check_ids("input_mask", input_mask, 3)
    mask = ops.cast(input_mask, "int32")
    if self.default is None:
      return mask
    place = ops.arange(ops.shape(mask)[1])[None]
    is_global = place < 1
    if self.default != FIRST:
      last = ops.max(ops.where(mask > 0, place, 0), axis=1, keepdims=True)
      end = ops.take_along_axis(ops.cast(input_ids, "int32"), last, axis=1)
      is_end = ops.equal(ops.cast(input_ids, "int32"), end)
      first = ops.min(ops.where(is_end, place, last), axis=1, keepdims=True)
      is_global = place < first
      if self.default == CHOICE:
        is_global = place > first + 1
    marks_none = ops.max(mask, axis=1, keepdims=True) < 2
    is_global = ops.logical_and(is_global, mask > 0)
    return mask + ops.cast(ops.logical_and(marks_none, is_global), "int32")

  def compute_output_spec(self, input_ids, input_mask):
    """Returns the shape and dtype of `call`."""
    return ops.cast(input_mask, "int32")


@dataclasses.dataclass(eq=False, repr=False)
class _GlobalAttentionArguments(layer.Arguments):
  window: int
  units: int
  use_bias: bool = True
  initializer_range: float = 0.02
  causal_direction: str | None = None
  chunk_size: int | None = None


class GlobalAttention(_GlobalAttentionArguments, window.LocalAttention):
  """Each position sees those near it and global ones, and these see all.

  In a mask [B, L] 1 is a token, 2 a global one. Masks of another shape have no
  global ones. The context of padding is 0.

  Args:
    window: int, even; see `LocalAttention`.
    units: int, N D.
    use_bias: bool, whether the projections for global tokens have biases.
    initializer_range: float, standard deviation.
    causal_direction: None.
    chunk_size: int or None; see `AttentionKind`.
    **kwargs: of `keras.layers.Layer`.

  Source: Beltagy et al. 2020 (Longformer), section 3.1.
  """

  def build(self, hidden_shape):
    """Creates the weights."""
    for name in ("query_global", "key_global", "value_global"):
      dense = self._dense(
        self.units, hidden_shape, name=name, use_bias=self.use_bias
      )
      setattr(self, name, dense)

  def project(self, positions, hidden, query, key, training):
    """Returns "hidden", which is projected again where tokens are global."""
    return {**positions, "hidden": hidden}

  def attend(
    self, query, key, value, seen, positions, drop, *, whole, training
  ):
    """Computes the context of each position; as `AttentionKind.attend`."""
    heads, hidden = (query, key, value), positions["hidden"]
    others = [name for name in positions if name != "hidden"]
    if others:
      raise ValueError(
        f"Positions by {', '.join(others)} do not go with the global tokens of"
        f" {self.name}."
      )
    if seen is None or len(seen.shape) != 2:
      return super().attend(
        *heads, seen, {}, drop, whole=whole, training=training
      )
    seen = ops.cast(seen, "int32")
    given, probs = (heads, hidden, seen, drop, training), None
    length = ops.shape(seen)[1]
    count = ops.sum(ops.cast(seen > 1, "int32"), axis=1)  # [B]
    count = ops.max(count, initial=0)
    if whole or (isinstance(length, int) and length <= NUM_SLOTS):
      context, probs = self._look_anywhere(*given, None)
    elif kernels.is_portable():  # Other formats take long for branches.
      context = self._look_at_slots(*given, ops.maximum(count, 1))
    else:
      context = ops.cond(
        count < 1,
        lambda: self._look_near(*given),
        lambda: ops.cond(
          count <= NUM_SLOTS,
          lambda: self._look_at_slots(*given, NUM_SLOTS),
          # Chunks that are computed again have no gradient in a branch.
          lambda: self._look_anywhere(*given[:-1], False, self.chunk_size)[0],
        ),
      )
    is_token = ops.expand_dims(seen > 0, -1)
    return ops.where(is_token, context, ops.zeros((), context.dtype)), probs

  def _look_near(self, heads, hidden, seen, drop, training, everywhere=None):
    """Returns the context [B, L, N D] of the tokens near each, where 1.

    Args:
      heads: query, key and value, float [B, L, N, D].
      hidden: float [B, L, H], like other arguments there for all three ways.
      seen: int32 [B, L].
      drop: as of `attend`.
      training: bool.
      everywhere: as of `LocalAttention`, or None.
    """
    del hidden
    positions = {} if everywhere is None else {"everywhere": everywhere}
    return super().attend(
      *heads,
      ops.equal(seen, 1),
      positions,
      drop,
      whole=False,
      training=training,
    )[0]

  def _look_at_slots(self, heads, hidden, seen, drop, training, num_slots):
    """Returns the context [B, L, N D] where rows have up to G global tokens."""
    length, is_global = ops.shape(seen)[1], seen > 1
    place = ops.where(is_global, ops.arange(length), length)
    place = ops.sort(place, axis=1)[:, :num_slots]  # [B, G]
    is_filled = place < length
    place = ops.minimum(place, length - 1)
    _, key, value = heads
    everywhere = _at(key, place), _at(value, place), is_filled
    near = self._look_near(heads, hidden, seen, drop, training, everywhere)
    shape = ops.shape(key)
    found, _ = self._look_far(
      _at(hidden, place), hidden, shape, seen, drop, training
    )
    slot = ops.cumsum(ops.cast(is_global, "int32"), axis=1) - 1  # [B, L]
    slot = ops.clip(slot, 0, ops.shape(place)[1] - 1)
    return ops.where(ops.expand_dims(is_global, -1), _at(found, slot), near)

  def _look_anywhere(self, heads, hidden, seen, drop, training, size):
    """Returns context and probabilities, whichever tokens are global.

    Each score of L tokens with L others is made, twice.
    """
    is_global = seen > 1
    shape = ops.shape(heads[0])
    place = ops.arange(shape[1])
    is_near = ops.abs(place[:, None] - place) <= self.reach
    sees = ops.logical_or(is_near, is_global[:, None])
    sees = ops.logical_and(sees, seen[:, None] > 0)  # [B, L, L]
    query, *others = map(scores.split_heads, heads)
    near, near_probs = scores.attend(
      scores.rows(query, sees), others, drop, size, training
    )
    far, far_probs = self._look_far(
      hidden, hidden, shape, seen, drop, training, size
    )
    context = ops.where(ops.expand_dims(is_global, -1), far, near)
    if size is not None:
      return context, None
    is_global = ops.expand_dims(is_global, (1, 3))
    return context, ops.where(is_global, far_probs, near_probs)

  def _look_far(self, looking, hidden, shape, seen, drop, training, size=None):
    """Returns context and probabilities of global tokens.

    Args:
      looking: float [B, R, H], the states of these.
      hidden: float [B, L, H], those of all tokens.
      shape: tuple, (B, L, N, D).
      seen: int [B, L].
      drop: as of `attend`.
      training: bool.
      size: as of `scores.attend`.
    """
    batch, _, *of_heads = shape
    query, *others = (
      scores.split_heads(ops.reshape(x, (batch, ops.shape(x)[1], *of_heads)))
      for x in (
        self.query_global(looking),
        self.key_global(hidden),
        self.value_global(hidden),
      )
    )
    rows = scores.rows(query, seen)
    return scores.attend(rows, others, drop, size, training)


def _at(x, places):
  """Returns what [B, L, ...] has at places [B, P], [B, P, ...]."""
  batch, length, *rest = ops.shape(x)
  found = output_heads.gather_positions(
    ops.reshape(x, (batch, length, math.prod(rest))), places
  )
  return ops.reshape(found, (batch, ops.shape(places)[1], *rest))
