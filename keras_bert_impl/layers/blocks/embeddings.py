"""Word, segment and position embeddings, learned or sinusoidal."""

import dataclasses
import functools

import keras
import numpy as np
from keras import ops

from keras_bert_impl.layers.basics import layer, parts

# Kinds of positions that are rows of a table, added to the words'.
TABLES = ("learned", "sinusoidal", "sinusoidal_halves")


@dataclasses.dataclass(frozen=True)
class EmbeddingsConfig(parts.Part):
  """Fields of the embeddings.

  Attributes:
    type_vocab_size: number of segments; with 1, segment ids are ignored; with
      0, there are no embeddings of them.
    embedding_size: E, width of the embedding tables; None means H. If it
      differs from H, a dense layer maps E to H (as in ALBERT and ELECTRA).
    max_position_embeddings: rows of the position table; see `longest_input`.
    scale_embeddings: whether the rows of words are multiplied by the root of E.
    position_offset: row of the position table that the first token takes; the
      row before it is that of padding (RoBERTa: 2; else 0).
    embeddings_norm: whether LayerNorm normalizes the embeddings.
    task_type_vocab_size: number of tasks that have an embedding (ERNIE), which
      is added to each token, by default that of the first; 0: there are none.
  """

  type_vocab_size: int = parts.field(2, shows=True)
  embedding_size: int | None = parts.field(None, "[1, inf)", shows=True)
  max_position_embeddings: int = parts.field(512, "[1, inf)", shows=True)
  position_offset: int = parts.field(0)
  scale_embeddings: bool = parts.field(False)
  embeddings_norm: bool = parts.field(True, shows=True)
  task_type_vocab_size: int = parts.field(0, shows=True)

  @classmethod
  def check(cls, config):
    """Raises ValueError if positions have an offset without a table."""
    offset, positions = config.position_offset, config.max_position_embeddings
    if offset >= positions:
      raise ValueError(
        f"position_offset ({offset}) must be an integer from 0 to below"
        f" max_position_embeddings ({positions})."
      )
    kind = config.position_embedding_type
    has_none = kind not in (*TABLES, "none") or config.clears_padding
    if offset and has_none:
      raise ValueError(
        f"position_offset ({offset}) must be 0 with position_embedding_type"
        f" {kind!r} and clears_padding {config.clears_padding}."
      )

  @property
  def has_positions_in_input(self):
    """Whether embeddings of positions are added to those of words."""
    return self.position_embedding_type in TABLES

  @property
  def has_no_positions(self):
    """Whether the encoder knows no positions at all."""
    return self.position_embedding_type == "none"

  @property
  def embedding_width(self):
    """The width of the tables, E, int."""
    return self.embedding_size or self.hidden_size

  def explicit(self):
    """Returns the same configuration with the embedding size spelled out."""
    return dataclasses.replace(self, embedding_size=self.embedding_width)

  @staticmethod
  def fields_of_tables(words, positions, segments):
    """Returns the fields that the shapes of three tables show, dict."""
    return {
      "vocab_size": words[0],
      "embedding_size": words[1],
      "max_position_embeddings": positions[0],
      "type_vocab_size": segments[0],
    }

  @property
  def num_ids(self):
    """How many ids there are in each input that is looked up, {name: int}."""
    return {
      "input_ids": self.vocab_size,
      "decoder_ids": self.vocab_size,
      "segment_ids": self.type_vocab_size,
    }

  @property
  def max_sequence_length(self):
    """Most tokens of a sequence, by default: less `position_offset`."""
    return self.max_position_embeddings - self.position_offset

  @property
  def longest_input(self):
    """Most tokens that it can read; None where no table has their positions."""
    if self.position_embedding_type not in TABLES and not self.rotary_table:
      return None
    return self.max_position_embeddings - self.position_offset


def of_config(config, dtype, make=None, has_words=True):
  """Returns new `Embeddings`.

  Args:
    config: `configs.EncoderConfig`.
    dtype: a dtype policy.
    make: function that is called instead of the class, or None.
    has_words: bool, as of `Embeddings`.
  """
  kind = config.position_embedding_type
  return (make or Embeddings)(
    vocab_size=config.vocab_size,
    embedding_size=config.embedding_size or config.hidden_size,
    max_position_embeddings=config.max_position_embeddings,
    type_vocab_size=config.type_vocab_size,
    position_embedding_type=kind if kind in TABLES else "none",
    position_offset=config.position_offset,
    dropout_rate=config.hidden_dropout_prob,
    layer_norm_eps=config.layer_norm_eps,
    norm_bias=config.norm_bias,
    use_norm=config.embeddings_norm,
    scales=config.scale_embeddings,
    task_type_vocab_size=config.task_type_vocab_size,
    initializer_range=config.initializer_range,
    hidden_size=config.hidden_size if config.clears_padding else None,
    clears_padding=config.clears_padding,
    has_words=has_words,
    dtype=dtype,
    name="embeddings",
  )


def to_hidden_size(config, dtype, hidden):
  """Returns the embeddings [B, L, E], mapped to [B, L, H]."""
  return layer.Dense(
    config.hidden_size,
    kernel_initializer=layer.truncated_normal(config.initializer_range),
    dtype=dtype,
    name="embedding_hidden_mapping_in",
  )(hidden)


@dataclasses.dataclass(eq=False, repr=False)
class _EmbeddingsArguments(layer.Arguments):
  vocab_size: int
  embedding_size: int
  max_position_embeddings: int = 512
  type_vocab_size: int = 2
  position_embedding_type: str = "learned"
  position_offset: int = 0
  dropout_rate: float = 0.1
  layer_norm_eps: float = 1e-12
  initializer_range: float = 0.02
  hidden_size: int | None = None
  clears_padding: bool = False
  norm_bias: bool = True
  use_norm: bool = True
  scales: bool = False
  task_type_vocab_size: int = 0
  has_words: bool = True


class Embeddings(_EmbeddingsArguments, layer.Layer):
  """Sum of word, segment and position embeddings, with LayerNorm and dropout.

  Args:
    vocab_size: int, V.
    embedding_size: int, E.
    max_position_embeddings: int, rows of the position table.
    type_vocab_size: int, number of segments; with 1, segment ids are ignored;
      with 0, there is no table of them.
    position_embedding_type: "learned", "sinusoidal", "sinusoidal_halves" (all
      sines before all cosines) or "none".
    position_offset: int, row of the position table that the first token takes.
      Where it is not 0, padding takes the row before it (RoBERTa: 2 and 1).
    dropout_rate: float in [0, 1).
    layer_norm_eps: float.
    initializer_range: float, standard deviation.
    hidden_size: int, H, to which the sum is mapped, without bias; None: E.
    clears_padding: bool, whether the states of padding are 0.
    norm_bias: bool, whether LayerNorm adds a bias.
    use_norm: bool, whether there is LayerNorm.
    scales: bool, whether the rows of words are multiplied by the root of E.
    task_type_vocab_size: int, rows of the table of tasks; 0: there is none.
    has_words: bool, whether the table of words is its own; else it is given in
      each call.
    **kwargs: of `keras.layers.Layer`.

  Source: google-research/bert, modeling.py, embedding_postprocessor; fairseq's
  RoBERTa for the offset.
  """

  # Keras may pass ids as floats; bfloat16 would round them.
  of_keras = {"autocast": False}

  def build(self, input_ids_shape, **other_shapes):
    """Creates the weights."""
    size = self.hidden_size or self.embedding_size
    hidden_shape = (*input_ids_shape, size)
    # Rows are gathered in float32 and cast, instead of the whole table.
    table = functools.partial(self._weight, autocast=False)
    length, width = self.max_position_embeddings, self.embedding_size
    if self.has_words:
      self.word_embeddings = table("word_embeddings", self.vocab_size, width)
    if self.type_vocab_size:
      self.token_type_embeddings = table(
        "token_type_embeddings", self.type_vocab_size, width
      )
    if self.task_type_vocab_size:
      self.task_type_embeddings = table(
        "task_type_embeddings", self.task_type_vocab_size, width
      )
    if self.position_embedding_type == "learned":
      self.position_embeddings = table("position_embeddings", length, width)
    elif self.position_embedding_type in TABLES:
      self.position_embeddings = sinusoidal(
        length, width, self.position_embedding_type == "sinusoidal_halves"
      )
    self.embed_proj = None
    if size != width:
      self.embed_proj = self._dense(
        size, (None, width), name="embed_proj", use_bias=False
      )
    self.layer_norm = self._layer_norm(hidden_shape) if self.use_norm else None
    self.dropout = self._dropout(hidden_shape, self.dropout_rate)

  def call(
    self,
    input_ids,
    segment_ids,
    input_mask=None,
    position_ids=None,
    task_type_ids=None,
    training=False,
    table=None,
  ):
    """Embeds a batch.

    Args:
      input_ids: int [B, L], in [0, V).
      segment_ids: int [B, L], in [0, type_vocab_size); None where there is no
        table of them.
      input_mask: int [B, L], 1 for a token and 0 for padding; only positions
        with an offset depend on it. None: no padding.
      position_ids: int [B, L], from 0 on. None: counted in each row.
      task_type_ids: int [B, L], in [0, task_type_vocab_size). None: all 0.
      training: bool.
      table: float [V, E], of words, where the layer has none.

    Returns:
      Tuple of the hidden states [B, L, E or H] and the word embedding table
      [V, E], to which `MaskedLanguageModelHead` ties its output.

    Raises:
      ValueError: as `check_length`, L above what the table has; or,
        as `layer.check_ids`, ids out of range.
    """
    check_length(input_ids.shape[1], self)
    name = "input_ids" if self.has_words else "decoder_ids"
    layer.check_ids(name, input_ids, self.vocab_size)
    if self.type_vocab_size > 1:
      layer.check_ids("segment_ids", segment_ids, self.type_vocab_size)
    input_ids = ops.cast(input_ids, "int32")
    words = self.word_embeddings if self.has_words else table
    table = ops.convert_to_tensor(words)
    hidden = ops.take(words, input_ids, axis=0)  # [B, L, E]
    if self.scales:
      hidden *= self.embedding_size**0.5
    if self.type_vocab_size == 1:
      hidden += self.token_type_embeddings[0]
    elif self.type_vocab_size:
      # With so few rows a product is faster than a gather, both ways.
      is_segment = ops.one_hot(
        ops.cast(segment_ids, "int32"), self.type_vocab_size, dtype=table.dtype
      )
      hidden += ops.matmul(is_segment, self.token_type_embeddings)
    if self.position_embedding_type != "none":
      rows = ops.convert_to_tensor(self.position_embeddings)
      if position_ids is None and self.position_offset:
        position_ids = positions_of_tokens(input_ids, input_mask)
      if position_ids is None:
        hidden += rows[: ops.shape(input_ids)[1]]
      else:
        hidden += ops.take(rows, position_ids + self.position_offset, axis=0)
    if task_type_ids is not None:
      layer.check_ids("task_type_ids", task_type_ids, self.task_type_vocab_size)
      hidden += ops.take(self.task_type_embeddings, task_type_ids, axis=0)
    elif self.task_type_vocab_size:
      hidden += self.task_type_embeddings[0]
    hidden = ops.cast(hidden, self.compute_dtype)
    hidden = hidden if self.embed_proj is None else self.embed_proj(hidden)
    hidden = hidden if self.layer_norm is None else self.layer_norm(hidden)
    if self.clears_padding and input_mask is not None:
      hidden *= ops.expand_dims(ops.cast(input_mask, hidden.dtype), -1)
    return self.dropout(hidden, training=training), table

  def compute_output_spec(self, input_ids, *args, **kwargs):
    """Returns the shapes and dtypes of `call`."""
    check_length(input_ids.shape[1], self)
    shape = (*input_ids.shape, self.hidden_size or self.embedding_size)
    table_shape = (self.vocab_size, self.embedding_size)
    hidden = keras.KerasTensor(shape, self.compute_dtype)
    return hidden, keras.KerasTensor(table_shape, self.variable_dtype)


def sinusoidal(length, size, in_halves=False):
  """Returns the sinusoidal position embeddings of the original Transformer.

  Args:
    length: int, number of positions.
    size: int, E.
    in_halves: bool, whether all sines stand before all cosines.

  Returns:
    float32 array [length, E]: sine in the even, cosine in the odd columns.

  Source: Vaswani et al. 2017, section 3.5; their code, tensor2tensor, and
  Marian have halves.
  """
  column = np.arange(size)
  frequency = 1.0 / 10000.0 ** (2 * (column // 2) / size)
  angle = np.arange(length)[:, None] * frequency[None, :]
  table = np.where(column % 2 == 0, np.sin(angle), np.cos(angle))
  if in_halves:
    table = np.concatenate([table[:, ::2], table[:, 1::2]], axis=1)
  return table.astype("float32")


def positions_of_tokens(input_ids, input_mask=None):
  """Returns int32 [B, L]: tokens counted from 0 in each row; -1 for padding.

  Args:
    input_ids: int [B, L].
    input_mask: int [B, L], 1 for a token and 0 for padding. None: no padding.
  """
  if input_mask is None:
    input_mask = ops.ones_like(input_ids)
  is_token = ops.cast(input_mask, "int32")
  return ops.cumsum(is_token, axis=1) * is_token - 1


def check_length(length, layer):
  """Raises ValueError if L, int or None, is above what a layer has rows for."""
  rows, offset = layer.max_position_embeddings, layer.position_offset
  has_rows = layer.position_embedding_type != "none"
  if has_rows and length is not None and length > rows - offset:
    raise ValueError(
      f"The sequence length ({length}) must be at most {rows - offset}: "
      f"max_position_embeddings ({rows}) less position_offset ({offset})."
    )


def check_one_width(config, what):
  """Raises ValueError unless embeddings are as wide as hidden states.

  Args:
    config: `configs.EncoderConfig`.
    what: str, what needs it, for the message.
  """
  if config.embedding_size not in (None, config.hidden_size):
    raise ValueError(
      f"embedding_size ({config.embedding_size}) must be {config.hidden_size}"
      f" with {what}, as hidden_size."
    )


def check_same_tables(config, other):
  """Raises ValueError if embeddings of a generator have other tables.

  Args:
    config: `configs.EncoderConfig`, of ELECTRA's discriminator.
    other: the same, of its generator.
  """
  for name in (
    "vocab_size",
    "type_vocab_size",
    "max_position_embeddings",
    "position_embedding_type",
    "position_offset",
    "embedding_width",
  ):
    ours, theirs = getattr(config, name), getattr(other, name)
    if ours != theirs:
      shown = name.replace("width", "size")
      raise ValueError(
        f"{shown} of the generator ({theirs}) must be the discriminator's "
        f"({ours}): their embeddings have the same tables."
      )
