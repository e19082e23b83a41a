"""Query, key and value in one matrix, as DeBERTa has them in `transformers`.

Its columns are, of each head in turn, those of query, key and value.
"""

import numpy as np

from keras_bert_impl.checkpoints import mappings

_FUSED = "attention/self/in_proj/kernel"
_PARTS = tuple(f"attention/self/{x}/kernel" for x in ("query", "key", "value"))


class Split(mappings.Tensors):
  """Arrays of another mapping, with matrices of their own for each part.

  Args:
    stored: mapping of our names -> arrays, with `shapes`; `in_proj` [H, 3 H].
    num_heads: int, N.
  """

  def __init__(self, stored, num_heads):
    self._stored = stored
    self._num_heads = num_heads
    self.shapes, self._origins = {}, {}
    for name, shape in stored.shapes.items():
      is_fused = name.endswith(_FUSED) and _is_fused(shape, num_heads)
      if not is_fused:
        self.shapes[name] = shape
        continue
      for index, part in enumerate(_PARTS):
        ours = name.removesuffix(_FUSED) + part
        self.shapes[ours] = (shape[0], shape[1] // 3)
        self._origins[ours] = (name, index)

  def __getitem__(self, name):
    if name not in self._origins:
      return self._stored[name]
    origin, index = self._origins[name]
    array = self._stored[origin]
    size, width = array.shape
    array = array.reshape(
      size, self._num_heads, 3, width // 3 // self._num_heads
    )
    return array[:, :, index].reshape(size, width // 3)


class Joined(mappings.Tensors):
  """The inverse of `Split`.

  Args:
    tensors: mapping of our names -> arrays, with `shapes`.
    num_heads: int, N.
  """

  def __init__(self, tensors, num_heads):
    self._tensors = tensors
    self._num_heads = num_heads
    self.shapes, self._origins = {}, {}
    for name, shape in tensors.shapes.items():
      [part] = [p for p in _PARTS if name.endswith(p)] or [None]
      if part is None:
        self.shapes[name] = shape
      elif part == _PARTS[0]:
        stem = name.removesuffix(part)
        self.shapes[stem + _FUSED] = (shape[0], 3 * shape[1])
        self._origins[stem + _FUSED] = [stem + part for part in _PARTS]

  def __getitem__(self, name):
    if name not in self._origins:
      return self._tensors[name]
    parts = [np.asarray(self._tensors[n]) for n in self._origins[name]]
    size, width = parts[0].shape
    shape = (size, self._num_heads, width // self._num_heads)
    stacked = np.stack([part.reshape(shape) for part in parts], axis=2)
    return stacked.reshape(size, 3 * width)


def _is_fused(shape, num_heads):
  return len(shape) == 2 and shape[1] % (3 * num_heads) == 0
