"""Low-rank adapters of dense layers: the names of their weights, and merging.

They stand beside the kernel: kernel + scale * a b, Hu et al. 2021.
"""

import functools

from keras_bert_impl.checkpoints.naming import mappings

RANKS, ALPHAS = "[1, 4096]", "[1e-6, 1e6]"
PARTS = A, B, SCALE = "lora_kernel_a", "lora_kernel_b", "lora_scale"


def merged(tensors):
  """Adds adapters to the kernels that they belong to.

  Args:
    tensors: mapping of our names -> arrays, with `shapes`.

  Returns:
    `tensors`; or, where there are adapters, a mapping without them.
  """
  layers = [
    name.removesuffix(f"/{A}") for name in tensors.shapes if name.endswith(A)
  ]
  if not layers:
    return tensors

  def kernel(layer):
    a, b, scale = (tensors[f"{layer}/{name}"] for name in PARTS)
    return tensors[f"{layer}/kernel"] + scale * (a @ b)

  shapes = {
    name: shape
    for name, shape in tensors.shapes.items()
    if not name.endswith(PARTS)
  }
  makers = {
    f"{layer}/kernel": functools.partial(kernel, layer) for layer in layers
  }
  return mappings.Computed(tensors, shapes, makers)
