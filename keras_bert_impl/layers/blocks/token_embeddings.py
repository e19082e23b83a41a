"""Word embeddings alone, and the embedding of a query."""

import dataclasses

from keras import ops

from keras_bert_impl.layers.basics import layer


@dataclasses.dataclass(eq=False, repr=False)
class _TokenEmbeddingsArguments(layer.Arguments):
  vocab_size: int
  embedding_size: int
  type_vocab_size: int = 4
  dropout_rate: float = 0.1
  initializer_range: float = 0.02


class TokenEmbeddings(_TokenEmbeddingsArguments, layer.Layer):
  """Word embeddings without positions or segments, as XLNet has them.

  Args:
    vocab_size: int, V.
    embedding_size: int, H.
    type_vocab_size: int, number of segments, only to check segment ids.
    dropout_rate: float in [0, 1).
    initializer_range: float, standard deviation.
    **kwargs: of `keras.layers.Layer`.

  Source: Yang et al. 2019, section 2.3.
  """

  # Ids stay integers, as in `Embeddings`.
  of_keras = {"autocast": False}

  def build(self, input_ids_shape, target_mapping_shape=None, **other_shapes):
    """Creates the weights; without queries, theirs is not trained."""
    size = self.embedding_size
    # Without autocast it gathers rows in float32 and casts them, instead of the
    # whole table.
    self.word_embeddings = self._weight(
      "word_embeddings", self.vocab_size, size, autocast=False
    )
    # With the axes of a batch, as in released weights.
    self.mask_embedding = self._weight(
      "mask_embedding", 1, 1, size, autocast=False
    )
    self.mask_embedding.trainable = target_mapping_shape is not None
    self.dropout = self._dropout((*input_ids_shape, size), self.dropout_rate)

  def call(self, input_ids, segment_ids, target_mapping=None, training=False):
    """Embeds a batch.

    Args:
      input_ids: int [B, L], in [0, V).
      segment_ids: int [B, L], in [0, type_vocab_size).
      target_mapping: float [B, P, L], places of queries, or None.
      training: bool.

    Returns:
      Tuple of the hidden states [B, L, H]; the word embedding table [V, H]; and
      with `target_mapping` the first states of the queries [B, P, H].

    Raises:
      ValueError: as `layer.check_ids`, ids out of range.
    """
    layer.check_ids("input_ids", input_ids, self.vocab_size)
    if self.type_vocab_size > 1:
      layer.check_ids("segment_ids", segment_ids, self.type_vocab_size)
    table = ops.convert_to_tensor(self.word_embeddings)
    input_ids = ops.cast(input_ids, "int32")
    hidden = ops.take(self.word_embeddings, input_ids, axis=0)
    hidden = ops.cast(hidden, self.compute_dtype)
    hidden = self.dropout(hidden, training=training)
    if target_mapping is None:
      return hidden, table
    batch, num_queries, _ = ops.shape(target_mapping)
    query = ops.cast(self.mask_embedding, self.compute_dtype)
    query = ops.broadcast_to(query, (batch, num_queries, self.embedding_size))
    return hidden, table, self.dropout(query, training=training)
