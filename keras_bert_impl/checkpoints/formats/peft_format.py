"""Reads and writes low-rank adapters as the `peft` library stores them.

A folder of `adapter_config.json` and `adapter_model.safetensors`: the adapters
and what else was trained, such as a head, without the model itself.

Source: peft 0.21, `PeftModel.save_pretrained`.
"""

import math
import os
import re

import numpy as np

from keras_bert_impl import files, heads, options
from keras_bert_impl.checkpoints.formats import safetensors_format
from keras_bert_impl.checkpoints.naming import (
  adapters,
  columns,
  mappings,
  names,
)

WEIGHTS_NAME = "adapter_model.safetensors"
_PREFIX = "base_model.model."
_PARTS = {adapters.A: ".lora_A.weight", adapters.B: ".lora_B.weight"}
_OF_TABLE = re.compile(r"\.lora_embedding_([AB])$")
_TASK_TYPES = {
  heads.CLASSIFICATION: "SEQ_CLS",
  heads.MULTI_LABEL: "SEQ_CLS",
  heads.REGRESSION: "SEQ_CLS",
  heads.TOKEN_CLASSIFICATION: "TOKEN_CLS",
  heads.QUESTION_ANSWERING: "QUESTION_ANS",
  heads.ENCODER: "FEATURE_EXTRACTION",
}
# What makes other adapters than ours, unless it is null, false or empty.
_OTHERS = (
  *("alpha_pattern", "fan_in_fan_out", "lora_bias", "rank_pattern"),
  "use_dora",
)


def write(folder, tensors, family, head, alpha, base):
  """Writes adapters and what was trained beside them.

  Args:
    folder: str, an existing folder.
    tensors: {our name: array}, what was trained, adapters among it.
    family: `families.family.Family`.
    head: str, one of `heads.HEADS`.
    alpha: float, of the adapters.
    base: str, path or name of the model without them; or None.

  Raises:
    ValueError: `transformers` has no place for a weight.
  """
  stored, targets, beside = {}, set(), set()
  for name, array in tensors.items():
    layer, _, part = name.rpartition("/")
    is_adapter = part in _PARTS
    if is_adapter:
      columns.check_exchanged(layer, family)
    theirs = _theirs(f"{layer}/kernel" if is_adapter else name, family, head)
    module = theirs.rpartition(".")[0]
    if is_adapter:
      targets.add(module)
      theirs, rank = module + _PARTS[part], min(array.shape)
    else:
      beside.add(_saved_module(module, family))
    array = (
      array.T if is_adapter or names.is_transposed(name, family) else array
    )
    stored[_PREFIX + theirs] = np.ascontiguousarray(array, "float32")
  config = {
    "peft_type": "LORA",
    "task_type": _TASK_TYPES.get(head),
    "base_model_name_or_path": base,
    "r": rank,
    "lora_alpha": alpha,
    "target_modules": sorted(targets),
    "modules_to_save": sorted(beside) or None,
  }
  safetensors_format.save(stored, os.path.join(folder, WEIGHTS_NAME))
  files.write_json(os.path.join(folder, adapters.CONFIG_NAME), config)


def added(tensors, folder, declared):
  """Adds the adapters in a folder to the weights that they belong to.

  Args:
    tensors: mapping of our names -> arrays, with `shapes`.
    folder: str.
    declared: `description.Description` of the weights.

  Returns:
    Mapping of our names -> arrays, with `shapes`, without adapters, and with
    what else was trained.

  Raises:
    As `read`; and ValueError: they are of weights that there are not.
  """
  rank, alpha, found = read(folder, declared.config.family, declared.head)
  arrays = {name: found[name] for name in found}
  for name in found:
    layer, _, part = name.rpartition("/")
    if part not in _PARTS:
      continue
    arrays[f"{layer}/{adapters.SCALE}"] = np.float32(alpha / rank)
    if not {layer, f"{layer}/kernel"} & tensors.shapes.keys():
      raise ValueError(
        f"{folder} has adapters of {layer}, which the weights beside it lack:"
        " are these of another model?"
      )
  shapes = tensors.shapes | {name: x.shape for name, x in arrays.items()}
  makers = {name: lambda x=x: x for name, x in arrays.items()}
  return adapters.merged(mappings.Computed(tensors, shapes, makers))


def read(folder, family, head):
  """Reads adapters and what was trained beside them.

  Args:
    folder: str.
    family: `families.family.Family` of the model to add them to.
    head: str, one of `heads.HEADS`, of that model.

  Returns:
    (rank, alpha, mapping of our names -> arrays, with `shapes`).

  Raises:
    FileNotFoundError: there are no such files.
    ValueError: they are damaged, or adapters of another kind.
  """
  path = os.path.join(folder, adapters.CONFIG_NAME)
  config = files.read_json(path)
  kind = config.get("peft_type")
  others = [name for name in _OTHERS if config.get(name)]
  if kind != "LORA" or others:
    what = others[0] if others else "peft_type"
    raise ValueError(
      f"{what} ({config.get(what)!r}) in {path} is not supported: only LoRA of"
      " one rank and alpha is. Merge these adapters with peft."
    )
  rank = files.field(config, "r", int, path)
  alpha = files.field(config, "lora_alpha", (int, float), path, 8)
  try:
    options.check_integers(adapters.RANKS, r=rank)
    options.check_numbers(adapters.ALPHAS, lora_alpha=alpha)
  except ValueError as error:
    raise ValueError(f"{error} See {path}.") from error
  if config.get("use_rslora"):
    alpha *= math.sqrt(rank)
  stored = safetensors_format.read(os.path.join(folder, WEIGHTS_NAME))
  origins, transposed = {}, set()
  for name in stored:
    ours, is_transposed = _ours(name.removeprefix(_PREFIX), family, head)
    origins[ours] = name
    transposed |= {ours} if is_transposed else set()
  tensors = stored.renamed(origins, transposed)
  for name, shape in tensors.shapes.items():
    ends = {adapters.A: shape[-1:], adapters.B: shape[:1]}
    if ends.get(name.rpartition("/")[2], (rank,)) != (rank,):
      raise ValueError(
        f"r ({rank}) in {path} is not the rank of {origins[name]} beside it, of"
        f" shape {stored.shapes[origins[name]]}: give the two files of one"
        " model."
      )
  return rank, alpha, tensors


def _ours(name, family, head):
  """Returns our name of a tensor, and whether it is stored transposed."""
  name = _OF_TABLE.sub(r".lora_\1.weight", name)
  for part, end in _PARTS.items():
    if name.endswith(end):
      kernel = f"{name.removesuffix(end)}.weight"
      layer = names.from_transformers(kernel, family, head)
      layer = layer.removesuffix("/kernel")
      columns.check_exchanged(layer, family, is_stored=True)
      return f"{layer}/{part}", True
  ours = names.from_transformers(name, family, head) or name
  return ours, names.is_transposed(ours, family)


def _theirs(name, family, head):
  """Returns the name in `transformers` of our weight `name`."""
  theirs = names.to_transformers(name, family, head)
  if theirs is None:
    raise ValueError(
      f"Adapters cannot be written for peft: {family.class_stem} of"
      f" transformers has no {name} with the head {head}."
    )
  return theirs


def _saved_module(module, family):
  """Returns the module that peft is to save whole: a head is one."""
  top = module.partition(".")[0]
  return module if top in (family.prefix, *family.encoder_parts) else top
