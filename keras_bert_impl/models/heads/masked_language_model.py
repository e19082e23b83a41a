"""Masked tokens, and the parts of heads that predict them."""

import keras

from keras_bert_impl import heads, layers
from keras_bert_impl.checkpoints.naming import names
from keras_bert_impl.models.encoders import encoder_choice
from keras_bert_impl.models.heads import head_model, mask_decoding


class MaskedLanguageModel(head_model.HeadModel):
  """Masked language model at every position: `token_logits` [B, L, V].

  The weights are those of `PretrainingModel`, which scores masked positions
  only. With a sentence head there are `sentence_logits` [B, 2] too.

  Args:
    config: `configs.EncoderConfig`.
    use_sentence_head: bool, whether there is a head for the next sentence, or
      for the order of two.
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.
    use_mask_decoder: bool, as `PretrainingModel`.

  Attributes:
    use_mask_decoder: as given.

  Source: Devlin et al. 2019, section 3.1.
  """

  heads = (heads.FILL_MASK, heads.PRETRAINING)
  fills_all_masks = True

  def __init__(
    self,
    config,
    use_sentence_head=False,
    dtype=None,
    name="masked_language_model",
    use_mask_decoder=False,
  ):
    arguments = dict(locals())
    encoder = encoder_choice.make(config, dtype, use_pooler=use_sentence_head)
    logits = token_logits(encoder, use_mask_decoder=use_mask_decoder)
    outputs = {"token_logits": logits}
    if use_sentence_head:
      pooled = encoder.output["pooled_output"]
      outputs["sentence_logits"] = sentence_logits(encoder, pooled)
    super().__init__(encoder, encoder.input, outputs, arguments)
    self.use_mask_decoder = use_mask_decoder

  @classmethod
  def of_checkpoint(cls, description, shapes, dtype=None):
    """Returns a model with the sentence head and decoder of the checkpoint."""
    return cls(
      description.config,
      description.head == heads.PRETRAINING,
      dtype,
      use_mask_decoder=has_mask_decoder(description.config, shapes),
    )


def has_mask_decoder(config, shapes):
  """Whether a checkpoint's masked-LM head has a decoder, as DeBERTa's.

  A table of positions that the input does not use is that of the decoder.

  Args:
    config: `configs.EncoderConfig`.
    shapes: {name: tuple of int} of the checkpoint's tensors.
  """
  return names.POSITION_EMBEDDINGS in shapes and config.has_no_positions


def masked_logits(encoder, positions, use_mask_decoder=False):
  """Returns logits of masked tokens, and the pooled output for other heads.

  Nothing else of the last block is computed, where it can do without.

  Args:
    encoder: `TransformerEncoder`.
    positions: int [B, P].
    use_mask_decoder: bool, as `PretrainingModel`.

  Returns:
    Tuple of logits [B, P, V] of a new head, as `token_logits`, and of
    `pooled_output`, float [B, H], or None.
  """
  if use_mask_decoder:
    found = encoder.output
    logits = token_logits(encoder, positions, use_mask_decoder)
  else:
    found = encoder.output_at(positions)
    logits = token_scorer(encoder, hidden=found["sequence_output"])()
  return logits, found.get("pooled_output")


def token_logits(encoder, positions=None, use_mask_decoder=False):
  """Returns logits [B, P, V] of a new masked-LM head, at cls/predictions.

  Args:
    encoder: `TransformerEncoder`.
    positions: int [B, P]; None for every position, [B, L].
    use_mask_decoder: bool, as `PretrainingModel`.
  """
  return token_scorer(encoder, use_mask_decoder)(positions)


def token_scorer(encoder, use_mask_decoder=False, hidden=None):
  """Returns a function of positions to logits, as `token_logits`, of one head.

  Args:
    encoder: `TransformerEncoder`.
    use_mask_decoder: bool, as `PretrainingModel`.
    hidden: float [B, L, H], the states to read, such as those of a decoder;
      None: the encoder's last ones.
  """
  config = encoder.config
  if use_mask_decoder:
    hidden = mask_decoding.decode(encoder)
  elif hidden is None:
    hidden = encoder.hidden_states[-1]
  head = layers.MaskedLanguageModelHead(
    **config.transform_options,
    use_output_bias=config.decoder_bias,
    tie_word_embeddings=config.tie_word_embeddings,
    use_transform=config.decoder_transform,
    output_size=config.output_embedding_size,
    input_scale=config.hidden_size**-0.5 if config.scale_logits else 1.0,
    dtype=encoder.dtype_policy,
    name="predictions",
  )

  def score(positions=None):
    # A layer takes its path from where it is first called.
    with keras.name_scope("cls"):
      return head(hidden, positions, encoder.embedding_table)

  return score


def sentence_logits(encoder, pooled):
  """Returns logits [B, 2] of a new head, at cls/seq_relationship.

  Args:
    encoder: `TransformerEncoder`.
    pooled: float [B, H], its `pooled_output`.
  """
  with keras.name_scope("cls"):
    return head_model.classifier(encoder, 2, "seq_relationship")(pooled)
