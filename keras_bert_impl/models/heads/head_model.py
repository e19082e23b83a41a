"""The base of models with an encoder and one head, and what heads share.

Each is called with the encoder's inputs (see `TransformerEncoder`) and returns
a dict of float32 logits. Axes: C classes, and those in `layers/__init__.py`.
"""

import warnings

import keras

from keras_bert_impl import layers
from keras_bert_impl.checkpoints import assignment, reading
from keras_bert_impl.checkpoints.naming import mappings, names
from keras_bert_impl.models.encoders import encoder_model
from keras_bert_impl.models.heads import feature_models


class HeadModel(encoder_model.EncoderModel):
  """Base class of models with an encoder and heads.

  A subclass wires itself on the encoder's own symbolic tensors, not on a call
  of it, so that `encoder.hidden_states` are reachable from its inputs.

  Attributes:
    encoder: the `TransformerEncoder`.
  """

  def __init__(self, encoder, inputs, outputs, arguments):
    super().__init__(
      encoder.config, encoder.dtype_policy, inputs, outputs, arguments
    )
    self.encoder = encoder

  @classmethod
  def from_checkpoint(cls, path, dtype=None, **arguments):
    """Returns a model with the weights of a checkpoint.

        model = kb.SequenceClassifier.from_checkpoint(path, num_classes=2)

    Args:
      path: str, as of `kb.from_checkpoint`.
      dtype: as `TransformerEncoder`.
      **arguments: of the constructor, besides `config`; without any, those of
        the head that is stored.

    Raises:
      FileNotFoundError: there is no such checkpoint.
      ValueError: it is damaged, or the encoder's weights do not fit. A head
        that is not stored, or has another shape, starts from fresh weights,
        which a warning says.
    """
    checkpoint = reading.open_checkpoint(path)
    described, shapes = checkpoint.described(), checkpoint.tensors.shapes
    if arguments:
      model = cls(described.config, dtype=dtype, **arguments)
    else:
      model = _stored(cls, described, shapes, dtype, checkpoint.path)
    _fill(model, checkpoint.tensors, checkpoint.path)
    return model

  @classmethod
  def from_encoder(cls, encoder, **arguments):
    """Returns a model with a copy of the weights of an encoder.

    Args:
      encoder: `TransformerEncoder`, or another of `kb.from_checkpoint`.
      **arguments: of the constructor, besides `config` and `dtype`.

    Raises:
      ValueError: it is no encoder.
    """
    if not isinstance(encoder, encoder_model.EncoderModel):
      raise ValueError(
        f"encoder ({type(encoder).__name__}) must be an encoder of"
        " kb.from_checkpoint or kb.make_encoder."
      )
    model = cls(encoder.config, dtype=encoder.dtype_policy, **arguments)
    weights = {weight.path: weight for weight in encoder.weights}
    _fill(model, mappings.Arrays(weights), encoder.name)
    return model


def _stored(model_class, described, shapes, dtype, path):
  """Returns the model of the head that a checkpoint has.

  Raises:
    ValueError: it has none of this class.
  """
  try:
    return model_class.of_checkpoint(described, shapes, dtype)
  except KeyError:
    raise ValueError(
      f"{path} has no head of {model_class.__name__}: give num_classes, for a"
      " new one."
    ) from None


def _fill(model, tensors, origin):
  """Assigns the weights that there are; warns of a head's that keep theirs."""
  result = assignment.assign(
    {weight.path: weight for weight in model.weights},
    tensors,
    origin,
    required_prefixes=names.ENCODER_PREFIXES,
  )
  if result.new:
    warnings.warn(f"Weights from {origin}: {result}.", stacklevel=3)


def check_usual(config, fault):
  """Raises ValueError if the encoder is XLNet's or a pair.

  Args:
    config: `configs.EncoderConfig`.
    fault: str, clause that says why such an encoder will not do.
  """
  if config.is_transformer_xl or config.is_pair:
    raise ValueError(
      f"The encoder (model_type {config.model_type!r}) is XLNet's or a pair,"
      f" {fault}: choose another checkpoint."
    )


def transform(encoder):
  """Returns the function of states float [..., H] that heads begin with.

  With `config.classifier_pooling` all begin like the masked language model's,
  with weights of the same names; otherwise it is the identity.
  """
  config = encoder.config
  if not config.classifier_pooling:
    return lambda hidden: hidden
  layer = layers.HeadTransform(
    config.hidden_size,
    **config.transform_options,
    dtype=encoder.dtype_policy,
    name="transform",
  )

  def call(hidden):
    with keras.name_scope("cls"), keras.name_scope("predictions"):
      return layer(hidden)

  return call


def last_hidden(encoder, bilstm_width):
  """Returns the last hidden state, read by a BiLSTM if it has a width."""
  hidden = encoder.hidden_states[-1]
  if bilstm_width is None:
    return hidden
  return feature_models.read_by_bilstm(encoder, hidden, bilstm_width)


def dropout(encoder, rate):
  """Returns the layer before a head; a rate of None is that of the encoder."""
  if rate is None:
    rate = encoder.config.dropout_rate
  return layers.Dropout(rate, dtype=encoder.dtype_policy, name="dropout")


def classifier(encoder, num_classes, name="classifier"):
  """Returns the layer of states to the logits of classes."""
  return layers.ClassificationHead(
    num_classes,
    encoder.config.initializer_range,
    encoder.config.logits_bias,
    dtype=encoder.dtype_policy,
    name=name,
  )
