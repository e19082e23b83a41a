"""The encoder that a configuration is for."""

from keras_bert_impl import configs
from keras_bert_impl.models import (
  bidirectional_pair,
  elmo_encoder,
  encoder,
  xlnet_encoder,
)

# {position_embedding_type: class}, where it is no transformer of BERT's kind.
_OTHERS = {
  "recurrent": elmo_encoder.ElmoEncoder,
  "transformer_xl": xlnet_encoder.XLNetEncoder,
}


def class_of(config):
  """Returns the class of an encoder of a configuration."""
  if config.position_embedding_type in _OTHERS:
    return _OTHERS[config.position_embedding_type]
  if config.causal_direction == "both":
    return bidirectional_pair.BidirectionalPair
  return encoder.TransformerEncoder


def make(config, dtype=None, **options):
  """Returns an encoder with fresh weights.

  Args:
    config: `configs.EncoderConfig`.
    dtype: as `TransformerEncoder`.
    **options: of the class' constructor, such as `use_pooler`.
  """
  return class_of(config)(config, dtype, **options)


def from_config(values):
  """Returns an encoder with fresh weights, of its `get_config`."""
  config = configs.EncoderConfig.from_dict(values["config"])
  return class_of(config).from_config(values)
