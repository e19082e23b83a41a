"""Query, key and value in one matrix, as in some families of `transformers`.

The columns of the matrix, and the elements of its bias, have one of two orders:
"head by head", the query, key and value of each head in turn; or "one after the
other", all of query, then of key, then of value.
"""

import numpy as np

from keras_bert_impl.checkpoints.naming import mappings

_FUSED = "attention/self/in_proj/"
_PARTS = tuple(f"attention/self/{x}/" for x in ("query", "key", "value"))
_FUSED_NAMES = (f"{_FUSED}kernel", f"{_FUSED}bias")


class _Layout:
  """The order of columns in a fused matrix.

  Args:
    config: `configs.EncoderConfig`, whose family says which.
  """

  def __init__(self, config):
    self._by_head = config.family.fused_projections == "head by head"
    self._num_heads = config.num_attention_heads

  def split(self, array, index):
    """Returns one of the three: [..., 3 H] -> [..., H]."""
    *outer, width = array.shape
    if self._by_head:
      size = width // 3 // self._num_heads
      array = array.reshape(*outer, self._num_heads, 3, size)[..., index, :]
      return array.reshape(*outer, width // 3)
    return array.reshape(*outer, 3, width // 3)[..., index, :]

  def join(self, parts):
    """Returns the three in one, list of [..., H] -> [..., 3 H]."""
    *outer, width = parts[0].shape
    if self._by_head:
      shape = (*outer, self._num_heads, width // self._num_heads)
      parts = [part.reshape(shape) for part in parts]
    return np.stack(parts, axis=-2).reshape(*outer, 3 * width)

  def is_fused(self, name, shape):
    """Returns whether a name and shape are those of a fused matrix or bias."""
    is_whole = name.endswith(_FUSED_NAMES) and len(shape) in (1, 2)
    return is_whole and shape[-1] % (3 * self._num_heads) == 0


class Split(mappings.Tensors):
  """Arrays of another mapping, with fused matrices split into three.

  Args:
    stored: mapping of our names -> arrays, with `shapes`; `in_proj` [H, 3 H].
    config: `configs.EncoderConfig`.
  """

  def __init__(self, stored, config):
    self._stored = stored
    self._layout = _Layout(config)
    self.shapes, self._origins = {}, {}
    for name, shape in stored.shapes.items():
      if not self._layout.is_fused(name, shape):
        self.shapes[name] = shape
        continue
      for index, part in enumerate(_PARTS):
        ours = name.replace(_FUSED, part)
        self.shapes[ours] = (*shape[:-1], shape[-1] // 3)
        self._origins[ours] = (name, index)

  def __getitem__(self, name):
    if name not in self._origins:
      return self._stored[name]
    origin, index = self._origins[name]
    return self._layout.split(self._stored[origin], index)


class Joined(mappings.Tensors):
  """Arrays of another mapping, with query, key and value fused: `Split` undone.

  Args:
    tensors: mapping of our names -> arrays, with `shapes`.
    config: `configs.EncoderConfig`.
  """

  def __init__(self, tensors, config):
    self._tensors = tensors
    self._layout = _Layout(config)
    self.shapes, self._origins = {}, {}
    for name, shape in tensors.shapes.items():
      three = _three(name, tensors.shapes)
      if three is None:
        self.shapes[name] = shape
      elif name == three[0]:
        fused = name.replace(_PARTS[0], _FUSED)
        self.shapes[fused] = (*shape[:-1], 3 * shape[-1])
        self._origins[fused] = three

  def __getitem__(self, name):
    if name not in self._origins:
      return self._tensors[name]
    parts = [np.asarray(self._tensors[n]) for n in self._origins[name]]
    return self._layout.join(parts)


def _three(name, names):
  """Returns the names of the three that `name` is of, None unless all exist."""
  stem, leaf = name.rpartition("/")[::2]
  for part in _PARTS:
    if f"{stem}/".endswith(part):
      outer = f"{stem}/".removesuffix(part)
      three = [f"{outer}{x}{leaf}" for x in _PARTS]
      return three if set(three) <= set(names) else None
  return None
