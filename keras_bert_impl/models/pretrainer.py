"""The encoder with the two heads it is pre-trained with."""

import dataclasses

import keras

from keras_bert_impl import configs, features, layers
from keras_bert_impl.models import encoder as encoder_lib


@keras.saving.register_keras_serializable(package="keras_bert_impl")
class PretrainingModel(keras.Model):
  """`TransformerEncoder` with masked-LM and next-sentence heads.

  Called with the encoder's inputs and `masked_lm_positions`, int32 [B, P], it
  returns a dict of `masked_lm_logits`, float32 [B, P, V], and, if asked for,
  `next_sentence_logits`, float32 [B, 2].

  Args:
    config: `configs.EncoderConfig`.
    use_next_sentence: bool. Without it nothing would train the pooler, so the
      encoder has none then, whatever `config` says.
    dtype: as `TransformerEncoder`.
    name: str, not part of any variable's path.

  Attributes:
    encoder: the `TransformerEncoder`; its symbolic tensors belong to this
      model too.
    use_next_sentence: as given.

  Raises:
    ValueError: a next-sentence head on a configuration without a pooler.

  Source: Devlin et al. 2019, section 3.1; google-research/bert,
  run_pretraining.py.
  """

  def __init__(
    self, config, use_next_sentence=True, dtype=None, name="pretraining_model"
  ):
    if use_next_sentence and not config.use_pooler:
      raise ValueError(
        "use_pooler (False) must be True in the encoder configuration for "
        "next-sentence prediction, or use_next_sentence must be False."
      )
    config = dataclasses.replace(config, use_pooler=use_next_sentence)
    encoder = encoder_lib.TransformerEncoder(config, dtype)
    dtype_policy = encoder.dtype_policy

    # Inputs.
    positions = keras.Input(
      (None,), dtype="int32", name=features.MASKED_LM_POSITIONS
    )
    inputs = {**encoder.input, features.MASKED_LM_POSITIONS: positions}

    # Wiring. On the encoder's own tensors, not a call of it, so that its hidden
    # states are reachable from this model's inputs.
    outputs = {}
    with keras.name_scope("cls"):
      masked_lm_head = layers.MaskedLanguageModelHead(
        activation=config.hidden_act,
        layer_norm_eps=config.layer_norm_eps,
        initializer_range=config.initializer_range,
        dtype=dtype_policy,
        name="predictions",
      )
      outputs["masked_lm_logits"] = masked_lm_head(
        encoder.hidden_states[-1], positions, encoder.embedding_table
      )
      if use_next_sentence:
        next_sentence_head = layers.NextSentenceHead(
          config.initializer_range, dtype=dtype_policy, name="seq_relationship"
        )
        outputs["next_sentence_logits"] = next_sentence_head(
          encoder.output["pooled_output"]
        )
    super().__init__(inputs, outputs, name=name)

    # Attributes.
    self.dtype_policy = dtype_policy
    self.encoder = encoder
    self.use_next_sentence = use_next_sentence

  def get_config(self):
    """Returns what `from_config` needs, in plain types."""
    return {
      "config": self.encoder.config.to_dict(),
      "use_next_sentence": self.use_next_sentence,
      "dtype": self.dtype_policy.name,
      "name": self.name,
    }

  @classmethod
  def from_config(cls, config, custom_objects=None):
    """Returns a new model of the same configuration."""
    del custom_objects  # There are none inside.
    encoder_config = configs.EncoderConfig.from_dict(config["config"])
    return cls(
      encoder_config,
      use_next_sentence=config["use_next_sentence"],
      dtype=config["dtype"],
      name=config["name"],
    )
