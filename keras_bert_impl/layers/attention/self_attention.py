"""Self-attention, and the kind of it in which each position sees all."""

import dataclasses
import math

from keras import ops

from keras_bert_impl.layers.attention import rotary, scores
from keras_bert_impl.layers.basics import dropout, kernels, layer, parts


@dataclasses.dataclass(frozen=True)
class DirectionConfig(parts.Part):
  """Fields of what a position sees: all, or what precedes or follows it.

  Attributes:
    use_causal_mask: whether a position sees only itself and what precedes it.
    causal_direction: "right_to_left": it sees what follows it instead; "both":
      the encoder is a `models.BidirectionalPair`, one for each, H wide each.
  """

  use_causal_mask: bool = parts.field(False)
  causal_direction: str = parts.field(
    "left_to_right", choices=("left_to_right", "right_to_left", "both")
  )

  @classmethod
  def check(cls, config):
    """Raises ValueError if there is a direction without a causal mask."""
    if not config.use_causal_mask and config.causal_direction != (
      "left_to_right"
    ):
      raise ValueError(
        f"causal_direction ({config.causal_direction!r}) needs"
        " use_causal_mask True."
      )

  @property
  def is_pair(self):
    """Whether the encoder is one for each direction."""
    return self.causal_direction == "both"

  def in_direction(self, direction):
    """Returns the same configuration for another direction."""
    return dataclasses.replace(self, causal_direction=direction)

  def check_direction(self, direction, what):
    """Raises ValueError unless an encoder reads in a direction alone.

    Args:
      direction: str, "left_to_right", "right_to_left" or "both".
      what: str, what needs it, for the message.
    """
    for name, only in (
      ("use_causal_mask", True),
      ("causal_direction", direction),
    ):
      value = getattr(self, name)
      if value != only:
        raise ValueError(f"{name} ({value!r}) must be {only!r} {what}.")

  @property
  def reading_direction(self):
    """Direction in which a causal encoder reads, str; None for others."""
    return self.causal_direction if self.use_causal_mask else None


@dataclasses.dataclass(frozen=True)
class HeadsConfig(parts.Part):
  """Fields of the heads of attention.

  Attributes:
    num_key_value_heads: heads of keys and values, each for as many heads of
      queries, in their order (grouped-query attention, Ainslie et al. 2023);
      divides N. None: N.
    scale_scores: whether scores are divided by the root of D (T5: not).
  """

  num_key_value_heads: int | None = parts.field(None, "[1, inf)", shows=True)
  scale_scores: bool = parts.field(True)

  @classmethod
  def check(cls, config):
    """Raises ValueError if heads do not divide, or another kind has none."""
    groups, heads = config.num_key_value_heads, config.num_attention_heads
    if groups is not None and heads % groups:
      raise ValueError(
        f"num_key_value_heads ({groups}) must divide num_attention_heads"
        f" ({heads})."
      )
    others = config.relative_attention or config.is_transformer_xl
    if others or (not config.scale_scores and config.attention_window):
      parts.check_defaults(
        config,
        parts.fields(cls),
        "must be {} with relative_attention, attention_window or XLNet's"
        " encoder",
      )


def of_config(config, dtype, make=None, **options):
  """Returns a new kind of attention of a class.

  `options` are of its constructor, besides what every kind has.
  """
  is_short = (config.longest_input or math.inf) <= scores.LONG
  if not config.scale_scores:
    options["use_scale"] = False
  return (make or FullAttention)(
    causal_direction=config.reading_direction,
    chunk_size=None if is_short else scores.CHUNK_SIZE,
    dtype=dtype,
    **options,
  )


@dataclasses.dataclass(eq=False, repr=False)
class _AttentionKindArguments(layer.Arguments):
  causal_direction: str | None = None
  chunk_size: int | None = None


class AttentionKind(_AttentionKindArguments, layer.Layer):
  """Kind of `SelfAttention`: what a position sees of the others, and how.

  Args:
    causal_direction: str, "left_to_right" or "right_to_left": a position sees
      itself and those before it, or after it, alone. None: it sees all.
    chunk_size: int, for how many positions scores are kept at a time: memory
      grows with L, not with its square. None: for all.
    **kwargs: of `keras.layers.Layer`.

  Raises:
    ValueError: another direction.
  """

  use_key_bias = True  # Constructors may take it as an argument.
  use_scale = True  # The same.
  reach = None  # Tokens before it that a position sees, int; None: all.

  def __post_init__(self):
    if self.causal_direction not in (None, *scores.LIMITS):
      raise ValueError(
        f"causal_direction ({self.causal_direction!r}) of {self.name} must be"
        f" one of {', '.join(scores.LIMITS)}, or None; 'both' is that of"
        " models.BidirectionalPair, which --objective=bidirectional_pair"
        " trains."
      )

  def project(self, positions, hidden, query, key, training):
    """Returns `positions` as `attend` reads them.

    Args:
      positions: dict, as of `SelfAttention.call`.
      hidden: float [B, L, H], what is looked at.
      query: layer that projects [..., H] to queries.
      key: layer that projects [..., H] to keys.
      training: bool.
    """
    del hidden, query, key, training
    return positions

  def attend(
    self, query, key, value, seen, positions, drop, *, whole, training
  ):
    """Computes the context of each position.

    Args:
      query: float [B, L, N, D].
      key: float [B, L, N, D].
      value: float [B, L, N, D].
      seen: bool or int, `attention_mask` of `SelfAttention.call`, or None.
      positions: dict, as `project` returns it.
      drop: callable, dropout of the probabilities; see `Dropout.drawn`.
      whole: bool, whether the probabilities are returned, which takes memory
        that grows with L * L.
      training: bool, whether there will be a gradient.

    Returns:
      Tuple of the context, float [B, L, N D], and, if `whole`, the attention
      probabilities [B, N, L, L], before dropout.
    """
    raise NotImplementedError

  def look_back(self, query, key, value, own, places, bias=None):
    """Computes the context of the last tokens of texts, read from the left.

    Args:
      query: float [R, N, Q, D], of the last Q tokens.
      key: float [R, N, S, D], of all S tokens.
      value: float [R, N, S, D].
      own: int [R, Q], the places of the last ones in their texts.
      places: int [R, S], those of all tokens; -1 for what is not seen.
      bias: float [R or 1, N, Q, S], or None.

    Returns:
      float [R, Q, N D].
    """
    own = ops.expand_dims(own, 2)
    others = ops.expand_dims(places, 1)
    seen = (others >= 0) & (others <= own)  # [R, Q, S]
    if self.reach is not None:
      seen = seen & (others >= own - self.reach)
    rows = {"query": query, "seen": seen[:, None]}
    if bias is not None:
      rows["position_bias"] = bias
    found, _ = scores.attend(
      rows, (key, value), dropout.keep, use_scale=self.use_scale
    )
    return found


@dataclasses.dataclass(eq=False, repr=False)
class _FullAttentionArguments(layer.Arguments):
  causal_direction: str | None = None
  chunk_size: int | None = None
  use_scale: bool = True


class FullAttention(_FullAttentionArguments, AttentionKind):
  """Each position sees all others, or all on one side of it.

  Positions may come as "rotary", as of `RotaryEmbedding`, with "query_rotary"
  where queries are others, or as "bias", float [B or 1, N, L, L], which is
  added to the scores.

  Args:
    causal_direction: as of `AttentionKind`, and chunk_size.
    chunk_size: int or None.
    use_scale: bool, whether scores are divided by the root of D.
    **kwargs: of `keras.layers.Layer`.

  Source: Vaswani et al. 2017, section 3.2.1.
  """

  def attend(
    self, query, key, value, seen, positions, drop, *, whole, training
  ):
    """Computes the context of each position; as `AttentionKind.attend`."""
    heads = query, key, value
    angles = [positions[x] for x in rotary.POSITIONS if x in positions]
    if angles:
      query, key, value = kernels.arrange(
        rotary.turned_heads, heads, tuple(angles), training
      )
    else:
      query, key, value = map(scores.split_heads, heads)
    rows = scores.rows(
      query, seen, self.causal_direction, positions.get("bias")
    )
    size = None if whole else self.chunk_size
    return scores.attend(
      rows, (key, value), drop, size, training, use_scale=self.use_scale
    )


@dataclasses.dataclass(eq=False, repr=False)
class _SelfAttentionArguments(layer.Arguments):
  num_heads: int
  dropout_rate: float = 0.1
  kind: AttentionKind | None = None
  use_bias: bool = True
  initializer_range: float = 0.02
  head_size: int | None = None
  num_key_value_heads: int | None = None


class SelfAttention(_SelfAttentionArguments, layer.Layer):
  """Multi-head self-attention, scaled dot-product, N heads of size D.

  It uses Keras' implicit mask, such as that of `Embedding(mask_zero=True)`, and
  passes it on.

  Args:
    num_heads: int, N.
    dropout_rate: float in [0, 1), of the attention probabilities.
    kind: `FullAttention` (None: a new one), `LocalAttention` or
      `DisentangledBias`: what each position sees, and how.
    use_bias: bool, whether the projections have biases.
    initializer_range: float, standard deviation.
    head_size: int, D; None: H / N, if N divides H.
    num_key_value_heads: int, heads of keys and values, which divides N: each is
      for as many heads of queries. None: N.
    **kwargs: of `keras.layers.Layer`.

  Attributes:
    context_size: int, N D, once it is built.

  Source: Vaswani et al. 2017, section 3.2.
  """

  supports_masking = True

  def __post_init__(self):
    kind = self.kind or FullAttention(dtype=self.dtype_policy)
    self.kind: AttentionKind = kind

  def build(self, hidden_shape, **other_shapes):
    """Creates the weights."""
    size = hidden_shape[-1]
    if self.head_size is None and size % self.num_heads:
      raise ValueError(
        f"The hidden size ({size}) of {self.name} must be a multiple of"
        f" num_heads ({self.num_heads})."
      )
    of_head = self.head_size or size // self.num_heads
    self.context_size = self.num_heads * of_head
    key_size = (self.num_key_value_heads or self.num_heads) * of_head
    key_bias = self.use_bias and self.kind.use_key_bias
    for name, units, use_bias in (
      ("query", self.context_size, self.use_bias),
      ("key", key_size, key_bias),
      ("value", key_size, self.use_bias),
    ):
      dense = self._dense(units, hidden_shape, None, name, use_bias)
      setattr(self, name, dense)
    self.dropout = self._dropout(hidden_shape, self.dropout_rate)
    self.kind.build(hidden_shape)

  def call(
    self,
    hidden,
    attention_mask=None,
    mask=None,
    positions=None,
    query_hidden=None,
    training=False,
    return_attention_scores=False,
  ):
    """Computes the attention of each position to all others.

    Args:
      hidden: float [B, L, H].
      attention_mask: bool or int, true where a position may be seen: [B, L] or
        [B, L, L] (by each); or int [B, L, 1], its text's number. None: `mask`.
      mask: bool [B, L], of the layers before, by Keras. None: all are seen.
      positions: dict of what the kind of attention knows of positions, such as
        {"bias": float [B or 1, N, L, L]}, which is added to the scores before
        softmax; see the layers `RotaryEmbedding`, `RelativePositionBias` and
        `RelativeEmbeddings`. None: nothing.
      query_hidden: float [B, R, H], which looks at `hidden`; None: the same.
      training: bool.
      return_attention_scores: bool, whether the probabilities, float
        [B, N, L, L], are returned too.

    Returns:
      float [B, L or R, N D], H wide unless there is a `head_size`; with the
      probabilities a tuple of both.
    """
    looking = hidden if query_hidden is None else query_hidden
    drop = self.dropout.drawn(training)
    positions = self.kind.project(
      positions or {}, hidden, self.query, self.key, training
    )
    heads = self.heads_shape(hidden)
    context, probs = self.kind.attend(
      ops.reshape(self.query(looking), self.heads_shape(looking)),
      self._for_each_head(self.key(hidden), heads),
      self._for_each_head(self.value(hidden), heads),
      mask if attention_mask is None else attention_mask,
      positions,
      drop,
      whole=return_attention_scores,
      training=training,
    )
    return (context, probs) if return_attention_scores else context

  def extend(self, hidden, cache, places, positions=None):
    """Computes the attention of tokens to themselves and those before them.

    Args:
      hidden: float [R, Q, H], of the tokens.
      cache: {"key" and "value": float [R, N, P, D]} of P tokens before them, as
        this returned it; {} for none.
      places: tuple of int [R, Q] and [R, P + Q], the places of these tokens and
        of all in their texts; -1 for padding.
      positions: dict, as of `call`: "rotary" of the Q tokens, "bias" float
        [R or 1, N, Q, P + Q]. None: nothing.

    Returns:
      Tuple of float [R, Q, N D], as of `call`; and the cache of all tokens.
    """
    positions = positions or {}
    heads = (
      ops.reshape(self.query(hidden), self.heads_shape(hidden)),
      self._for_each_head(self.key(hidden), self.heads_shape(hidden)),
      self._for_each_head(self.value(hidden), self.heads_shape(hidden)),
    )
    angles = [positions["rotary"]] if "rotary" in positions else []
    query, key, value = rotary.turned_heads(*heads, *angles)
    if cache:
      key = ops.concatenate([cache["key"], key], axis=2)
      value = ops.concatenate([cache["value"], value], axis=2)
    context = self.kind.look_back(
      query, key, value, *places, positions.get("bias")
    )
    return context, {"key": key, "value": value}

  def keys_values(self, hidden):
    """Returns {"key" and "value": float [B, N, L, D]} of `hidden` [B, L, H]."""
    shape = self.heads_shape(hidden)
    return {
      name: scores.split_heads(self._for_each_head(project(hidden), shape))
      for name, project in (("key", self.key), ("value", self.value))
    }

  def look(self, hidden, memory):
    """Computes the attention of tokens to others, whose keys are there.

    Args:
      hidden: float [R, Q, H], of the tokens; R is B or a multiple of it, the
        rows of a text one after the other.
      memory: {"key" and "value": float [B, N, L, D], "seen": int [B, L]}.

    Returns:
      float [R, Q, N D].
    """
    rows, length, size = ops.shape(hidden)
    batch = ops.shape(memory["key"])[0]
    # Rows that look at the same others are looked up at once.
    query = self.query(ops.reshape(hidden, (batch, -1, size)))
    of_each = self.heads_shape(query)[2:]
    query = scores.split_heads(ops.reshape(query, (batch, -1, *of_each)))
    found, _ = scores.attend(
      scores.rows(query, memory["seen"]),
      (memory["key"], memory["value"]),
      dropout.keep,
      use_scale=self.kind.use_scale,
    )
    return ops.reshape(found, (rows, length, self.context_size))

  def _for_each_head(self, x, shape):
    """Returns keys or values [B, L, ...] of all heads, of `shape`."""
    batch, length, heads, of_head = shape
    groups = self.num_key_value_heads or heads
    if groups < heads:
      x = ops.reshape(x, (batch, length, groups, 1, of_head))
      x = ops.tile(x, (1, 1, 1, heads // groups, 1))
    return ops.reshape(x, shape)

  def heads_shape(self, hidden):
    """Returns the shape (B, L, N, D) of projections of [B, L, H]."""
    batch, length, _ = ops.shape(hidden)
    of_head = self.context_size // self.num_heads
    return batch, length, self.num_heads, of_head

  def attention_probs(self, hidden, attention_mask=None, positions=None):
    """Returns the attention probabilities, float [B, N, L, L]; as `call`."""
    hidden = ops.convert_to_tensor(hidden, dtype=self.compute_dtype)
    return self.call(
      hidden,
      attention_mask,
      positions=positions,
      return_attention_scores=True,
    )[1]

  @property
  def disentangled_bias(self):
    """The kind, by the name that `.keras` files have for its weights."""
    return self.kind
