"""LoRA: low-rank adapters are trained in the place of an encoder.

Source: Hu et al. 2021, arXiv:2106.09685.
"""

import functools
import os
import typing
from collections.abc import Sequence

import numpy as np

from keras_bert_impl import calls, files, heads, options
from keras_bert_impl.checkpoints import assignment
from keras_bert_impl.checkpoints.formats import peft_format
from keras_bert_impl.checkpoints.naming import adapters, names
from keras_bert_impl.layers.basics import layer

_Model = typing.TypeVar("_Model")


def _are_names(value):
  items = [value] if isinstance(value, str) else value
  return isinstance(items, list | tuple) and all(
    isinstance(item, str) for item in items
  )


TARGETS = ("query", "value")
_RULES = calls.RULES | {
  "base": calls.RULES["path"],
  "targets": calls.Rule(_are_names, "a str or a tuple of str"),
}
# Of an estimator, the settings of its next `fit`.
_OF_LORA = _RULES | {
  "model": calls.Rule(
    lambda value: (
      hasattr(value, "fit_settings") or calls.RULES["model"].is_right(value)
    ),
    "a Keras model or an estimator",
  )
}


@functools.partial(calls.checked, rules=_OF_LORA)
def lora(
  model: _Model,
  rank: int = 8,
  targets: str | Sequence[str] = TARGETS,
  alpha: float | None = None,
) -> _Model:
  """Adds adapters to a model, and freezes all else but its head.

  The head is what stands on the encoder, the pooler included. To be called
  before `compile`. The outputs stay the same until something is trained.

  Args:
    model: `keras.Model` of layers of this library; or an estimator such as
      `kb.TextClassifier`, whose next `fit` trains adapters then, as by its
      lora_rank.
    rank: int, R, inner size of the adapters.
    targets: tuple of str, or one with commas, ends of the paths of the dense
      layers of the encoder to adapt, such as "query" or
      "attention/output/dense".
    alpha: float; adapters count alpha / rank times; None: rank.

  Returns:
    `model`.

  Raises:
    ValueError: a target is no dense layer of the encoder, the model has
      adapters, is frozen or compiled already, or a number is out of range.
  """
  options.check_integers(adapters.RANKS, rank=rank)
  alpha = rank if alpha is None else alpha
  options.check_numbers(adapters.ALPHAS, alpha=alpha)
  if hasattr(model, "fit_settings"):
    ends = targets if isinstance(targets, str) else ",".join(targets)
    model.fit_settings |= {
      "lora_rank": rank,
      "lora_alpha": alpha,
      "lora_targets": ends,
    }
    return model
  return _adapt(model, _targeted(model, targets), rank, alpha)


@calls.checked
def merge_lora(model: _Model) -> _Model:
  """Adds the adapters to the kernels and removes them; returns `model`.

  What is frozen stays so. Compile it again to train.

  Raises:
    ValueError: there are none.
  """
  for dense in _adapted(model):
    dense.merge_lora()
  return model


@functools.partial(calls.checked, rules=_RULES)
def save_lora(
  model: typing.Any,
  folder: str | os.PathLike[str],
  base: str | None = None,
) -> None:
  """Writes the adapters, and the head, into a folder for `peft`.

  Args:
    model: model with `config` and a head, that `lora` has adapted.
    folder: str, a new or empty folder.
    base: str, path or name of the model without adapters, for `peft`.

  Raises:
    ValueError: there are no adapters, the folder is not empty, or
      `transformers` has no such model.
  """
  alpha, head = _adapted(model)[0].lora_alpha, _head(model)
  trained = {v.path: np.asarray(v) for v in model.trainable_weights}
  with files.new_folder(folder) as new:
    peft_format.write(new, trained, model.config.family, head, alpha, base)


@calls.checked
def load_lora(model: typing.Any, folder: str | os.PathLike[str]) -> typing.Any:
  """Adds the adapters in a folder of `peft` to a model; freezes as `lora`.

  What else is stored there, such as the head, is loaded too.

  Args:
    model: model with `config` and a head, without adapters.
    folder: str, as `save_lora` or `peft` wrote it.

  Returns:
    `model`.

  Raises:
    FileNotFoundError: there are no adapters.
    ValueError: they are of another kind, or of another model.
  """
  family, head = model.config.family, _head(model)
  rank, alpha, tensors = peft_format.read(folder, family, head)
  paths = [
    name.removesuffix(f"/{adapters.A}")
    for name in tensors.shapes
    if name.endswith(adapters.A)
  ]
  dense = _dense_layers(model)
  known = {weight.path for weight in model.weights}
  for name in tensors.shapes:
    if name not in known and name.rpartition("/")[0] not in dense:
      raise ValueError(f"{folder} has {name}, for which {model.name} has none.")
  _adapt(model, paths, rank, alpha)
  assignment.assign(
    {w.path: w for w in model.weights if w.path in tensors.shapes},
    tensors,
    folder,
    remedy="Are these the adapters of another model?",
  )
  return model


def _adapt(model, paths, rank, alpha):
  """Adds adapters to the dense layers of some paths; freezes the encoder."""
  dense_layers = _dense_layers(model)
  if any(dense.lora_enabled for dense in dense_layers.values()):
    raise ValueError(
      f"{model.name} has adapters already: merge them first, by kb.merge_lora."
    )
  if model.compiled:
    raise ValueError(f"{model.name} is compiled: add adapters before that.")
  if not all(dense_layers[path].trainable_weights for path in paths):
    raise ValueError(
      f"The encoder of {model.name} is frozen: adapters need one that is not."
    )
  for weight in model.weights:
    if _is_of_encoder(weight.path):
      weight.trainable = False
  for path in paths:
    dense_layers[path].enable_lora(rank, alpha)
  return model


def _targeted(model, targets):
  """Returns the paths of the dense layers that `targets` name."""
  if isinstance(targets, str):
    targets = [target.strip() for target in targets.split(",")]
  dense_layers = [path for path in _dense_layers(model) if _is_of_encoder(path)]
  for target in targets or ("",):
    if not any(f"/{path}".endswith(f"/{target}") for path in dense_layers):
      ends = {path.rpartition("/")[2] for path in dense_layers}
      raise ValueError(
        f"targets ({target!r}) must be ends of paths of the encoder's dense"
        f" layers: {', '.join(sorted(ends)) or 'this one has none'}."
      )
  ends = tuple(f"/{target}" for target in targets)
  return [path for path in dense_layers if f"/{path}".endswith(ends)]


def _dense_layers(model):
  """Returns {path: `layer.Dense`} of a model."""
  return {
    inner.path: inner
    for inner in layer.inner_layers(model)
    if isinstance(inner, layer.Dense)
  }


def _adapted(model):
  """Returns the dense layers with adapters; ValueError without any."""
  found = [d for d in _dense_layers(model).values() if d.lora_enabled]
  if not found:
    raise ValueError(f"{model.name} has no adapters: add some by kb.lora.")
  return found


def _is_of_encoder(path):
  """Whether a path is below the pooler and the head."""
  path = path.removeprefix(names.RIGHT_TO_LEFT)
  return path.startswith("bert/") and not path.startswith("bert/pooler/")


def _head(model):
  """Returns the name of a model's head; ValueError without one."""
  if not getattr(model, "heads", ()):
    raise ValueError(
      f"{model.name} is no model of a known head, whose weights have names in"
      f" transformers: {', '.join(heads.HEADS)}."
    )
  # The first of those that are stored.
  return next(head for head in model.heads if head in heads.HEADS)
