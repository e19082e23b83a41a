"""ELECTRA for pre-training: generator and discriminator in one model."""

import dataclasses

from keras_bert_impl import calls, choices, configs, features, layers, options
from keras_bert_impl.layers.blocks import embeddings as embeddings_lib
from keras_bert_impl.models.encoders import encoder_model, transformer_encoder
from keras_bert_impl.models.heads import (
  masked_language_model,
  replaced_token_detector,
)
from keras_bert_impl.models.pretraining import disentangled_embeddings


class ElectraPretrainingModel(encoder_model.Model):
  """ELECTRA's generator, token sampler and discriminator in one model.

  Called with the encoder's inputs (masked), `masked_lm_positions` and
  `masked_lm_ids`, int32 [B, P], and `masked_lm_weights`, float32 [B, P], it
  returns a dict of `token_logits`, float32 [B, P, V], of the generator;
  `replaced_token_logits`, float32 [B, L], of the discriminator; and
  `is_replaced`, int32 [B, L], the labels of the latter.

  The paths of the discriminator's weights are those of any other encoder
  ("bert/..."), so that a checkpoint of this model starts fine-tuning as it is;
  the generator's own begin with "generator/", its head is the usual
  "cls/predictions/".

  With `embedding_sharing` "shared" both have one layer of embeddings; with
  "none" each has its own. With "gdes" each has its own too, but the
  discriminator's word table is the sum of the generator's, which gets no
  gradient from it, and of a table that starts at 0; see
  `disentangled_embeddings`.

  If the configuration is DeBERTa's, without positions in its input, the
  generator predicts with the decoder that adds them; see `mask_decoder`.

  Args:
    config: `configs.EncoderConfig` of the discriminator.
    generator_config: `configs.EncoderConfig`; see `electra_generator_config`.
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.
    use_sequence_ids: bool, as `TransformerEncoder`, of both.
    embedding_sharing: one of `choices.EMBEDDING_SHARINGS`.

  Attributes:
    encoder: the discriminator's `TransformerEncoder`.
    generator: the generator's.
    config: of the discriminator.
    generator_config: of the generator.

  Raises:
    ValueError: the two configurations have different embeddings, or there is no
      such sharing.

  Source: Clark et al. 2020, sections 2 and 3.1; google-research/electra,
  run_pretraining.py; He et al. 2023 (DeBERTaV3), section 3.2.
  """

  def __init__(
    self,
    config,
    generator_config,
    dtype=None,
    name="electra_pretraining_model",
    use_sequence_ids=False,
    embedding_sharing="shared",
  ):
    _check(config, generator_config, embedding_sharing)
    generator, detector = _make_both(
      config, generator_config, dtype, use_sequence_ids, embedding_sharing
    )

    # Inputs.
    labels = {
      name: encoder_model.make_input(name, dtype=dtype)
      for name, dtype in (
        (features.MASKED_LM_POSITIONS, "int32"),
        (features.MASKED_LM_IDS, "int32"),
        (features.MASKED_LM_WEIGHTS, "float32"),
      )
    }
    inputs = {**generator.input, **labels}

    # Wiring.
    logits, _ = masked_language_model.masked_logits(
      generator,
      labels[features.MASKED_LM_POSITIONS],
      use_mask_decoder=config.use_mask_decoder,
    )
    sampler = layers.TokenSampler(dtype=generator.dtype_policy, name="sampler")
    input_ids, is_replaced = sampler(
      inputs[features.INPUT_IDS], *labels.values(), logits
    )
    detected = detector({**generator.input, features.INPUT_IDS: input_ids})
    outputs = {
      "token_logits": logits,
      "replaced_token_logits": detected["logits"],
      "is_replaced": is_replaced,
    }
    super().__init__(inputs, outputs, name=name)

    # Attributes.
    self.dtype_policy = generator.dtype_policy
    self.encoder = detector.encoder
    self.generator = generator
    self.config = config
    self.generator_config = generator_config
    self.use_sequence_ids = use_sequence_ids
    self.embedding_sharing = embedding_sharing

  def get_config(self):
    """Returns the argument of `from_config`, in plain types."""
    return {
      "config": self.config.to_dict(),
      "generator_config": self.generator_config.to_dict(),
      "use_sequence_ids": self.use_sequence_ids,
      "embedding_sharing": self.embedding_sharing,
      **encoder_model.saved_state(self),
      "name": self.name,
    }

  @classmethod
  def from_config(cls, config, custom_objects=None):
    """Returns a new model of the same configuration."""
    del custom_objects  # There are none inside.
    encoder_configs = {
      name: configs.EncoderConfig.from_dict(config[name])
      for name in ("config", "generator_config")
    }
    return encoder_model.with_state(cls, config | encoder_configs)


@calls.checked
def electra_generator_config(config, share, depth=1.0):
  """Returns the generator's configuration for the discriminator `config`.

  Args:
    config: `configs.EncoderConfig`.
    share: float, of the width: hidden size, heads and intermediate size (1/4
      in ELECTRA-Small and -Large, 1/3 in -Base). At least one head is left.
    depth: float, share of the layers (1/2 in DeBERTaV3). At least one is left.

  Raises:
    ValueError: a share is not above 0 and at most 1.

  Source: Clark et al. 2020, section 3.2 and table 6.
  """
  options.check_numbers("(0, 1]", generator_size=share, generator_depth=depth)
  head_size = config.hidden_size // config.num_attention_heads
  num_heads = max(1, round(config.num_attention_heads * share))
  ratio = config.intermediate_size / config.hidden_size
  num_layers = max(1, round(config.num_hidden_layers * depth))
  return dataclasses.replace(
    config.explicit().of_layers(range(num_layers)),
    hidden_size=head_size * num_heads,
    num_attention_heads=num_heads,
    intermediate_size=round(head_size * num_heads * ratio),
  )


def _make_both(config, generator_config, dtype, use_sequence_ids, sharing):
  """Returns the generator, an encoder, and the discriminator with its head."""

  def make_generator(embeddings=None):
    return transformer_encoder.TransformerEncoder(
      generator_config,
      dtype,
      name="generator",
      embeddings=embeddings,
      use_pooler=False,
      use_sequence_ids=use_sequence_ids,
    )

  def make_detector(embeddings=None):
    return replaced_token_detector.ReplacedTokenDetector(
      config,
      dtype,
      use_sequence_ids=use_sequence_ids,
      embeddings=embeddings,
    )

  if sharing == "gdes":
    generator = make_generator()
    embeddings = disentangled_embeddings.make(config, generator)
    return generator, make_detector(embeddings)
  detector = make_detector()
  is_shared = sharing == "shared"
  shared = detector.encoder.embeddings if is_shared else None
  return make_generator(shared), detector


def _check(config, generator_config, sharing):
  """Raises ValueError as `ElectraPretrainingModel`."""
  if sharing not in choices.EMBEDDING_SHARINGS:
    raise ValueError(
      f"embedding_sharing ({sharing!r}) must be one of"
      f" {', '.join(choices.EMBEDDING_SHARINGS)}."
    )
  embeddings_lib.check_same_tables(config, generator_config)
