"""Makes a smaller model of the heads of attention that matter most."""

import dataclasses
import functools
import re

import numpy as np

from keras_bert_impl.checkpoints.naming import mappings, names
from keras_bert_impl.layers.blocks import embeddings

_OUTPUT = "attention/output/dense/kernel"
# Positions that all heads see in the same way, whatever their number.
_ALIKE = (*embeddings.TABLES, "none", "rotary")
_WEIGHTS = re.compile(
  rf"{names.LAYER}(\d+)/(?:attention/self/.*(?:kernel|bias)|{_OUTPUT})",
  re.DOTALL,
)


def output_kernels(weights):
  """Returns the kernels [N D, H] that read the heads of each layer, in order.

  Args:
    weights: list of variables of a model.
  """
  layers = {}
  for weight in weights:
    match = _WEIGHTS.fullmatch(weight.path)
    if match and weight.path.endswith(_OUTPUT):
      layers[int(match[1])] = weight
  return [layers[number] for number in sorted(layers)]


def pruned_config(config, num_heads, origin):
  """Returns the configuration of a model with fewer heads.

  Args:
    config: `configs.EncoderConfig`.
    num_heads: int, heads of each layer to keep.
    origin: str, the checkpoint, for messages.

  Raises:
    ValueError: layers cannot have fewer heads.
  """
  heads = config.num_attention_heads
  if not 0 < num_heads < heads:
    raise ValueError(
      f"num_heads ({num_heads}) must be from 1 to {heads - 1}: each layer of"
      f" {origin} has {heads} heads."
    )
  if (
    config.shares_blocks
    or config.is_pair
    or config.relative_attention_num_buckets
    or config.position_embedding_type not in _ALIKE
  ):
    raise ValueError(
      f"num_heads ({num_heads}) cannot be chosen in {origin}: its layers share"
      " their heads, or a head's number says how it sees positions."
    )
  return dataclasses.replace(
    config, num_attention_heads=num_heads, attention_head_size=config.head_size
  )


def prune(checkpoint, num_heads, importance):
  """Returns the checkpoint with the most important heads of each layer.

  The others are left out of all weights of attention, so that the model is
  smaller and faster: it computes what it did with what they gave set to 0.

  Args:
    checkpoint: `checkpoints.reading.Checkpoint`.
    num_heads: int, heads of each layer to keep.
    importance: float [layers, N], of each head.

  Returns:
    (checkpoint, list of the heads kept of each layer, ascending).

  Raises:
    ValueError: layers cannot have fewer heads.

  Source: Michel et al. 2019, "Are Sixteen Heads Really Better than One?"; here
  all layers keep as many.
  """
  description = checkpoint.described()
  config = description.config
  fewer = pruned_config(config, num_heads, checkpoint.path)
  kept = np.sort(np.argsort(-importance, axis=1, kind="stable")[:, :num_heads])
  stored, shapes, makers = checkpoint.tensors, {}, {}
  for name, shape in stored.shapes.items():
    match = _WEIGHTS.fullmatch(name)
    if match is None:
      shapes[name] = shape
      continue
    axis = 0 if name.endswith(_OUTPUT) else len(shape) - 1
    size = config.head_size
    places = kept[int(match[1]), :, None] * size + np.arange(size)
    shapes[name] = (*shape[:axis], places.size, *shape[axis + 1 :])
    makers[name] = functools.partial(
      _taken, stored, name, places.reshape(-1), axis
    )
  pruned = dataclasses.replace(
    checkpoint,
    tensors=mappings.Computed(stored, shapes, makers),
    description=dataclasses.replace(description, config=fewer),
  )
  return pruned, kept.tolist()


def _taken(tensors, name, places, axis):
  return np.take(tensors[name], places, axis)
