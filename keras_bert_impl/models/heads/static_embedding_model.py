"""Model of text embeddings without a transformer: means of rows of a table."""

import dataclasses

import keras

from keras_bert_impl import features, heads, layers
from keras_bert_impl.models.encoders import encoder_model


@dataclasses.dataclass(frozen=True)
class StaticConfig:
  """Sizes of a `StaticEmbeddingModel`.

  Attributes:
    vocab_size: int, V, rows of the table.
    embedding_size: int, D.
    max_sequence_length: None, as there are no positions; of the class.
    longest_input: None, likewise.
    num_hidden_layers: 0, of the class.
    model_type: None, likewise.
  """

  vocab_size: int
  embedding_size: int

  max_sequence_length = None
  longest_input = None
  num_hidden_layers = 0
  model_type = None

  def to_dict(self):
    """Returns the fields, {name: int}."""
    return dataclasses.asdict(self)


class StaticEmbeddingModel(encoder_model.Model):
  """Static embedding model: `embeddings` [B, D], means of rows of a table.

  Inputs are `input_ids` and `input_mask`, int32 [B, L], without special tokens.
  A text without tokens gets zeros.

  Args:
    vocab_size: int, V.
    embedding_size: int, D.
    normalize: bool, whether vectors have length 1.
    dtype: dtype or policy of the table; vectors are float32.
    name: str.

  Attributes:
    config: `StaticConfig`.
    normalize: as given.
    table: `keras.Variable` [V, D].

  Source: Tulkens and van Dongen 2024, Model2Vec; sentence-transformers,
  static_embedding.py.
  """

  served_head = heads.STATIC

  def __init__(
    self,
    vocab_size,
    embedding_size,
    normalize=True,
    dtype=None,
    name="static_embedding_model",
  ):
    # Inputs.
    inputs = {
      key: encoder_model.make_input(key)
      for key in (features.INPUT_IDS, features.INPUT_MASK)
    }

    # Wiring.
    embedding = keras.layers.Embedding(
      vocab_size, embedding_size, dtype=dtype, name="static_embeddings"
    )
    rows = embedding(inputs[features.INPUT_IDS])  # [B, L, D]
    pool = layers.Pooling("mean", dtype="float32", name="pooling")
    vector = pool(rows, inputs[features.INPUT_MASK])  # [B, D]
    if normalize:
      vector = keras.layers.UnitNormalization(dtype="float32")(vector)
    super().__init__(inputs, {"embeddings": vector}, name=name)

    # Attributes.
    self.config = StaticConfig(vocab_size, embedding_size)
    self.normalize = normalize
    self.table = embedding.embeddings
    self.dtype_policy = embedding.dtype_policy

  def get_config(self):
    """Returns the argument of `from_config`, in plain types."""
    return {
      **self.config.to_dict(),
      "normalize": self.normalize,
      "dtype": keras.dtype_policies.serialize(self.dtype_policy),
      "name": self.name,
    }

  @classmethod
  def from_config(cls, config, custom_objects=None):
    """Returns a new model of the same configuration."""
    del custom_objects  # There are none inside.
    return cls(**config)
