"""Model of sparse text embeddings: a weight for each token it knows."""

from keras import ops

from keras_bert_impl import features, heads
from keras_bert_impl.models.encoders import encoder_choice
from keras_bert_impl.models.heads import head_model, masked_language_model


class SparseEmbeddingModel(head_model.HeadModel):
  """SPLADE: sparse `embeddings` [B, V] of texts, from the masked-LM head.

  The weight of a token of the vocabulary is the maximum, over the tokens of a
  text, of log(1 + relu(its logit)). The weights are those of
  `MaskedLanguageModel`.

  Args:
    config: `configs.EncoderConfig`.
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.
    use_mask_decoder: bool, as `PretrainingModel`.

  Attributes:
    use_mask_decoder: as given.

  Raises:
    ValueError: the encoder is XLNet's or a pair, whose heads predict otherwise.

  Source: Formal et al. 2021, "SPLADE v2", equation 6.
  """

  heads = (heads.SPARSE, heads.FILL_MASK)

  def __init__(
    self,
    config,
    dtype=None,
    name="sparse_embedding_model",
    use_mask_decoder=False,
  ):
    arguments = dict(locals())
    head_model.check_usual(config, "whose heads make no sparse vectors")
    encoder = encoder_choice.make(config, dtype, use_pooler=False)
    logits = masked_language_model.token_logits(
      encoder, use_mask_decoder=use_mask_decoder
    )
    # The function grows, so that the maximum may come first: [B, V] is all
    # that it needs to keep.
    mask = encoder.input[features.INPUT_MASK]
    logits = ops.where(ops.expand_dims(mask, -1) > 0, logits, 0.0)
    embeddings = ops.log1p(ops.relu(ops.max(logits, axis=1)))  # [B, V]
    super().__init__(
      encoder, encoder.input, {"embeddings": embeddings}, arguments
    )
    self.use_mask_decoder = use_mask_decoder

  @classmethod
  def of_checkpoint(cls, description, shapes, dtype=None):
    """Returns a model with the decoder of the checkpoint."""
    return cls(
      description.config,
      dtype,
      use_mask_decoder=masked_language_model.has_mask_decoder(
        description.config, shapes
      ),
    )
