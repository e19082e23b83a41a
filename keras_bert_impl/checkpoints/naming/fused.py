"""Query, key and value in one matrix, as in some families of `transformers`.

The columns of the matrix, and the elements of its bias, have one of two orders:
"head by head", the query, key and value of each head in turn; or "one after the
other", all of query, then of key, then of value.
"""

import functools

import numpy as np

from keras_bert_impl.checkpoints.naming import mappings

_FUSED = "attention/self/in_proj/"
_PARTS = tuple(f"attention/self/{x}/" for x in ("query", "key", "value"))


def split(stored, config):
  """Returns the tensors with each fused matrix or bias split into three.

  Args:
    stored: mapping of our names -> arrays, with `shapes`; `in_proj` [H, 3 H].
    config: `configs.EncoderConfig`, whose family says which order.
  """
  groups, shapes, makers = _groups(config), {}, {}

  def part(name, index):
    array = stored[name]
    *outer, width = array.shape  # [..., 3 H]
    array = array.reshape(*outer, groups, 3, width // 3 // groups)
    return array[..., index, :].reshape(*outer, width // 3)

  for name, shape in stored.shapes.items():
    if not _is_fused(name, shape, config):
      shapes[name] = shape
      continue
    for index, ours in enumerate(_PARTS):
      ours = name.replace(_FUSED, ours)
      shapes[ours] = (*shape[:-1], shape[-1] // 3)
      makers[ours] = functools.partial(part, name, index)
  return mappings.Computed(stored, shapes, makers)


def join(tensors, config):
  """Returns the tensors with query, key and value fused: `split` undone.

  Args:
    tensors: mapping of our names -> arrays, with `shapes`.
    config: `configs.EncoderConfig`.
  """
  groups, shapes, makers = _groups(config), {}, {}

  def whole(three):
    parts = [np.asarray(tensors[name]) for name in three]
    *outer, width = parts[0].shape  # [..., H]
    parts = [x.reshape(*outer, groups, width // groups) for x in parts]
    return np.stack(parts, axis=-2).reshape(*outer, 3 * width)

  threes = {}
  for name in tensors.shapes:
    three = [name.replace(_PARTS[0], part) for part in _PARTS]
    # Keys may lack the bias that the other two have.
    if _PARTS[0] in name and set(three) <= set(tensors.shapes):
      threes[name] = three
  members = {name for three in threes.values() for name in three}
  for name, shape in tensors.shapes.items():
    if name in threes:
      fused = name.replace(_PARTS[0], _FUSED)
      shapes[fused] = (*shape[:-1], 3 * shape[-1])
      makers[fused] = functools.partial(whole, threes[name])
    elif name not in members:
      shapes[name] = shape
  return mappings.Computed(tensors, shapes, makers)


def _groups(config):
  """Returns in how many groups of three the columns are, int."""
  is_by_head = config.family.fused_projections == "head by head"
  return config.num_attention_heads if is_by_head else 1


def _is_fused(name, shape, config):
  """Returns whether a name and shape are those of a fused matrix or bias."""
  is_whole = name.endswith((f"{_FUSED}kernel", f"{_FUSED}bias"))
  is_whole = is_whole and len(shape) in (1, 2)
  return is_whole and shape[-1] % (3 * config.num_attention_heads) == 0
