"""Names of BERT in checkpoints of TensorFlow's Model Garden.

They are paths through a graph of objects, such as
"encoder/_pooler_layer/kernel/.ATTRIBUTES/VARIABLE_VALUE", and the weights of
attention have an axis for the heads.

Source: tensorflow/models 2.20, official/nlp/modeling/networks/bert_encoder.py.
"""

import dataclasses
import functools
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
# `BertEncoder` numbers its layers: embeddings, blocks, pooler.
_NUM_BEFORE_BLOCKS = 4
_NUMBERED_BLOCK = re.compile(r"^layer_with_weights-(\d+)/(?=_)")
_EMBEDDINGS = "bert/embeddings/"
# Pairs (theirs, ours) of names in the encoder; see `names.rename`.
_ENCODER = (
  ("_embedding_layer/embeddings", _EMBEDDINGS + "word_embeddings"),
  ("_position_embedding_layer/embeddings", _EMBEDDINGS + "position_embeddings"),
  ("_type_embedding_layer/embeddings", _EMBEDDINGS + "token_type_embeddings"),
  ("_embedding_norm_layer", _EMBEDDINGS + "LayerNorm"),
  ("_pooler_layer", "bert/pooler/dense"),
  ("layer_with_weights-0/embeddings", _EMBEDDINGS + "word_embeddings"),
  ("layer_with_weights-1/embeddings", _EMBEDDINGS + "position_embeddings"),
  ("layer_with_weights-2/embeddings", _EMBEDDINGS + "token_type_embeddings"),
  ("layer_with_weights-3/", _EMBEDDINGS + "LayerNorm/"),
  ("layer_with_weights-#/kernel", "bert/pooler/dense/kernel"),
  ("layer_with_weights-#/bias", "bert/pooler/dense/bias"),
  *(
    (f"_transformer_layers/#/{theirs}", f"bert/encoder/layer_#/{ours}")
    for theirs, ours in (
      ("_attention_layer/_query_dense", "attention/self/query"),
      ("_attention_layer/_key_dense", "attention/self/key"),
      ("_attention_layer/_value_dense", "attention/self/value"),
      ("_attention_layer/_output_dense", "attention/output/dense"),
      ("_attention_layer_norm", "attention/output/LayerNorm"),
      ("_intermediate_dense", "intermediate/dense"),
      ("_output_dense", "output/dense"),
      ("_output_layer_norm", "output/LayerNorm"),
    )
  ),
)
# Pairs of names in a `BertPretrainerV2`, outside of the encoder.
_HEAD = (
  # The encoder's variable, whose name there this one hides.
  ("masked_lm/embedding_table", _EMBEDDINGS + "word_embeddings"),
  ("masked_lm/dense", "cls/predictions/transform/dense"),
  ("masked_lm/layer_norm", "cls/predictions/transform/LayerNorm"),
  ("masked_lm/output_bias.Sbias", "cls/predictions/output_bias"),
)


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
  renamed = mappings.Renamed(stored, origins)
  shapes = {
    name: names.shape_without_heads(name, shape)
    for name, shape in renamed.shapes.items()
  }

  def reshaped(name):
    return renamed[name].reshape(shapes[name])

  makers = {name: functools.partial(reshaped, name) for name in shapes}
  return mappings.Computed(renamed, shapes, makers)


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
    # The Garden's GELU is the form with tanh.
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
  ours = names.rename(re.sub("^[^/]+/(?=masked_lm/)", "", name), _HEAD)
  if ours or not name.startswith(root):
    return ours
  name = _NUMBERED_BLOCK.sub(_with_number_of_block, name.removeprefix(root))
  return names.rename(name, _ENCODER)


def _with_number_of_block(match):
  """Returns the beginning in `BertEncoderV2` of a block of `BertEncoder`."""
  return f"_transformer_layers/{int(match[1]) - _NUM_BEFORE_BLOCKS}/"
