"""Poolers: one vector of the hidden states of a text's tokens."""

import dataclasses

from keras import ops

from keras_bert_impl.layers.basics import layer, parts

READS = ("token", "mean", "late", "decoder")


@dataclasses.dataclass(frozen=True)
class PoolerConfig(parts.Part):
  """Fields of the pooler, and of the dense layer of heads without one.

  Attributes:
    pooler_act: activation of the pooler, where a model has one; one of
      `parts.ACTIVATIONS`.
    pooler_dropout: dropout before the pooler.
    pooler_reads: "token", which of them the pooler reads; "mean", the mean of
      the tokens; "late", each token, of whose outputs it gives the mean; or
      "decoder", the last token, of the states that the decoder has when it
      reads the text too (BART).
    classifier_pooling: "cls" or "mean", the token or the mean of the tokens
      that heads for whole texts read; all heads then begin with the dense layer
      and LayerNorm of the masked language model's head. None: heads for texts
      read the pooler, and only the masked language model's has that layer.
    classifier_act: activation of that dense layer; None means the blocks'.
    classifier_bias: whether that dense layer has a bias.
    logits_bias: whether the layer that ends in logits of classes has a bias.
    decoder_transform: whether the masked language model's head begins with that
      dense layer and LayerNorm.
    decoder_bias: whether the masked language model's output has a bias.
    output_embedding_size: width of the masked language model's matrix, where it
      is not the table; None: E.
    tie_word_embeddings: whether its matrix is the table of the embeddings.
  """

  pooler_act: str = parts.field(
    "tanh", choices=parts.ACTIVATIONS, of_pooler=True
  )
  pooler_dropout: float = parts.field(0.0, "[0, 1)", shows=True)
  pooler_reads: str = parts.field("token", choices=READS, of_pooler=True)
  classifier_pooling: str | None = parts.field(
    None, choices=(None, "cls", "mean"), of_pooler=True
  )
  classifier_act: str | None = parts.field(
    None, choices=(None, *parts.ACTIVATIONS), shows=True
  )
  classifier_bias: bool = parts.field(True, shows=True)
  logits_bias: bool = parts.field(True, shows=True)
  decoder_transform: bool = parts.field(True, shows=True)
  decoder_bias: bool = parts.field(True, shows=True)
  output_embedding_size: int | None = parts.field(None, "[1, inf)", shows=True)
  tie_word_embeddings: bool = parts.field(True, shows=True)

  @property
  def transform_options(self):
    """Arguments of `HeadTransform`, and of heads that begin with it, dict."""
    return {
      "activation": self.classifier_act or self.block_options["activation"],
      "use_bias": self.classifier_bias,
      **self.norm_options,
      "initializer_range": self.initializer_range,
    }

  @classmethod
  def check(cls, config):
    """Raises ValueError if heads do not go with the encoder, or its tables."""
    if config.output_embedding_size and config.tie_word_embeddings:
      raise ValueError(
        f"output_embedding_size ({config.output_embedding_size}) must be None"
        " with tie_word_embeddings, as the table has a width."
      )
    if not config.decoder_transform and config.classifier_pooling:
      raise ValueError(
        "decoder_transform (False) must be True with classifier_pooling"
        f" ({config.classifier_pooling!r}): all heads begin with it."
      )
    if config.pooler_reads == "decoder" and not config.num_decoder_layers:
      raise ValueError(
        "pooler_reads ('decoder') needs num_decoder_layers above 0: there is no"
        " decoder to read."
      )
    why = None
    if config.is_transformer_xl:
      why = "XLNet's encoder"
    elif config.is_pair:
      why = "a pair of encoders, of direction 'both'"
    if why and config.classifier_pooling is not None:
      raise ValueError(
        f"classifier_pooling ({config.classifier_pooling!r}) must be None with"
        f" {why}, which has a pooler of its own."
      )


def of_config(config, dtype):
  """Returns a new `Pooler`, or `Pooling` where heads have the dense layer."""
  # The first token of a left-to-right model has seen no other.
  use_last_token = config.reading_direction == "left_to_right"
  mode = config.classifier_pooling
  if mode:
    mode = "lasttoken" if mode == "cls" and use_last_token else mode
    return Pooling(mode, dtype=dtype, name="pooler")
  reads = config.pooler_reads
  return Pooler(
    config.initializer_range,
    config.pooler_act,
    use_last_token=use_last_token or reads == "decoder",
    dropout_rate=config.pooler_dropout,
    reads=reads,
    dtype=dtype,
    name="pooler",
  )


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


@dataclasses.dataclass(eq=False, repr=False)
class _PoolingArguments(layer.Arguments):
  modes: str | tuple[str, ...] = ("mean",)


class Pooling(_PoolingArguments, layer.Layer):
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

  def __post_init__(self):
    modes = (self.modes,) if isinstance(self.modes, str) else tuple(self.modes)
    self.modes: tuple[str, ...] = modes
    for mode in modes:
      if mode not in MODES:
        raise ValueError(
          f"pooling ({mode!r}) must be one of {', '.join(MODES)}."
        )

  def call(self, hidden, input_mask):
    """Pools float [B, L, H] where `input_mask`, int [B, L], is 1, to [B, D]."""
    # bfloat16 does not hold all integers above 256.
    mask = ops.cast(ops.cast(input_mask, "bool"), "float32")
    positions = ops.arange(1, ops.shape(hidden)[1] + 1, dtype="float32")

    def pool(mode):
      if mode == _MAX:
        return _max(hidden, mask)
      weights = ops.cast(_WEIGHTS[mode](mask, positions), hidden.dtype)
      found = ops.matmul(ops.expand_dims(weights, 1), hidden)  # [B, 1, H]
      return ops.squeeze(found, 1)

    return ops.concatenate([pool(mode) for mode in self.modes], axis=-1)

  def compute_mask(self, inputs, previous_mask):
    """Returns None: a vector has no positions to mask."""
    return None


@dataclasses.dataclass(eq=False, repr=False)
class _PoolerArguments(layer.Arguments):
  initializer_range: float = 0.02
  activation: layer.Activation = "tanh"
  use_last_token: bool = False
  dropout_rate: float = 0.0
  reads: str = "token"


class Pooler(_PoolerArguments, layer.Layer):
  """Dense layer on one token, the first ([CLS]) or the last one, or on all.

  Args:
    initializer_range: float, standard deviation.
    activation: str; BERT's is "tanh".
    use_last_token: bool, whether to read the last token that is not padding.
    dropout_rate: float in [0, 1), before the layer.
    reads: str, "token", that one; "mean", the mean of the tokens; "late", each
      token, of whose outputs the mean is returned; "decoder", that one, of
      states which a decoder made of all tokens.
    **kwargs: of `keras.layers.Layer`.

  Source: google-research/bert, modeling.py; Boizard et al. 2025 (EuroBERT) for
  "late".
  """

  def build(self, hidden_shape, **other_shapes):
    """Creates the weights."""
    batch, _, hidden_size = hidden_shape
    shape = (batch, hidden_size)
    self.dropout = None  # BERT's pooler has none.
    if self.dropout_rate:
      self.dropout = self._dropout(shape, self.dropout_rate)
    self.dense = self._dense(hidden_size, shape, self.activation)

  def call(self, hidden, input_mask=None, training=False):
    """Pools float [B, L, H] to [B, H].

    Args:
      hidden: float [B, L, H].
      input_mask: int [B, L], 1 for a token and 0 for padding; needed only with
        `use_last_token`, or where all tokens are read.
      training: bool.
    """
    if self.reads == "late":
      return _mean_of_tokens(self.dense(hidden), input_mask)
    if self.reads == "mean":
      hidden = _mean_of_tokens(hidden, input_mask)[:, None]
    elif self.use_last_token:
      last = ops.maximum(ops.sum(input_mask, axis=1) - 1, 0)  # [B]
      hidden = ops.take_along_axis(hidden, last[:, None, None], axis=1)
    token = hidden[:, 0]
    if self.dropout is not None:
      token = self.dropout(token, training=training)
    return self.dense(token)

  def compute_mask(self, inputs, previous_mask):
    """Returns None: a vector has no positions to mask."""
    return None


def _mean_of_tokens(hidden, input_mask):
  """Returns the mean [B, H] of the tokens of [B, L, H]."""
  weights = ops.cast(input_mask, "float32")
  weights = ops.cast(weights / _sum(weights), hidden.dtype)
  return ops.squeeze(ops.matmul(ops.expand_dims(weights, 1), hidden), 1)


def _one_hot(scores):
  """Returns 1 at the first of the highest scores of each row, 0 elsewhere."""
  # Not by argmax, which Keras writes with ops of bits that LiteRT lacks.
  best = ops.equal(scores, ops.max(scores, axis=1, keepdims=True))
  best = ops.cast(best, scores.dtype)
  is_first = ops.equal(ops.cumsum(best, axis=1), 1)
  return best * ops.cast(is_first, scores.dtype)


def _sum(weights):
  # The sum of a row without tokens is to divide by too.
  return ops.maximum(ops.sum(weights, axis=1, keepdims=True), 1e-9)


def _max(hidden, mask):
  """Returns the maximum [B, H] of tokens; 0 for a row that has none."""
  is_token = ops.expand_dims(mask, -1) > 0
  highest = ops.max(ops.where(is_token, hidden, float("-inf")), axis=1)
  return ops.where(ops.any(is_token, axis=1), highest, 0.0)
