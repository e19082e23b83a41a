"""Reads `model.weights.h5` of a preset of KerasHub, and the head beside it.

Keras 3 names groups of such a file by the classes of layers, and puts the names
of the layers beside them: "layers/transformer_encoder_1/_feedforward_layer_norm
/vars/0" is variable 0 of "transformer_layer_1/feedforward_layer_norm". Local
files only.

Source: keras-team/keras 3, keras/src/saving/saving_lib.py.
"""

import dataclasses
import os
import re

import h5py

from keras_bert_impl.checkpoints.descriptions import (
  config_json,
  keras_hub_config,
)
from keras_bert_impl.checkpoints.formats import h5_format, stored_tensors
from keras_bert_impl.checkpoints.naming import columns, names

NAME = "keras_hub"

_VARIABLES = "/vars"
_GATE, _ONLY = "intermediate/gate", "intermediate/dense"
# Layers with names that Keras made up: those of the attributes say more.
_NUMBERED = re.compile(r"t5_layer_norm(_\d+)?$")
# Some families have the embeddings in a layer.
_AROUND_EMBEDDINGS = re.compile("^(embeddings|token_and_position_embedding)/")
# Pairs of layers (ours, theirs) in all families.
_LAYERS = (
  ("bert/embeddings/word_embeddings", "token_embedding"),
  ("bert/embeddings/position_embeddings", "position_embedding"),
  ("bert/embeddings/token_type_embeddings", "segment_embedding"),
  ("bert/embeddings/LayerNorm", "embeddings_layer_norm"),
  ("bert/encoder/embedding_hidden_mapping_in", "embedding_projection"),
  ("bert/encoder/embedding_hidden_mapping_in", "embeddings_projection"),
  ("bert/encoder/layer_#/", "transformer_layer_#/"),
  ("bert/pooler/dense", "pooled_dense"),
  ("cls/predictions/transform/dense", "mlm_head/intermediate_dense"),
  ("cls/predictions/transform/LayerNorm", "mlm_head/intermediate_layer_norm"),
  ("cls/predictions", "mlm_head"),
  ("classifier", "logits"),
)
# {theirs: ours} of layers inside of a block.
_IN_BLOCK = {
  "self_attention_layer/query": "attention/self/query",
  "self_attention_layer/key": "attention/self/key",
  "self_attention_layer/value": "attention/self/value",
  "self_attention_layer/attention_output": "attention/output/dense",
  "self_attention_layer_norm": "attention/output/LayerNorm",
  "feedforward_intermediate_dense": "intermediate/dense",
  "feedforward_output_dense": "output/dense",
  "feedforward_layer_norm": "output/LayerNorm",
}
# {end of one of our layers: its variables in order}; others have _DENSE.
_DENSE = ("/kernel", "/bias")
_VARIABLES_OF = {
  "_embeddings": ("",),
  "LayerNorm": ("/gamma", "/beta"),
  "classifier": ("/output_weights", "/output_bias"),
  "cls/predictions": ("/output_bias",),
}


def open_weights(path, declared):
  """Opens the weights of a preset, under our names.

  Args:
    path: str, of its model.weights.h5.
    declared: `description.Description` of the files beside it, or None.

  Returns:
    (mapping of names -> arrays, with `shapes`; `declared`).

  Raises:
    FileNotFoundError: nothing is declared.
    ValueError: a file is damaged, or its values are not there in order.
  """
  config_json.check_declared(declared, path)
  stored = _read(path)
  head = os.path.join(os.path.dirname(path), keras_hub_config.TASK_WEIGHTS_FILE)
  if os.path.exists(head):
    stored = _read(head) | stored
  layout = declared.config.family.keras_hub
  layers = (*(layout.names if layout else ()), *_LAYERS)
  if not declared.config.gated_feed_forward:
    # The only layer there is has the name of the gate.
    layers = [(ours.replace(_GATE, _ONLY), theirs) for ours, theirs in layers]
  places = {}
  for (layer, index), place in stored.items():
    name = _our_name(layer, index, layers)
    if name is not None:
      places[name] = _our_place(name, place)
  tensors = stored_tensors.StoredTensors(places)
  return columns.to_ours(tensors, declared.config), declared


def _read(path):
  """Returns {(layer, index of variable): `stored_tensors.Place`} of a file."""
  layer_names, places = {}, {}

  def add(name, item):
    owner, _, leaf = name.rpartition("/")
    if isinstance(item, h5py.Group):
      if name.endswith(_VARIABLES) and "name" in item.attrs:
        layer_names[owner] = str(item.attrs["name"])
    elif owner.endswith(_VARIABLES):
      owner = owner.removesuffix(_VARIABLES)
      places[owner, leaf] = h5_format.place(path, name, item)

  h5_format.visit(path, add)
  return {
    (_layer(owner, layer_names), leaf): place
    for (owner, leaf), place in places.items()
  }


def _layer(owner, layer_names):
  """Returns the names of layers along the path of a group."""
  parts = owner.split("/")
  paths = ("/".join(parts[:end]) for end in range(1, len(parts) + 1))
  found = []
  for path in paths:
    name = layer_names.get(path)
    if name is not None:
      attribute = path.rpartition("/")[2]
      found.append(attribute if _NUMBERED.match(name) else name)
  return "/".join(found)


def _our_name(layer, index, layers):
  """Returns our name of a variable, None if it is none of a model's."""
  layer = _AROUND_EMBEDDINGS.sub("", layer)
  ours = names.rename(layer, [pair[::-1] for pair in layers])
  if ours is None:
    return None
  if ours == names.WORD_EMBEDDINGS and index == "1":
    return names.DECODER
  for theirs, in_block in _IN_BLOCK.items():
    if ours.endswith(f"/{theirs}"):
      ours = ours.removesuffix(theirs) + in_block
  ends = (v for end, v in _VARIABLES_OF.items() if ours.endswith(end))
  variables = next(ends, _DENSE)
  if not index.isdecimal() or int(index) >= len(variables):
    return None
  return ours + variables[int(index)]


def _our_place(name, place):
  """Returns the place of a weight in the shape that ours has."""
  if name in (names.CLASSIFIER, names.DECODER):
    return place.transposed()
  shape = names.shape_without_heads(name, place.shape)
  return dataclasses.replace(place, shape=shape)
