"""Low-rank adapters of dense layers: the names of their weights, and merging.

They stand beside the kernel: kernel + scale * a b, Hu et al. 2021. Those of
several tasks are stored as torch's parametrizations of the weights.
"""

import functools
import os

from keras_bert_impl.checkpoints.naming import mappings

# Beside the adapters of a folder of peft.
CONFIG_NAME = "adapter_config.json"
RANKS, ALPHAS = "[1, 4096]", "[1e-6, 1e6]"
_ORIGINAL = ".original"
_OF_TASKS = (".0.lora_A", ".0.lora_B")
PARTS = A, B, SCALE = "lora_kernel_a", "lora_kernel_b", "lora_scale"


def folders(folder):
  """Returns the names of folders of peft in a `files.Folder`, list of str."""
  return [
    name for name in folder.names if folder.has(os.path.join(name, CONFIG_NAME))
  ]


def merged(tensors):
  """Adds adapters to the kernels and tables that they belong to.

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
    return tensors[weights[layer]] + scale * (a @ b)

  shapes = {
    name: shape
    for name, shape in tensors.shapes.items()
    if not name.endswith(PARTS)
  }
  weights = {  # Tables are no kernels.
    layer: layer if layer in shapes else f"{layer}/kernel" for layer in layers
  }
  makers = {
    weights[layer]: functools.partial(kernel, layer) for layer in layers
  }
  return mappings.Computed(tensors, shapes, makers)


def of_task(tensors, stored, origins, transposed, declared):
  """Adds the adapters of a task to the weights that they belong to.

  Args:
    tensors: mapping of our names -> arrays, with `shapes`, of `stored`.
    stored: the same, of names in `transformers`.
    origins: {our name: name in `stored`}.
    transposed: set of our names whose arrays in `stored` are transposed.
    declared: `description.Description`; without a task, nothing is added.

  Returns:
    Mapping of our names -> arrays, with `shapes`, without adapters.

  Raises:
    ValueError: there are none, though the description names them.
  """
  adapted = {
    name: origin.removesuffix(_ORIGINAL)
    for name, origin in origins.items()
    if origin.endswith(_ORIGINAL)
  }
  if not adapted and declared.task is not None:
    raise ValueError(
      f"{declared.config.family.tasks_key} names adapters of tasks, but the"
      " weights hold none: leave ?adapter= out."
    )
  if not adapted:
    return tensors
  kept = {k: x for k, x in tensors.shapes.items() if not k.endswith(_OF_TASKS)}

  def weight(name):
    a, b = (stored[adapted[name] + end][declared.task] for end in _OF_TASKS)
    is_table = name.endswith("_embeddings")  # Stored as [rows, columns].
    change = a @ b if is_table else b @ a
    rank = a.shape[1 if is_table else 0]
    change *= declared.source.get("lora_alpha", 1) / rank
    return tensors[name] + (change.T if name in transposed else change)

  chosen = () if declared.task is None else adapted
  makers = {name: functools.partial(weight, name) for name in chosen}
  return mappings.Computed(tensors, kept, makers)
