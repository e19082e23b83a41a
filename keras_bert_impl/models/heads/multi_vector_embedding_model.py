"""Model of late interaction: a vector for each token of a text."""

import keras
from keras import ops

from keras_bert_impl import features, heads
from keras_bert_impl.models.encoders import encoder_choice, encoder_model
from keras_bert_impl.models.heads import head_model

PROJECTION = "linear/kernel"
_SIZE = 128


class MultiVectorEmbeddingModel(head_model.HeadModel):
  """ColBERT: `embeddings` [B, L, D], a vector of length 1 for each token.

  There is an input `pooling_mask` int32 [B, L], 1 for the tokens that are
  compared, which is `input_mask` if it is left out; the others get zeros.

  Args:
    config: `configs.EncoderConfig`.
    embedding_size: int, D.
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.

  Raises:
    ValueError: the encoder is XLNet's or a pair, which frame texts otherwise.

  Source: Khattab and Zaharia 2020, "ColBERT", section 3.2.
  """

  heads = (heads.LATE,)

  def __init__(
    self, config, embedding_size=_SIZE, dtype=None, name="multi_vector_model"
  ):
    arguments = dict(locals())
    head_model.check_usual(config, "which late interaction is not for")
    encoder = encoder_choice.make(config, dtype, use_pooler=False)
    mask = encoder_model.make_input(features.POOLING_MASK)
    project = keras.layers.Dense(
      embedding_size,
      use_bias=False,
      kernel_initializer=keras.initializers.TruncatedNormal(
        stddev=config.initializer_range
      ),
      dtype=encoder.dtype_policy,
      name="linear",
    )
    vectors = ops.cast(project(encoder.hidden_states[-1]), "float32")
    weights = ops.cast(ops.expand_dims(mask > 0, -1), "float32")
    embeddings = weights * ops.normalize(vectors)  # [B, L, D]
    super().__init__(
      encoder,
      {**encoder.input, features.POOLING_MASK: mask},
      {"embeddings": embeddings},
      arguments,
    )

  @classmethod
  def of_checkpoint(cls, description, shapes, dtype=None):
    """Returns a model of the width of the checkpoint, or of 128."""
    size = shapes.get(PROJECTION, (0, _SIZE))[1]
    return cls(description.config, size, dtype)
