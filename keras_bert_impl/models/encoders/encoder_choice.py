"""The encoder that a configuration is for."""

from keras_bert_impl import calls, configs
from keras_bert_impl.models.encoders import (
  bidirectional_pair,
  elmo_encoder,
  transformer_encoder,
  xlnet_encoder,
)


def class_of(config):
  """Returns the class of an encoder of a configuration."""
  if config.is_recurrent:
    return elmo_encoder.ElmoEncoder
  if config.is_transformer_xl:
    return xlnet_encoder.XLNetEncoder
  if config.is_pair:
    return bidirectional_pair.BidirectionalPair
  return transformer_encoder.TransformerEncoder


@calls.checked
def make(config, dtype=None, global_tokens=None, **options):
  """Returns an encoder with fresh weights.

  Args:
    config: `configs.EncoderConfig`.
    dtype: as `TransformerEncoder`, like global_tokens.
    global_tokens: str or None, of encoders that have such.
    **options: of the class' constructor, such as `use_pooler`.

  Raises:
    ValueError: `config` is no configuration.
  """
  if not isinstance(config, configs.EncoderConfig):
    raise ValueError(
      f"config ({type(config).__name__}) must be an EncoderConfig; for the"
      " weights of an encoder or checkpoint call from_encoder or"
      " from_checkpoint."
    )
  if config.use_global_tokens:
    options["global_tokens"] = global_tokens
  return class_of(config)(config, dtype, **options)


def from_config(values):
  """Returns an encoder with fresh weights, of its `get_config`."""
  config = configs.EncoderConfig.from_dict(values["config"])
  return class_of(config).from_config(values)
