"""Names of BERT in checkpoints of TensorFlow's Model Garden.

They are paths through a graph of objects, such as
"encoder/_pooler_layer/kernel/.ATTRIBUTES/VARIABLE_VALUE", and the weights of
attention have an axis for the heads.

Source: tensorflow/models 2.20, official/nlp/modeling/networks/bert_encoder.py.
"""

import dataclasses
import re

from etils import epy

from keras_bert_impl.checkpoints.descriptions import google_config
from keras_bert_impl.checkpoints.naming import mappings, names

# Keras, which takes seconds to import, is for those who build models.
with epy.lazy_imports():
  from keras_bert_impl import configs

_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
_SLOT = ".OPTIMIZER_SLOT"
_QUERY = "_attention_layer/_query_dense/kernel"
# `BertEncoderV2`, and `BertEncoder`, whose layers have numbers.
_FIRST_BLOCK = re.compile(
  rf"(.*/)?(_transformer_layers/0|layer_with_weights-4)/{_QUERY}{_VALUE}"
)
_NUMBERED = {
  "0/embeddings": "_embedding_layer/embeddings",
  "1/embeddings": "_position_embedding_layer/embeddings",
  "2/embeddings": "_type_embedding_layer/embeddings",
  "3/beta": "_embedding_norm_layer/beta",
  "3/gamma": "_embedding_norm_layer/gamma",
}
_NUM_BEFORE_BLOCKS = 4
# {beginning of a name in the encoder: ours}; # is the number of a layer.
_ENCODER = {
  "_embedding_layer/embeddings": "bert/embeddings/word_embeddings",
  "_position_embedding_layer/embeddings": "bert/embeddings/position_embeddings",
  "_type_embedding_layer/embeddings": "bert/embeddings/token_type_embeddings",
  "_embedding_norm_layer": "bert/embeddings/LayerNorm",
  "_pooler_layer": "bert/pooler/dense",
  "#/_attention_layer/_query_dense": "#/attention/self/query",
  "#/_attention_layer/_key_dense": "#/attention/self/key",
  "#/_attention_layer/_value_dense": "#/attention/self/value",
  "#/_attention_layer/_output_dense": "#/attention/output/dense",
  "#/_attention_layer_norm": "#/attention/output/LayerNorm",
  "#/_intermediate_dense": "#/intermediate/dense",
  "#/_output_dense": "#/output/dense",
  "#/_output_layer_norm": "#/output/LayerNorm",
}
# The same of names in a `BertPretrainerV2`, without the encoder's.
_HEAD = {
  # The same variable as in the encoder, whose name it hides.
  "masked_lm/embedding_table": "bert/embeddings/word_embeddings",
  "masked_lm/dense": "cls/predictions/transform/dense",
  "masked_lm/layer_norm": "cls/predictions/transform/LayerNorm",
  "masked_lm/output_bias.Sbias": "cls/predictions/output_bias",
}


def under_our_names(stored):
  """Returns the weights of an encoder and a masked LM head under our names.

  Args:
    stored: mapping of names -> arrays, with `shapes`.

  Returns:
    Mapping of our names -> arrays, with `shapes`; None if these are no weights
    of a Model Garden's BERT.
  """
  root, shape = _first_query(stored)
  if shape is None:
    return None
  origins = {}
  for name in stored.shapes:
    ours = _our_name(name, root)
    if ours:
      origins.setdefault(ours, name)
  return mappings.Reshaped(
    mappings.Renamed(stored, origins),
    {
      ours: names.shape_without_heads(ours, stored.shapes[name])
      for ours, name in origins.items()
    },
  )


def config_of(stored, tensors, declared):
  """Returns the configuration of an encoder.

  Args:
    stored: mapping, as for `under_our_names`.
    tensors: mapping, what it returned.
    declared: `configs.EncoderConfig` of a file beside it; None: what the shapes
      show, and `BertEncoderV2`'s defaults.

  Returns:
    `configs.EncoderConfig`, or None if the shapes do not show it.
  """
  if declared is None:
    head_size = _first_query(stored)[1][-1]
    try:
      fields = google_config.fields_of_shapes(tensors.shapes, head_size)
    except KeyError:
      return None
    declared = configs.EncoderConfig(**fields)
  if declared.hidden_act == "gelu":
    # Its own is the form with tanh.
    return dataclasses.replace(declared, hidden_act="gelu_new")
  return declared


def _first_query(stored):
  """Returns (beginning of the encoder's names, shape of a kernel [H, N, D]).

  Both are None if there is none.
  """
  for name, shape in stored.shapes.items():
    match = _FIRST_BLOCK.fullmatch(name)
    if match and len(shape) == 3 and 0 not in shape:
      return match[1] or "", shape
  return None, None


def _our_name(name, root):
  """Returns our name of a weight, None if it is none of a model's."""
  if not name.endswith(_VALUE) or _SLOT in name:
    return None
  name = name.removesuffix(_VALUE)
  for theirs, ours in _HEAD.items():
    match = re.fullmatch(rf"(?:[^/]+/)?{re.escape(theirs)}(/.*)?", name)
    if match:
      return ours + (match[1] or "")
  if not name.startswith(root):
    return None
  name = _without_numbers(name.removeprefix(root))
  number = re.match(r"_transformer_layers/(\d+)/", name)
  if number:
    name = name.replace(number[0], "#/", 1)
  for theirs, ours in _ENCODER.items():
    if name == theirs or name.startswith(f"{theirs}/"):
      block = f"bert/encoder/layer_{number[1]}/" if number else ""
      return ours.replace("#/", block) + name.removeprefix(theirs)
  return None


def _without_numbers(name):
  """Returns the name in `BertEncoderV2` of a weight of `BertEncoder`."""
  match = re.fullmatch(r"layer_with_weights-(\d+)/(.*)", name)
  if not match:
    return name
  number, rest = match.groups()
  if int(number) < _NUM_BEFORE_BLOCKS:
    return _NUMBERED.get(f"{number}/{rest}", name)
  if rest in ("kernel", "bias"):
    return f"_pooler_layer/{rest}"
  return f"_transformer_layers/{int(number) - _NUM_BEFORE_BLOCKS}/{rest}"
