"""Reads models that Keras saved, `.keras`."""

import dataclasses

import keras

from keras_bert_impl import configs, heads
from keras_bert_impl.checkpoints import description, mappings

NAME = "keras"


def open_weights(path, declared):
  """Opens the weights of a `.keras` file.

  Args:
    path: str.
    declared: `description.Description` of the files beside it, or None.

  Returns:
    (mapping of names -> arrays, with `shapes`; `Description`).

  Raises:
    ValueError: it is damaged, quantized, or no model of this library.
  """
  model = _load(path)
  tensors = mappings.Arrays({weight.path: weight for weight in model.weights})
  declared = declared or description.Description(model.config)
  declared = dataclasses.replace(declared, config=model.config)
  # The only class of models that its weights do not show.
  if type(model).__name__ == "MultipleChoice":
    declared = dataclasses.replace(declared, head=heads.MULTIPLE_CHOICE)
  return tensors, declared


def _load(path):
  try:
    model = keras.saving.load_model(path, compile=False)
  except (ValueError, TypeError, KeyError, OSError) as error:
    reason = str(error).strip().partition("\n")[0]
    raise ValueError(
      f"{path} is damaged, or not a model of this library: {reason}"
    ) from error
  if not isinstance(getattr(model, "config", None), configs.EncoderConfig):
    raise ValueError(f"{path} holds no model of this library.")
  if any(layer.quantization_mode for layer in model._flatten_layers()):
    raise ValueError(
      f"{path} is quantized: its weights are no longer those of the "
      "architecture. Give the model that it was made from."
    )
  return model
