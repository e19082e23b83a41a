"""Columns of matrices that stand otherwise in `transformers` than in ours.

Some families have query, key and value in one matrix, or the two halves of a
gated layer in two; or the columns in another order. `family.Columns` says which
layers, and how. The elements of a bias stand as the columns do.
"""

import functools
import math

import numpy as np

from keras_bert_impl.checkpoints.naming import mappings

_LEAVES = ("kernel", "bias")
# {order of a matrix of several heads: how many columns of each are told apart}.
_OF_HEADS = {"head by head": 3, "pairs": 2}


def to_ours(stored, config):
  """Returns the tensors with the columns of each matrix as ours.

  Args:
    stored: mapping of our names -> arrays, with `shapes`; matrices [H, columns]
      and biases [columns].
    config: `configs.EncoderConfig`, whose family says which are others.
  """
  stored = _reshaped(stored, config.family.as_rows, (-1,))
  for columns in _that_differ(config):
    order = functools.partial(_ordered, columns.order, config, False)
    unit = _unit(columns, config)
    stored = _regrouped(stored, columns.theirs, columns.ours, order, unit)
  return stored


def to_theirs(tensors, config):
  """Returns the tensors with columns as in `transformers`: `to_ours` undone.

  Args:
    tensors: mapping of our names -> arrays, with `shapes`.
    config: `configs.EncoderConfig`.
  """
  for columns in _that_differ(config):
    order = functools.partial(_ordered, columns.order, config, True)
    unit = _unit(columns, config)
    tensors = _regrouped(tensors, columns.ours, columns.theirs, order, unit)
  return _reshaped(tensors, config.family.as_rows, (1, -1))


def check_exchanged(layer, family, is_stored=False):
  """Raises ValueError if adapters of a layer, by our name, are not theirs.

  Args:
    layer: str.
    family: `families.family.Family`.
    is_stored: bool, whether they are stored by that name, not only to be: a
      part of a matrix of theirs that is stored apart is ours.
  """
  for columns in family.columns:
    is_same = is_stored and columns.order == "as ours"
    ends = (*columns.theirs, *(() if is_same else columns.ours))
    if layer.endswith(ends):
      raise ValueError(
        f"Adapters of {layer} cannot be exchanged with peft: of"
        f" {family.class_stem}, transformers has {' and '.join(columns.theirs)}"
        f" for our {' and '.join(columns.ours)}, {columns.order}. Merge them"
        " with kb.merge_lora, or with peft."
      )


def _regrouped(tensors, old, new, order, unit):
  """Returns the tensors with layers of some names in place of others.

  Args:
    tensors: mapping of names -> arrays, with `shapes`.
    old: tuple of ends of names of layers.
    new: the same, of those in their place, which are all equally wide.
    order: function of the columns of the old layers, side by side, [..., W],
      to those of the new ones.
    unit: int, of which W is a multiple; other layers stay as they are.
  """

  def part(members, index):
    arrays = [np.asarray(tensors[name]) for name in members]
    whole = arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis=-1)
    return np.split(order(whole), len(new), axis=-1)[index]

  shapes, makers, taken = {}, {}, set()
  for name, shape in tensors.shapes.items():
    layer, _, leaf = name.rpartition("/")
    stem = layer.removesuffix(old[0])
    members = [f"{stem}{end}/{leaf}" for end in old]
    # Keys may lack the bias that queries and values have.
    is_first = leaf in _LEAVES and layer.endswith(f"/{old[0]}")
    if is_first and {*members} <= tensors.shapes.keys():
      width = sum(tensors.shapes[member][-1] for member in members)
      if len(shape) <= 2 and width % unit == 0:
        taken.update(members)
        for index, end in enumerate(new):
          ours = f"{stem}{end}/{leaf}"
          shapes[ours] = (*shape[:-1], width // len(new))
          makers[ours] = functools.partial(part, members, index)
  kept = {n: shape for n, shape in tensors.shapes.items() if n not in taken}
  return mappings.Computed(tensors, kept | shapes, makers)


def _reshaped(tensors, names, shape):
  """Returns the tensors, those of some names in another shape."""
  names = [name for name in names if name in tensors.shapes]
  if not names:
    return tensors
  axes = [math.prod(tensors.shapes[name]) for name in names]
  shapes = {
    name: tuple(size if axis == -1 else axis for axis in shape)
    for name, size in zip(names, axes, strict=True)
  }
  makers = {
    name: lambda name=name: np.reshape(tensors[name], shape) for name in names
  }
  return mappings.Computed(tensors, tensors.shapes | shapes, makers)


def _that_differ(config):
  """Returns the `family.Columns` of a configuration, list."""
  found = config.family.columns
  return [x for x in found if not x.switch or getattr(config, x.switch)]


def _unit(columns, config):
  """Returns what the number of all columns is a multiple of, int."""
  if columns.order in _OF_HEADS:
    return _OF_HEADS[columns.order] * config.num_attention_heads
  return max(len(columns.ours), len(columns.theirs))


def _ordered(order, config, is_inverse, array):
  """Returns an array [..., W] with its columns in our order, or back."""
  *outer, width = array.shape
  heads = config.num_attention_heads
  if order == "halves swapped":
    return np.roll(array, width // 2, axis=-1)
  if order == "head by head":
    sizes, axes = ((heads, 3, -1), (3, heads, -1)), (-3, -2)
  elif order == "pairs":
    sizes, axes = ((heads, -1, 2), (heads, 2, -1)), (-2, -1)
  else:
    return array
  parts = array.reshape(*outer, *sizes[is_inverse])
  return parts.swapaxes(*axes).reshape(*outer, width)
