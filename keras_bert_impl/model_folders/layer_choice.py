"""Makes a smaller model of some layers of another: the start of a student."""

import dataclasses
import re

from keras_bert_impl.checkpoints.naming import mappings, names
from keras_bert_impl.command_line import program

_LAYER = re.compile(
  rf"((?:{names.RIGHT_TO_LEFT})?{names.LAYER})(\d+)(/.*)", re.DOTALL
)


def choose(checkpoint, layers):
  """Returns the checkpoint with some of its layers, and with all else.

  Args:
    checkpoint: `checkpoints.reading.Checkpoint`.
    layers: str, numbers of the layers from 0, ascending: "0,2,4".

  Raises:
    ValueError: there are no such layers, they share their weights, or a layer
      would see another window than it was trained with.

  Source: Sanh et al. 2019 (DistilBERT), section 3, "Student initialization".
  """
  description = checkpoint.described()
  config = description.config
  number, chosen = config.num_hidden_layers, _parse(layers)
  if chosen[-1] >= number:
    raise ValueError(
      f"layers ({layers}) must be below {number}, the number of layers of"
      f" {checkpoint.path}."
    )
  places = {layer: place for place, layer in enumerate(chosen)}
  student = config.of_layers(chosen)
  is_apart = config.num_hidden_groups is None
  if not is_apart or not any(map(_LAYER.match, checkpoint.tensors)):
    raise ValueError(
      f"layers ({layers}) cannot be chosen in {checkpoint.path}: its layers"
      " have no weights of their own."
    )
  if [config.windows[layer] for layer in chosen] != student.windows:
    raise ValueError(
      f"layers ({layers}) of {checkpoint.path} must have the windows"
      f" {student.windows}, in this order, but those of its layers are"
      f" {config.windows}."
    )
  origins = {}
  for name in checkpoint.tensors:
    match = _LAYER.fullmatch(name)
    if match is None:
      origins[name] = name
    elif int(match[2]) in places:
      origins[f"{match[1]}{places[int(match[2])]}{match[3]}"] = name
  return dataclasses.replace(
    checkpoint,
    tensors=mappings.Renamed(checkpoint.tensors, origins),
    description=dataclasses.replace(description, config=student),
  )


def _parse(text):
  """Returns the numbers of layers, list of int."""
  numbers = program.split_numbers(text, "layers")
  if numbers != sorted(set(numbers)) or numbers[0] < 0:
    raise ValueError(
      f"layers ({text}) must be ascending numbers from 0, each once, such as"
      " 0,2,4."
    )
  return numbers
