"""DeBERTa's enhanced mask decoder: the last block, with positions."""

import dataclasses

import keras
from keras import ops

from keras_bert_impl.layers.basics import layer
from keras_bert_impl.layers.blocks import embeddings, transformer_block

_NUM_ROUNDS = 2


@dataclasses.dataclass(eq=False, repr=False)
class _MaskDecoderArguments(layer.Arguments):
  block: transformer_block.TransformerBlock
  max_position_embeddings: int = 512
  initializer_range: float = 0.02


class MaskDecoder(_MaskDecoderArguments, layer.Layer):
  """Applies a block twice more, with absolute positions in its queries.

  Keys and values come from the input of the block. The queries are first that
  input plus embeddings of the positions, then the result of the first time. The
  weights are those of the block; only the table of positions is new.

  The models that contain it make it themselves when they are loaded.

  Args:
    block: `TransformerBlock`, post-norm, which is built.
    max_position_embeddings: int, rows of the table.
    initializer_range: float, standard deviation.
    **kwargs: of `keras.layers.Layer`.

  Source: He et al. 2021 (DeBERTa), section 3.2 and appendix A.
  """

  position_embedding_type, position_offset = "learned", 0

  # Ids stay integers, as in `Embeddings`.
  of_keras = {"autocast": False}

  def build(self, hidden_shape, **other_shapes):
    """Creates the table, under the name that DeBERTa's releases have."""
    # `add_weight` would leave the scope out of the path.
    with keras.name_scope("embeddings"):
      self.position_embeddings = keras.Variable(
        layer.truncated_normal(self.initializer_range),
        shape=(self.max_position_embeddings, hidden_shape[-1]),
        dtype=self.variable_dtype,
        autocast=False,
        name="position_embeddings",
      )

  def call(
    self,
    hidden,
    attention_mask=None,
    positions=None,
    position_ids=None,
    training=False,
  ):
    """Decodes all positions.

    Args:
      hidden: float [B, L, H], the states before the block.
      attention_mask: as of `SelfAttention.call`.
      positions: as of `SelfAttention.call`.
      position_ids: int [B, L], from 0 on. None: counted in each row.
      training: bool.

    Returns:
      float [B, L, H].

    Raises:
      ValueError: L above `max_position_embeddings`.
    """
    embeddings.check_length(hidden.shape[1], self)
    query = hidden + self._embed(ops.shape(hidden)[1], position_ids)
    for _ in range(_NUM_ROUNDS):
      query = self.block(
        hidden,
        attention_mask,
        positions=positions,
        query_hidden=query,
        training=training,
      )
    return query

  def _embed(self, length, position_ids):
    """Returns the embeddings of positions, [L, H] or [B, L, H]."""
    table = ops.convert_to_tensor(self.position_embeddings)
    if position_ids is None:
      found = table[:length]
    else:
      found = ops.take(table, ops.cast(position_ids, "int32"), axis=0)
    return ops.cast(found, self.compute_dtype)

  def compute_output_spec(self, hidden, *args, **kwargs):
    """Returns the shape and dtype of `call`."""
    embeddings.check_length(hidden.shape[1], self)
    return keras.KerasTensor(hidden.shape, self.compute_dtype)
