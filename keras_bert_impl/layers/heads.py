"""What stands on the encoder: pooler, masked-LM and next-sentence heads."""

import keras
from keras import ops

from keras_bert_impl.layers import initializers


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class Pooler(keras.layers.Layer):
  """Dense tanh layer on the first position ([CLS]).

  Args:
    initializer_range: float, standard deviation.
    **kwargs: of `keras.layers.Layer`.

  Source: google-research/bert, modeling.py.
  """

  def __init__(self, initializer_range=0.02, **kwargs):
    super().__init__(**kwargs)
    self.initializer_range = initializer_range

  def build(self, hidden_shape):
    """Creates the weights."""
    batch, _, hidden_size = hidden_shape
    self.dense = keras.layers.Dense(
      hidden_size,
      "tanh",
      kernel_initializer=initializers.truncated_normal(self.initializer_range),
      dtype=self.dtype_policy,
      name="dense",
    )
    self.dense.build((batch, hidden_size))

  def call(self, hidden):
    """[B, L, H] -> [B, H]."""
    return self.dense(hidden[:, 0])

  def compute_output_shape(self, hidden_shape):
    """Returns the shape of `call`."""
    return (hidden_shape[0], hidden_shape[-1])

  def get_config(self):
    """Returns the arguments of the constructor."""
    return {
      **super().get_config(),
      "initializer_range": self.initializer_range,
    }


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class MaskedLanguageModelHead(keras.layers.Layer):
  """Scores every word piece at the masked positions, and only there.

  The output matrix is the word embedding table, so that the two are tied; the
  layer owns the transformation before it and the bias after it.

  Args:
    activation: str, of the transformation.
    layer_norm_eps: float.
    initializer_range: float, standard deviation.
    **kwargs: of `keras.layers.Layer`.

  Source: google-research/bert, run_pretraining.py, get_masked_lm_output.
  """

  def __init__(
    self,
    activation="gelu",
    layer_norm_eps=1e-12,
    initializer_range=0.02,
    **kwargs,
  ):
    # Keras may hand positions over as floats; bfloat16 would round them.
    super().__init__(autocast=False, **kwargs)
    self.activation = activation
    self.layer_norm_eps = layer_norm_eps
    self.initializer_range = initializer_range

  def build(
    self, hidden_shape, masked_lm_positions_shape, embedding_table_shape
  ):
    """Creates the weights."""
    vocab_size, embedding_size = embedding_table_shape
    with keras.name_scope("transform"):
      self.dense = keras.layers.Dense(
        embedding_size,
        self.activation,
        kernel_initializer=initializers.truncated_normal(
          self.initializer_range
        ),
        dtype=self.dtype_policy,
        name="dense",
      )
      self.dense.build((None, hidden_shape[-1]))
      self.layer_norm = keras.layers.LayerNormalization(
        epsilon=self.layer_norm_eps, dtype=self.dtype_policy, name="LayerNorm"
      )
      self.layer_norm.build((None, embedding_size))
    self.output_bias = self.add_weight(
      name="output_bias",
      shape=(vocab_size,),
      initializer="zeros",
      autocast=False,
    )

  def call(self, hidden, masked_lm_positions, embedding_table):
    """Scores the word pieces.

    Args:
      hidden: float [B, L, H].
      masked_lm_positions: int [B, P], in [0, L).
      embedding_table: float [V, E], the second output of `Embeddings`.

    Returns:
      Logits, float32 [B, P, V].
    """
    batch, num_predictions = ops.shape(masked_lm_positions)
    masked = _gather_positions(hidden, masked_lm_positions)  # [B * P, H]
    masked = self.layer_norm(self.dense(masked))  # [B * P, E]
    table = ops.cast(embedding_table, self.compute_dtype)
    # The table comes first so that its gradient needs no [E, V] transposition,
    # five times as large as this one of the logits.
    logits = ops.transpose(ops.matmul(table, ops.transpose(masked)))
    logits = ops.cast(logits, "float32") + self.output_bias
    return ops.reshape(logits, (batch, num_predictions, table.shape[0]))

  def compute_output_spec(self, hidden, masked_lm_positions, embedding_table):
    """Returns the shapes and dtypes of `call`."""
    return keras.KerasTensor(
      (*masked_lm_positions.shape, embedding_table.shape[0]), "float32"
    )

  def get_config(self):
    """Returns the arguments of the constructor."""
    return {
      **super().get_config(),
      "activation": self.activation,
      "layer_norm_eps": self.layer_norm_eps,
      "initializer_range": self.initializer_range,
    }


def _gather_positions(hidden, positions):
  """[B, L, H] at [B, P] -> [B * P, H].

  One gather of rows: `take_along_axis` would broadcast the positions over H.
  """
  batch, length, size = ops.shape(hidden)
  first_row = ops.arange(batch, dtype="int32")[:, None] * length
  rows = ops.reshape(ops.cast(positions, "int32") + first_row, (-1,))
  return ops.take(ops.reshape(hidden, (-1, size)), rows, axis=0)


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class NextSentenceHead(keras.layers.Layer):
  """Scores "B follows A" (class 0) against "B is random" (class 1).

  Args:
    initializer_range: float, standard deviation.
    **kwargs: of `keras.layers.Layer`.

  Source: google-research/bert, run_pretraining.py, get_next_sentence_output.
  """

  def __init__(self, initializer_range=0.02, **kwargs):
    super().__init__(**kwargs)
    self.initializer_range = initializer_range

  def build(self, pooled_shape):
    """Creates the weights."""
    self.output_weights = self.add_weight(
      name="output_weights",
      shape=(2, pooled_shape[-1]),
      initializer=initializers.truncated_normal(self.initializer_range),
    )
    self.output_bias = self.add_weight(
      name="output_bias", shape=(2,), initializer="zeros"
    )

  def call(self, pooled):
    """[B, H] -> logits, float32 [B, 2]."""
    logits = ops.matmul(pooled, ops.transpose(self.output_weights))
    return ops.cast(logits + self.output_bias, "float32")

  def compute_output_spec(self, pooled):
    """Returns the shapes and dtypes of `call`."""
    return keras.KerasTensor((pooled.shape[0], 2), "float32")

  def get_config(self):
    """Returns the arguments of the constructor."""
    return {
      **super().get_config(),
      "initializer_range": self.initializer_range,
    }
