"""Checks the arguments of the constructors of layers, by their names."""

import inspect
import numbers

from keras_bert_impl.layers.basics import kernels, parts

# {interval: names of numbers in it}; an argument has one meaning everywhere.
_INTEGERS = {
  1: (
    "chunk_size embedding_size end_n_top groups head_size hidden_size"
    " intermediate_size kernel_size max_position_embeddings max_span_length"
    " num_buckets num_classes num_distances num_heads num_layers"
    " position_embedding_size projection_size start_n_top units vocab_size"
    " width"
  ).split(),
  0: ["position_offset", "type_vocab_size"],
}
_LEAST = {name: low for low, names in _INTEGERS.items() for name in names}
_RATES = ("attention_dropout_rate", "dropout_rate", "inner_dropout_rate")
_NOT_NEGATIVE = ("initializer_range", "layer_norm_eps")
# What objects have that some arguments must be.
_ATTRIBUTES = {"kind": "attend", "options": "norm_first"}
_EXAMPLES = {"kind": "FullAttention", "options": "BlockConfig"}


def check(layer, values):
  """Checks what a constructor was given.

  Args:
    layer: `keras.Layer`, whose constructor has the arguments.
    values: {name: value}, of arguments and perhaps others.

  Raises:
    ValueError: a value is none that its argument can have.
  """
  arguments = inspect.signature(type(layer).__init__).parameters
  for name, argument in arguments.items():
    value = values.get(name)
    if name not in values or value is argument.default:
      continue
    allowed = _allowed(name, value, argument.default)
    if allowed:
      known = ", ".join(key for key in arguments if key != "self")
      raise ValueError(
        f"{name} ({value!r}) of {type(layer).__name__} must be {allowed}. Its"
        f" arguments are {known}."
      )


def _allowed(name, value, default):
  """Returns what an argument must be, str; None if it is that."""
  is_bool = isinstance(value, bool)
  if isinstance(default, bool):
    return None if is_bool else "True or False"
  if name in _LEAST:
    least = _LEAST[name]
    is_right = isinstance(value, numbers.Integral) and value >= least
    return None if is_right and not is_bool else f"an integer from {least} on"
  is_number = isinstance(value, numbers.Real) and not is_bool
  if name in _RATES:
    return None if is_number and 0 <= value < 1 else "a number in [0, 1)"
  if name in _NOT_NEGATIVE:
    return None if is_number and value >= 0 else "a number from 0 on"
  if name == "activation":
    return _allowed_activation(value)
  if name in _ATTRIBUTES and value is not None:
    has_it = hasattr(value, _ATTRIBUTES[name])
    return None if has_it else f"an object such as a {_EXAMPLES[name]}"
  return None


def _allowed_activation(value):
  try:
    kernels.activation(value)
  except (TypeError, ValueError):
    names = ", ".join(parts.ACTIVATIONS)
    return f"the name of one, such as {names}, or a function"
  return None
