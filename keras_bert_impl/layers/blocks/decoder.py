"""Decoders: blocks that look at another text, and their configuration."""

import dataclasses
import typing

import keras
from keras import ops

from keras_bert_impl.layers.basics import layer, parts
from keras_bert_impl.layers.blocks import (
  embeddings,
  extension,
  transformer_block,
)


@dataclasses.dataclass(frozen=True)
class DecoderConfig(parts.Part):
  """Fields of a decoder that reads what an encoder has made of another text.

  Attributes:
    num_decoder_layers: number of its blocks; 0: there is no decoder.
    num_decoder_attention_heads: N of its blocks; None: as the encoder.
    decoder_intermediate_size: I of its blocks; None: as the encoder.
    scale_logits: whether the last states are multiplied by H ** -0.5 before the
      table (T5 with the table as output matrix).
  """

  num_decoder_layers: int = parts.field(0, shows=True)
  num_decoder_attention_heads: int | None = parts.field(None, "[1, inf)")
  decoder_intermediate_size: int | None = parts.field(
    None, "[1, inf)", shows=True
  )
  scale_logits: bool = parts.field(False)

  SWITCH = "num_decoder_layers"

  @classmethod
  def check(cls, config):
    """Raises ValueError if widths differ, or the encoder reads one way."""
    if config.embedding_width != config.hidden_size:
      raise ValueError(
        f"embedding_size ({config.embedding_size}) must be None with"
        f" {cls.SWITCH}, as encoder and decoder share the table."
      )
    if config.use_causal_mask:
      raise ValueError(
        f"use_causal_mask (True) must be False with {cls.SWITCH}: it is the"
        " decoder that reads from left to right."
      )

  def of_decoder(self):
    """Returns the configuration of the decoder's blocks alone."""
    heads = self.num_decoder_attention_heads or self.num_attention_heads
    width = self.decoder_intermediate_size or self.intermediate_size
    return dataclasses.replace(
      self,
      num_hidden_layers=self.num_decoder_layers,
      num_attention_heads=heads,
      intermediate_size=width,
      use_causal_mask=True,
      relative_attention_one_sided=self.relative_attention_num_buckets > 0,
      num_decoder_layers=0,
      num_decoder_attention_heads=None,
      decoder_intermediate_size=None,
      scale_logits=False,
    )


@dataclasses.dataclass(eq=False, repr=False)
class _DecoderEmbeddingsArguments(layer.Arguments):
  max_position_embeddings: int = 512
  position_embedding_type: str = "learned"
  position_offset: int = 0
  scales: bool = False
  dropout_rate: float = 0.1
  layer_norm_eps: float = 1e-12
  use_norm: bool = True
  initializer_range: float = 0.02


class DecoderEmbeddings(_DecoderEmbeddingsArguments, layer.Layer):
  """Embeddings of a decoder: rows of a table that is given, and positions.

  Args:
    max_position_embeddings: int, rows of the position table.
    position_embedding_type: "learned", "sinusoidal" or "none".
    position_offset: int, row of the position table of the first token.
    scales: bool, whether rows are multiplied by the root of their width.
    dropout_rate: float in [0, 1).
    layer_norm_eps: float.
    use_norm: bool, whether there is LayerNorm.
    initializer_range: float, standard deviation.
    **kwargs: of `keras.layers.Layer`.

  Source: Vaswani et al. 2017, section 3.4; Lewis et al. 2020 (BART).
  """

  of_keras = {"autocast": False}

  def build(self, ids_shape, table_shape):
    """Creates the weights."""
    length, width = self.max_position_embeddings, table_shape[-1]
    if self.position_embedding_type == "learned":
      self.position_embeddings = self._weight(
        "position_embeddings", length, width, autocast=False
      )
    elif self.position_embedding_type == "sinusoidal":
      self.position_embeddings = embeddings.sinusoidal(length, width)
    shape = (*ids_shape, width)
    self.layer_norm = self._layer_norm(shape) if self.use_norm else None
    self.dropout = self._dropout(shape, self.dropout_rate)

  def call(self, ids, table, position_ids=None, training=False):
    """Embeds tokens: int [B, T] and a table [V, H] -> float [B, T, H].

    Args:
      ids: int [B, T].
      table: float [V, H].
      position_ids: int [B, T], from 0 on. None: the places in the row.
      training: bool.

    Raises:
      ValueError: T is above what the position table has.
    """
    embeddings.check_length(ids.shape[1], self)
    hidden = ops.take(table, ops.cast(ids, "int32"), axis=0)
    if self.scales:
      hidden = hidden * table.shape[-1] ** 0.5
    if self.position_embedding_type != "none":
      rows = ops.convert_to_tensor(self.position_embeddings)
      if position_ids is None:
        position_ids = ops.arange(ops.shape(ids)[1])[None]
      hidden = hidden + ops.take(
        rows, position_ids + self.position_offset, axis=0
      )
    hidden = ops.cast(hidden, self.compute_dtype)
    hidden = hidden if self.layer_norm is None else self.layer_norm(hidden)
    return self.dropout(hidden, training=training)

  def compute_output_spec(self, ids, table, *args, **kwargs):
    """Returns the shape and dtype of `call`."""
    embeddings.check_length(ids.shape[1], self)
    return keras.KerasTensor((*ids.shape, table.shape[-1]), self.compute_dtype)


@dataclasses.dataclass(eq=False, repr=False)
class _DecoderArguments(layer.Arguments):
  config: typing.Any


class Decoder(_DecoderArguments, layer.Layer):
  """Decoder: it writes a text from left to right and looks at another one.

  Args:
    config: `configs.EncoderConfig` with `num_decoder_layers`.
    **kwargs: of `keras.layers.Layer`.

  Source: Vaswani et al. 2017, section 3.1.
  """

  of_keras = {"autocast": False}

  def __post_init__(self):
    config, dtype = self.config, self.dtype_policy
    own = config.of_decoder()
    kind = config.position_embedding_type
    self.embeddings = DecoderEmbeddings(
      config.max_position_embeddings,
      kind if kind in embeddings.TABLES else "none",
      config.position_offset,
      scales=config.scale_embeddings,
      dropout_rate=config.hidden_dropout_prob,
      layer_norm_eps=config.layer_norm_eps,
      use_norm=config.embeddings_norm,
      initializer_range=config.initializer_range,
      dtype=dtype,
      name="embeddings",
    )
    self.blocks = transformer_block.BlockConfig.blocks(
      own, dtype, has_cross_attention=True
    )
    self.tellers = parts.ask("tellers", own, dtype)
    self.norm = None
    if config.norm_first:
      self.norm = transformer_block.final_norm(own, dtype)

  def build(self, ids_shape, table_shape, **other_shapes):
    """Creates the weights."""
    shape = (*ids_shape, table_shape[-1])
    self.embeddings.build(ids_shape, table_shape)
    for by_name in self.tellers or ():
      for teller in by_name.values():
        if not teller.built:
          teller.build(shape)
    for block in self.blocks:
      block.build(shape)
    if self.norm is not None:
      self.norm.build(shape)

  def call(self, ids, table, memory, memory_mask=None, training=False):
    """Computes the states of tokens that are all known.

    Args:
      ids: int [B, T], padding at the end.
      table: float [V, H], the embeddings of words.
      memory: float [B, L, H], the last states of the encoder.
      memory_mask: int [B, L], 1 for its tokens and 0 for padding.
      training: bool.

    Returns:
      list of float [B, T, H]: the embeddings, then the output of each block;
      the last one normalized.
    """
    hidden = self.embeddings(ids, table, training=training)
    told = extension.tell(self.tellers, lambda layer: layer(hidden))
    memory = ops.cast(memory, self.compute_dtype)
    states = [hidden]
    for index, block in enumerate(self.blocks):
      hidden = block(
        hidden,
        positions=told[index] if told else {},
        memory=memory,
        memory_mask=memory_mask,
        training=training,
      )
      states.append(hidden)
    if self.norm is not None:
      states[-1] = self.norm(hidden)
    return states

  def compute_output_spec(self, ids, table, *args, **kwargs):
    """Returns the shapes and dtypes of `call`."""
    embeddings.check_length(ids.shape[1], self.embeddings)
    shape = (*ids.shape, table.shape[-1])
    states = range(1 + len(self.blocks))
    return [keras.KerasTensor(shape, self.compute_dtype) for _ in states]

  def memory(self, hidden, mask):
    """Returns what `extend` looks at.

    Args:
      hidden: float [B, L, H], the last states of the encoder.
      mask: int [B, L], 1 for its tokens and 0 for padding.

    Returns:
      {"layer_0": as of `SelfAttention.look`, ...}.
    """
    hidden = ops.cast(hidden, self.compute_dtype)
    return {
      f"layer_{index}": block.cross_attention.keys_values(hidden)
      | {"seen": mask}
      for index, block in enumerate(self.blocks)
    }

  def extend(self, ids, table, cache, memory):
    """Computes the states of tokens that follow those before.

    Args:
      ids: int32 [R, Q]; R is B or a multiple of it.
      table: float [V, H].
      cache: as of `extension.through`.
      memory: as `memory` returned it.

    Returns:
      Tuple of the last states float [R, Q, H], and the cache with the tokens.
    """
    own, places = extension.places(cache, ops.ones_like(ids))
    hidden = self.embeddings(ids, table, own)
    hidden, cache = extension.through(
      self.blocks, self.tellers, hidden, cache, places, memory
    )
    return hidden if self.norm is None else self.norm(hidden), cache
