"""Word, segment and position embeddings."""

import keras
from keras import ops

from keras_bert_impl.layers import base, ids, initializers, positions


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class Embeddings(base.Layer):
  """Sum of word, segment and position embeddings, with LayerNorm and dropout.

  Args:
    vocab_size: int, V.
    embedding_size: int, E.
    max_position_embeddings: int, rows of the position table.
    type_vocab_size: int, number of segments; with 1, segment ids are ignored;
      with 0, there is no table of them.
    position_embedding_type: "learned", "sinusoidal" or "none".
    position_offset: int, row of the position table that the first token takes.
      Where it is not 0, padding takes the row before it (RoBERTa: 2 and 1).
    dropout_rate: float in [0, 1).
    layer_norm_eps: float.
    initializer_range: float, standard deviation.
    hidden_size: int, H, to which the sum is mapped, without bias; None: E.
    clears_padding: bool, whether the states of padding are 0.
    norm_bias: bool, whether LayerNorm adds a bias.
    **kwargs: of `keras.layers.Layer`.

  Source: google-research/bert, modeling.py, embedding_postprocessor; fairseq's
  RoBERTa for the offset.
  """

  def __init__(
    self,
    vocab_size,
    embedding_size,
    max_position_embeddings=512,
    type_vocab_size=2,
    position_embedding_type="learned",
    position_offset=0,
    dropout_rate=0.1,
    layer_norm_eps=1e-12,
    initializer_range=0.02,
    hidden_size=None,
    clears_padding=False,
    norm_bias=True,
    **kwargs,
  ):
    # Keras may pass ids as floats; bfloat16 would round them.
    super().__init__(autocast=False, **kwargs)
    positions.check_type(position_embedding_type, self.name)
    self.vocab_size = vocab_size
    self.embedding_size = embedding_size
    self.max_position_embeddings = max_position_embeddings
    self.type_vocab_size = type_vocab_size
    self.position_embedding_type = position_embedding_type
    self.position_offset = position_offset
    self.dropout_rate = dropout_rate
    self.layer_norm_eps = layer_norm_eps
    self.initializer_range = initializer_range
    self.hidden_size = hidden_size
    self.clears_padding = clears_padding
    self.norm_bias = norm_bias

  def build(self, input_ids_shape, **other_shapes):
    """Creates the weights."""
    size = self.hidden_size or self.embedding_size
    hidden_shape = (*input_ids_shape, size)
    self.word_embeddings = self._add_table("word_embeddings", self.vocab_size)
    if self.type_vocab_size:
      self.token_type_embeddings = self._add_table(
        "token_type_embeddings", self.type_vocab_size
      )
    if self.position_embedding_type == "learned":
      self.position_embeddings = self._add_table(
        "position_embeddings", self.max_position_embeddings
      )
    elif self.position_embedding_type == "sinusoidal":
      self.position_embeddings = positions.sinusoidal(
        self.max_position_embeddings, self.embedding_size
      )
    self.embed_proj = None
    if size != self.embedding_size:
      shape = (None, self.embedding_size)
      self.embed_proj = self._dense(
        size, shape, name="embed_proj", use_bias=False
      )
    self.layer_norm = self._layer_norm(hidden_shape)
    self.dropout = self._dropout(hidden_shape, self.dropout_rate)

  def _add_table(self, name, num_rows):
    return self.add_weight(
      name=name,
      shape=(num_rows, self.embedding_size),
      initializer=initializers.truncated_normal(self.initializer_range),
      # Gathers rows in float32 and casts them, instead of the whole table.
      autocast=False,
    )

  def call(
    self,
    input_ids,
    segment_ids,
    input_mask=None,
    position_ids=None,
    training=False,
  ):
    """Embeds a batch.

    Args:
      input_ids: int [B, L], in [0, V).
      segment_ids: int [B, L], in [0, type_vocab_size).
      input_mask: int [B, L], 1 for a token and 0 for padding; only positions
        with an offset depend on it. None: no padding.
      position_ids: int [B, L], from 0 on. None: counted in each row.
      training: bool.

    Returns:
      Tuple of the hidden states [B, L, E or H] and the word embedding table
      [V, E], to which `MaskedLanguageModelHead` ties its output.

    Raises:
      ValueError: as `positions.check_length`, L above what the table has; or,
        as `ids.check`, ids out of range.
    """
    positions.check_length(input_ids.shape[1], self)
    ids.check_inputs(input_ids, segment_ids, self)
    input_ids = ops.cast(input_ids, "int32")
    table = ops.convert_to_tensor(self.word_embeddings)
    hidden = ops.take(self.word_embeddings, input_ids, axis=0)  # [B, L, E]
    if self.type_vocab_size:
      hidden += self._embed_segments(ops.cast(segment_ids, "int32"))
    if self.position_embedding_type != "none":
      hidden += self._embed_positions(input_ids, input_mask, position_ids)
    hidden = ops.cast(hidden, self.compute_dtype)
    hidden = hidden if self.embed_proj is None else self.embed_proj(hidden)
    hidden = self.layer_norm(hidden)
    if self.clears_padding and input_mask is not None:
      hidden *= ops.cast(input_mask, hidden.dtype)[:, :, None]
    return self.dropout(hidden, training=training), table

  def _embed_segments(self, segment_ids):
    """Returns [B, L, E], or [E] where there is one segment."""
    if self.type_vocab_size == 1:
      return self.token_type_embeddings[0]
    # With so few rows a product is faster than a gather, both ways.
    table = self.token_type_embeddings
    one_hot = ops.one_hot(segment_ids, self.type_vocab_size, dtype=table.dtype)
    return ops.matmul(one_hot, table)

  def _embed_positions(self, input_ids, input_mask, position_ids):
    """Returns [L, E], or with an offset or position ids [B, L, E]."""
    table = ops.convert_to_tensor(self.position_embeddings)
    if position_ids is None:
      if not self.position_offset:
        return table[: ops.shape(input_ids)[1]]
      position_ids = positions.of_tokens(input_ids, input_mask)
    return ops.take(table, position_ids + self.position_offset, axis=0)

  def compute_output_spec(self, input_ids, *args, **kwargs):
    """Returns the shapes and dtypes of `call`."""
    positions.check_length(input_ids.shape[1], self)
    shape = (*input_ids.shape, self.hidden_size or self.embedding_size)
    table_shape = (self.vocab_size, self.embedding_size)
    hidden = keras.KerasTensor(shape, self.compute_dtype)
    return hidden, keras.KerasTensor(table_shape, self.variable_dtype)
