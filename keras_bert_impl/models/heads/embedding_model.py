"""Model of text embeddings: one vector for each text."""

import keras

from keras_bert_impl import features, heads, layers
from keras_bert_impl.layers.heads import pooling as pooling_lib
from keras_bert_impl.models.encoders import encoder_choice, encoder_model

POOLER = "pooler"


class EmbeddingModel(encoder_model.EncoderModel):
  """Encoder with pooling: `embeddings` [B, D] of texts.

  The outputs of the encoder are outputs too. For vectors of length 1:

    EmbeddingModel(encoder, "mean", [keras.layers.UnitNormalization()])

  Args:
    encoder: `TransformerEncoder`, which keeps its weights.
    pooling: str or tuple of str, the modes of `layers.Pooling`; or "pooler",
      the pooled output of the encoder.
    final_layers: list of Keras layers that the pooled vector goes through, each
      a function of [B, D].
    include_prompt: bool, whether a prompt before a text is pooled too. If not,
      there is an input `pooling_mask` int32 [B, L], 1 for what is pooled, which
      is `input_mask` if it is left out.
    name: str, not part of any variable's path.

  Attributes:
    encoder: as given.
    pooling: tuple of str.
    final_layers: list.
    include_prompt: as given.

  Raises:
    ValueError: an unknown mode, or "pooler" and the encoder has none.
  """

  served_head = heads.ENCODER

  def __init__(
    self,
    encoder,
    pooling="mean",
    final_layers=(),
    include_prompt=True,
    name="embedding_model",
  ):
    arguments = dict(locals())
    modes = (pooling,) if isinstance(pooling, str) else tuple(pooling)

    # Inputs.
    inputs = dict(encoder.input)
    mask = inputs[features.INPUT_MASK]
    if not include_prompt:
      mask = encoder_model.make_input(features.POOLING_MASK)
      inputs[features.POOLING_MASK] = mask

    # Wiring.
    if modes == (POOLER,):
      vector = _pooled_output(encoder)
    else:
      # In float32, like all that a model returns.
      pool = layers.Pooling(modes, dtype="float32", name="pooling")
      vector = pool(encoder.output["sequence_output"], mask)
    for layer in final_layers:
      vector = layer(vector)
    outputs = {**encoder.output, "embeddings": vector}
    super().__init__(
      encoder.config, encoder.dtype_policy, inputs, outputs, arguments
    )

    # Attributes.
    self.encoder = encoder
    self.pooling = modes
    self.final_layers = list(final_layers)
    self.include_prompt = include_prompt

  def get_config(self):
    """Returns the argument of `from_config`, in plain types."""
    return {
      "encoder": self.encoder.get_config(),
      "pooling": list(self.pooling),
      "final_layers": [
        keras.saving.serialize_keras_object(layer)
        for layer in self.final_layers
      ],
      "include_prompt": self.include_prompt,
      "name": self.name,
    }

  @classmethod
  def from_config(cls, config, custom_objects=None):
    """Returns a new model of the same configuration."""
    return cls(
      **{
        **config,
        "encoder": encoder_choice.from_config(config["encoder"]),
        "final_layers": [
          keras.saving.deserialize_keras_object(layer, custom_objects)
          for layer in config["final_layers"]
        ],
      }
    )


def on_encoder_of(model, pooling=None, normalize=None):
  """Returns the `EmbeddingModel` on the encoder of any model.

  Args:
    model: `TransformerEncoder`, or any model on one.
    pooling: as of `EmbeddingModel`; None for the model's own, or "mean".
      Another than the model's own is without the model's final layers.
    normalize: bool, whether vectors have length 1; None for what the model
      does.
  """
  if not isinstance(model, keras.Model):
    return model  # A file of one.
  encoder = getattr(model, "encoder", model)
  own, final_layers, include_prompt = "mean", [], True
  if isinstance(model, EmbeddingModel):
    own, include_prompt = model.pooling, model.include_prompt
    final_layers = model.final_layers if pooling is None else []
  if normalize is not None:
    while final_layers and is_normalization(final_layers[-1]):
      final_layers = final_layers[:-1]
    final_layers = [
      *final_layers,
      *[keras.layers.UnitNormalization()] * normalize,
    ]
  return EmbeddingModel(encoder, pooling or own, final_layers, include_prompt)


def is_normalization(layer):
  """Whether a layer scales vectors to length 1."""
  return isinstance(layer, keras.layers.UnitNormalization)


def _pooled_output(encoder):
  if "pooled_output" not in encoder.output:
    raise ValueError(
      f"pooling ({POOLER!r}) must be one of {', '.join(pooling_lib.MODES)}:"
      " the encoder has no pooler."
    )
  if encoder.config.pads_left:
    raise ValueError(
      f"pooling ({POOLER!r}) would read the last place of a row, which may be "
      "padding: choose another, such as 'mean'."
    )
  return encoder.output["pooled_output"]
