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
      type_vocab_size=0,
      task_type_vocab_size=0,
      num_decoder_layers=0,
      num_decoder_attention_heads=None,
      decoder_intermediate_size=None,
      scale_logits=False,
      pooler_reads="token",
    )


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
    own, dtype = self.config.of_decoder(), self.dtype_policy
    self.embeddings = embeddings.of_config(own, dtype, has_words=False)
    self.blocks = transformer_block.BlockConfig.blocks(
      own, dtype, has_cross_attention=True
    )
    self.tellers = parts.ask("tellers", own, dtype)
    self.norm = None
    if own.norm_first:
      self.norm = transformer_block.final_norm(own, dtype)

  def build(self, ids_shape, table_shape, **other_shapes):
    """Creates the weights."""
    shape = (*ids_shape, table_shape[-1])
    self.embeddings.build(ids_shape)
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
    hidden, _ = self.embeddings(ids, None, training=training, table=table)
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

  def attention_probs(self, states, memory, memory_mask):
    """Returns the attention probabilities of each block.

    Args:
      states: list of float [B, T, H], as `call` returned them.
      memory: float [B, L, H].
      memory_mask: int [B, L].

    Returns:
      list of (float [B, N, T, T], float [B, N, T, L]): to the tokens of the
      text, and to the memory.
    """
    told = extension.tell(self.tellers, lambda layer: layer(states[0]))
    memory, found = ops.cast(memory, self.compute_dtype), []
    for index, block in enumerate(self.blocks):
      positions = told[index] if told else {}
      hidden = ops.cast(states[index], self.compute_dtype)
      others = memory, memory_mask, positions
      found.append(
        (
          block.attention_probs(hidden, positions=positions),
          block.cross_attention_probs(hidden, *others),
        )
      )
    return found

  def memory(self, hidden, mask):
    """Returns what `extend` looks at.

    Args:
      hidden: float [B, L, H], the last states of the encoder.
      mask: int [B, L], 1 for its tokens and 0 for padding.

    Returns:
      {"layer_0": as of `SelfAttention.look`, ...}.

    Raises:
      ValueError: as `extension.check`.
    """
    extension.check(self.config.of_decoder())
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
    places = extension.places(cache, ops.ones_like(ids))
    hidden, _ = self.embeddings(ids, None, None, places[0], table=table)
    hidden, cache = extension.through(
      self.blocks, self.tellers, hidden, cache, places, memory
    )
    return hidden if self.norm is None else self.norm(hidden), cache
