"""Which tokens were replaced: ELECTRA's discriminator."""

from keras_bert_impl import heads, layers
from keras_bert_impl.models.encoders import encoder_choice
from keras_bert_impl.models.heads import head_model


class ReplacedTokenDetector(head_model.HeadModel):
  """ELECTRA's discriminator: `logits` [B, L], above 0 for replaced tokens.

  Args:
    config: `configs.EncoderConfig`.
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.
    use_sequence_ids: bool, as `TransformerEncoder`.
    embeddings: as `TransformerEncoder`.

  Source: Clark et al. 2020, section 2.
  """

  heads = (heads.REPLACED_TOKENS,)

  def __init__(
    self,
    config,
    dtype=None,
    name="replaced_token_detector",
    use_sequence_ids=False,
    embeddings=None,
  ):
    arguments = dict(locals())
    options = {"use_sequence_ids": use_sequence_ids}
    if embeddings is not None:
      options["embeddings"] = embeddings
    encoder = encoder_choice.make(config, dtype, use_pooler=False, **options)
    head = layers.DiscriminatorHead(
      config.block_options["activation"],
      config.initializer_range,
      dtype=encoder.dtype_policy,
      name="discriminator_predictions",
    )
    outputs = {"logits": head(encoder.hidden_states[-1])}
    super().__init__(encoder, encoder.input, outputs, arguments)
