"""Checks the arguments of the constructors of layers, by their names."""

import inspect
import math
import numbers
import types
from typing import NamedTuple, Protocol, runtime_checkable

from keras_bert_impl.layers.basics import kernels, parts


@runtime_checkable
class _Attending(Protocol):
  attend: object


@runtime_checkable
class _OfBlocks(Protocol):
  norm_first: object


class _Rule(NamedTuple):
  """A type or several, numbers in [low, high) of it, and how that is said."""

  type: object
  words: str
  low: float | None = None
  high: float = math.inf


_FLAG = _Rule(bool, "True or False")
_RULES = {
  "activation": _Rule(
    object,
    f"the name of one, such as {', '.join(parts.ACTIVATIONS)}, or a function",
  ),
  "kind": _Rule(
    _Attending | types.NoneType, "an object such as a FullAttention"
  ),
  "options": _Rule(
    _OfBlocks | types.NoneType, "an object such as a BlockConfig"
  ),
}
# An argument has one meaning everywhere.
for _rule, _names in {
  _Rule(numbers.Integral, "an integer from 1 on", 1): "chunk_size"
  " embedding_size end_n_top groups head_size hidden_size intermediate_size"
  " kernel_size max_position_embeddings max_span_length num_buckets num_classes"
  " num_distances num_heads num_layers position_embedding_size projection_size"
  " start_n_top units vocab_size width",
  _Rule(numbers.Integral, "an integer from 0 on", 0): "position_offset"
  " type_vocab_size",
  _Rule(numbers.Real, "a number in [0, 1)", 0, 1): "attention_dropout_rate"
  " dropout_rate inner_dropout_rate",
  _Rule(numbers.Real, "a number from 0 on", 0): "initializer_range"
  " layer_norm_eps",
}.items():
  _RULES |= dict.fromkeys(_names.split(), _rule)


def parameters(layer_class):
  """Returns the named `inspect.Parameter`s of a class' own constructor, dict.

  And whether it takes others by name, too.
  """
  _, *found = inspect.signature(layer_class.__init__).parameters.values()
  named = {
    p.name: p for p in found if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
  }
  return named, any(p.kind == p.VAR_KEYWORD for p in found)


def given(layer_class, base, args, kwargs):
  """Returns the names of the arguments that make a layer again, tuple of str.

  They are those of its class; and, where that passes others on, those of its
  base classes below `base` that were given by place or name.
  """
  names, passes_on = {}, True
  for owner in layer_class.__mro__[: layer_class.__mro__.index(base)]:
    if "__init__" in vars(owner) and passes_on:
      own, passes_on = parameters(owner)
      places = [n for n, p in own.items() if p.kind != p.KEYWORD_ONLY]
      by_place = places[: len(args)]
      taken = own if not names else kwargs.keys() | by_place
      names |= {name: None for name in own if name in taken}
      args = args[len(by_place) :]
  return tuple(names)


def check(owner, layer, values):
  """Raises ValueError if an argument of {name: value} is none it can be.

  They are those of `owner`, the class of `layer` or a base of it.
  """
  arguments, _ = parameters(owner)
  for name in filter(values.__contains__, arguments):
    value, default = values[name], arguments[name].default
    rule = _RULES.get(name, _FLAG if isinstance(default, bool) else None)
    if rule is None or value is default:
      continue
    is_right = isinstance(value, bool) == (rule is _FLAG)
    is_right = is_right and isinstance(value, rule.type)
    if is_right and rule.low is not None:
      is_right = rule.low <= value < rule.high
    if not is_right or (name == "activation" and not _is_activation(value)):
      known = ", ".join(arguments)
      raise ValueError(
        f"{name} ({value!r}) of {type(layer).__name__} must be {rule.words}."
        f" Its arguments are {known}."
      )


def _is_activation(value):
  try:
    kernels.activation(value)
  except (TypeError, ValueError):
    return False
  return True
