"""The transformer block of XLNet: one stream of hidden states, or two."""

import dataclasses

import keras

from keras_bert_impl.layers.attention import (
  buckets,
  disentangled,
  relative_attention,
  window,
)
from keras_bert_impl.layers.basics import dropout, layer, parts
from keras_bert_impl.layers.blocks import embeddings, transformer_block
from keras_bert_impl.layers.heads import summary


@dataclasses.dataclass(frozen=True)
class TransformerXLConfig(parts.Part):
  """Fields of XLNet's encoder, whose positions are those of Transformer-XL.

  Attributes:
    clamp_len: largest distance between tokens that is told apart; without
      limit if it is not positive.
    same_length: whether a position of a causal model sees as many tokens as
      any other: those of the memory's length before it.
    bi_data: whether the second half of a batch is read backwards.
    mem_len: tokens remembered for the next segment; None or 0 remembers all.
    reuse_len: how many of a segment's first tokens are remembered; None or 0
      means all.
    summary_type: "first", "last", "mean" or "cls_index", what the pooler reads:
      the token at that place of the row, be it padding, or their mean.
      "cls_index" is the last one too, where no index is given.
    summary_use_proj: whether the pooler has a dense layer.
  """

  clamp_len: int = parts.field(-1, "[-1, inf)")
  same_length: bool = parts.field(False)
  bi_data: bool = parts.field(False, shows=True)
  mem_len: int | None = parts.field(None, shows=True)
  reuse_len: int | None = parts.field(None, shows=True)
  summary_type: str = parts.field("last", choices=summary.TYPES, of_pooler=True)
  summary_use_proj: bool = parts.field(True, shows=True)

  KIND = "transformer_xl"
  EXCLUDES = (
    buckets.BucketsConfig,
    disentangled.DisentangledConfig,
    window.WindowConfig,
    transformer_block.BlockConfig,
  )

  @classmethod
  def check(cls, config):
    """Raises ValueError if sizes do not go together."""
    if config.hidden_size % 2:
      raise ValueError(
        f"hidden_size ({config.hidden_size}) must be even with {cls.needs()}."
      )
    if config.attention_head_size is not None:
      raise ValueError(
        f"attention_head_size ({config.attention_head_size}) must be None with"
        f" {cls.needs()}."
      )
    embeddings.check_one_width(config, cls.needs())
    if config.reading_direction not in (None, "left_to_right"):
      config.check_direction("left_to_right", f"with {cls.needs()}")

  @property
  def is_transformer_xl(self):
    """Whether the encoder is a `models.XLNetEncoder`."""
    return TransformerXLConfig.is_used(self)

  @property
  def pads_left(self):
    """Whether a pooler reads the last place of a row, be it padding."""
    reads_last = self.summary_type in ("last", "cls_index")
    return self.is_transformer_xl and reads_last


class TwoStreamBlock(transformer_block.BlockArguments, layer.Layer):
  """Transformer block with `RelativeAttention` and feed-forward layer.

  Post-norm, each with dropout, the residual sum and LayerNorm; the streams of
  contents and queries go through the same weights.

  Args:
    num_heads: int, N; must divide H.
    intermediate_size: int, I.
    activation: str, of the feed-forward layer; see `kernels.activation`.
    dropout_rate: float in [0, 1), of the outputs and inside the feed-forward
      layer.
    attention_dropout_rate: float in [0, 1), of the attention probabilities.
    layer_norm_eps: float.
    initializer_range: float, standard deviation.
    **kwargs: of `keras.layers.Layer`.

  Source: Yang et al. 2019, section 2.3; zihangdai/xlnet, modeling.py.
  """

  def build(self, hidden_shape, **other_shapes):
    """Creates the weights."""
    with keras.name_scope("attention"):
      self.attention = self._inner(
        relative_attention.RelativeAttention,
        "self",
        dropout_rate=self.attention_dropout_rate,
      )
      self.attention.build(hidden_shape)
      self.attention_output = self._inner(
        transformer_block.ResidualOutput, "output", use_dense=False
      )
      self.attention_output.build(hidden_shape, hidden_shape)
    self.feed_forward = self._inner(
      transformer_block.FeedForward,
      inner_dropout_rate=self.dropout_rate,
      use_own_scope=False,
    )
    self.feed_forward.build(hidden_shape)

  @dropout.rematerialized
  def call(
    self,
    hidden,
    structure,
    query_hidden=None,
    target_mapping=None,
    memory=None,
    *,
    training=False,
  ):
    """Transforms the streams; arguments as of `RelativeAttention.call`.

    Returns:
      List of the contents [B, L, H] and, with `query_hidden`, the queries
      [B, P, H].
    """
    contexts = self.attention(
      hidden,
      structure,
      query_hidden=query_hidden,
      target_mapping=target_mapping,
      memory=memory,
      training=training,
    )
    streams = [x for x in (hidden, query_hidden) if x is not None]
    return [
      self._add(stream, context, training)
      for stream, context in zip(streams, contexts, strict=True)
    ]

  def _add(self, hidden, context, training):
    """Returns a stream's output for its input and its context, [B, L, H]."""
    # Inside keras.remat the layers do not get `training` from Keras.
    hidden = self.attention_output(context, hidden, training=training)
    return self.feed_forward(hidden, training=training)

  def compute_output_spec(
    self, hidden, structure, query_hidden=None, *args, **kwargs
  ):
    """Returns the shapes and dtypes of `call`."""
    streams = [x for x in (hidden, query_hidden) if x is not None]
    return [
      keras.KerasTensor(stream.shape, self.compute_dtype) for stream in streams
    ]
