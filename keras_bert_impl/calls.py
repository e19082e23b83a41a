"""Calls of public names: their arguments are bound and checked in one place.

An argument has one meaning everywhere, by its name. Standard library only.
"""

import functools
import inspect
import math
import numbers
import os
import types
import typing
from collections.abc import Callable
from typing import NamedTuple

from keras_bert_impl import file_errors, foreign_names

_F = typing.TypeVar("_F", bound=Callable[..., typing.Any])
PACKAGE = f"{__name__.partition('.')[0]}."


class Rule(NamedTuple):
  """What an argument must be, and how that is said."""

  is_right: object
  words: str


def _is_path(value):
  is_path = isinstance(value, str | os.PathLike) and os.fspath(value)
  return is_path and "\0" not in os.fsdecode(value)


def _is_text(value):
  """Whether it is a str, bytes or a tensor of them; its values are not read."""
  dtype = getattr(value, "dtype", None)
  if getattr(dtype, "kind", "") == "O":  # Of an array of objects or a Series.
    items = getattr(value, "flat", value)
    return all(isinstance(item, str | bytes) for item in items)
  return isinstance(value, str | bytes) or (
    dtype == "string" or getattr(dtype, "kind", "?") in "OSU"
  )


def _are_texts(value):
  if hasattr(
    value, "prompts"
  ):  # `folders.Texts`, what an encoder says of them.
    return True
  if isinstance(value, list | tuple):
    return all(isinstance(item, str | bytes) for item in value) or all(
      map(_is_text, value)
    )
  return _is_text(value)


def has(*names):
  """Returns what says whether a value has attributes of some names."""
  return lambda value: all(hasattr(value, name) for name in names)


def _is_model(value):
  is_servable = hasattr(value, "signatures")
  return is_servable or has("weights", "layers")(value)


def _of(*kinds):
  return lambda value: isinstance(value, kinds)


def _are_ids(value):
  if isinstance(value, list | tuple):
    return all(map(_are_ids, value))
  return _whole(0)(value) or "int" in str(getattr(value, "dtype", ""))


def _are_rows(value):
  return not isinstance(value, int) and _are_ids(value)


def _is_held_out(value):
  if isinstance(value, tuple):
    return len(value) in (1, 2)
  return not isinstance(value, str) or bool(value)


def _are_classes(value):
  sizes = value.values() if isinstance(value, dict) else [value]
  return all(map(_whole(1), sizes))


def _whole(low):
  """Returns whether a value is an int, or one of NumPy, from `low` on."""
  return lambda value: (
    isinstance(value, numbers.Integral)
    and not isinstance(value, bool)
    and low <= value < 2**31
  )


def _real(high):
  """Returns whether a value is a number in [0, high)."""
  return lambda value: (
    isinstance(value, numbers.Real)
    and not isinstance(value, bool)
    and 0 <= value < high
  )


_FLAG = Rule(lambda value: isinstance(value, bool), "True or False")
RULES = {
  name: rule
  for rule, names in {
    Rule(_is_path, "a path: a str or os.PathLike that is not empty"): "path"
    " folder export_dir output_dir checkpoint",
    Rule(_whole(1), "an integer from 1 on"): "batch_size top_k max_seq_length"
    " num_texts max_tokens truncate_dim chunk_size embedding_size"
    " end_n_top groups head_size hidden_size intermediate_size kernel_size"
    " max_position_embeddings max_span_length"
    " num_distances num_heads num_layers position_embedding_size"
    " projection_size start_n_top units vocab_size width fixed_length"
    " bilstm_width lstm_width",
    Rule(
      _are_classes, "an integer from 1 on, or such a one by task"
    ): "num_classes",
    Rule(_whole(0), "an integer from 0 on"): "position_offset type_vocab_size"
    " mem_len",
    Rule(_real(1), "a number in [0, 1)"): "attention_dropout_rate dropout_rate"
    " inner_dropout_rate rate",
    Rule(_real(math.inf), "a number from 0 on"): "initializer_range"
    " layer_norm_eps",
    Rule(_of(str), "a str"): "query prompt prompt_name default_family family"
    " names format embedding_sharing unit summary_type causal_direction"
    " pos_att_type features kind",
    Rule(_of(str, list, tuple), "a str or several"): "modes pooling",
    Rule(
      lambda value: _of(list, tuple)(value) and all(map(callable, value)),
      "a list of layers",
    ): "final_layers",
    Rule(_is_held_out, "data, (data, targets) or a share"): "validation_data",
    Rule(has("__dataclass_fields__"), "options of a tokenizer"): "options",
    _FLAG: "can_be_unanswerable multi_label",
    Rule(_of(str, types.NoneType), "a str or None"): "name model_name",
    Rule(
      lambda value: _of(str, dict)(value) or hasattr(value, "compute_dtype"),
      "the name of a dtype or a policy of Keras",
    ): "dtype",
    Rule(
      lambda value: (
        _of(list, tuple)(value)
        and all(hasattr(each, "set_model") for each in value)
      ),
      "a list of Keras callbacks",
    ): "callbacks",
    Rule(_of(list, tuple, set, frozenset), "names of tasks"): "token_tasks",
    Rule(callable, "a function"): "predict embeddings advance",
    Rule(has("flat_values"), "a RaggedTensor"): "pieces tokens pair_pieces",
    Rule(
      lambda value: not isinstance(value, str) or value,
      "a list or another form of examples, or the path of a file",
    ): "data",
    Rule(_are_rows, "ids, a tensor of int or lists of them"): "ids",
    Rule(_are_texts, "a str or a list or tensor of them"): "texts text_pairs",
    Rule(_is_model, "a Keras model"): "model",
    Rule(
      lambda value: _is_model(value) or hasattr(value, "model"),
      "an encoder, such as a kb.SentenceEncoder",
    ): "encoder",
    Rule(
      has("hidden_size", "family"),
      "a kb.EncoderConfig; of an encoder or a checkpoint call from_encoder or"
      " from_checkpoint",
    ): "config generator_config",
  }.items()
  for name in names.split()
}


_OPTIONS = (
  *("batch_size", "callbacks", "chunk_size", "dtype", "family"),
  *("fixed_length", "format", "name"),
)


def checked(function: _F, rules=RULES) -> _F:
  """Returns a public function or method that checks its arguments first.

  Numbers of NumPy become those of Python, and what the file system refuses is
  told in one line.

  Args:
    function: callable.
    rules: {argument: `Rule`}; empty: only the names are checked.

  Raises:
    TypeError: an argument is missing or unknown.
    ValueError: one is none it can be.
  """
  signature = inspect.signature(function)

  @functools.wraps(function)
  def call(*args, **named):
    bound = bind(function, signature, rules, args, named)
    try:
      return function(*bound.args, **bound.kwargs)
    except Exception as error:
      explained = file_errors.as_os_error(error)
      if explained is None:
        raise
      raise explained from error

  call.__signature__ = signature  # Keras looks for it here.
  return typing.cast(_F, call)


class Public(metaclass=foreign_names.Meta):
  """Base class of public classes, whose methods are `checked`.

  Attributes:
    checked_methods: tuple of str, those of a subclass that are; None: all.
  """

  checked_methods = None

  def __init_subclass__(cls, **named):
    super().__init_subclass__(**named)
    if cls.__module__.startswith(PACKAGE):  # Not those of users.
      check_methods(cls, cls.checked_methods)

  if not typing.TYPE_CHECKING:  # It would hide names that there are not.

    def __getattr__(self, name):
      foreign_names.check(type(self).__name__, name)
      return super().__getattribute__(name)  # Raises what it did before.


def check_methods(cls, names=None, rules=RULES):
  """Makes the methods of a class that have some names, or all, `checked`."""
  for name, value in [*vars(cls).items()]:
    is_public = name in ("__init__", "__call__") or name[0] != "_"
    if is_public if names is None else name in names:
      if isinstance(value, classmethod):
        setattr(cls, name, classmethod(checked(value.__func__, rules)))
      elif inspect.isfunction(value):
        setattr(cls, name, checked(value, rules))
  return cls


def checked_init(dataclass):
  """Makes the constructor of a dataclass, which checks its values, `checked`.

  The decorator stands above that of dataclasses.
  """
  is_one = Rule(lambda value: getattr(value, "shape", ()) == (), "one value")
  rules = dict.fromkeys(dataclass.__dataclass_fields__, is_one)
  rules["model_type"] = Rule(_of(str), "a str")
  return check_methods(dataclass, ("__init__",), rules)


def bind(function, signature, rules, args, named):
  """Returns the `inspect.BoundArguments` of a call, all of them right.

  Args:
    function: callable, as which messages name it.
    signature: `inspect.Signature`.
    rules: as of `checked`.
    args: tuple, given by place.
    named: dict, given by name.
  """
  try:
    bound = signature.bind(*args, **named)
  except TypeError as error:
    title = _title(function, args)
    check_names(title, signature, named)
    raise TypeError(f"{title}: {error}. {_listed(signature)}") from None
  values = bound.arguments
  for name, parameter in signature.parameters.items():
    if parameter.kind == inspect.Parameter.VAR_POSITIONAL or name not in values:
      continue
    if parameter.kind == inspect.Parameter.VAR_KEYWORD:
      values[name] = {k: _plain(v) for k, v in values[name].items()}
      # Others mean something else as an option, such as text_pairs.
      given = {k: v for k, v in values[name].items() if k in _OPTIONS}
      default = None
    else:
      values[name] = _plain(values[name])
      given, default = {name: values[name]}, parameter.default
    for key, value in given.items():
      rule = rules.get(key)
      if rule is None and rules and isinstance(default, bool):
        rule = _FLAG
      if rule and value is not default and not rule.is_right(value):
        raise ValueError(
          f"{key} ({_shown(value)}) of {_title(function, args)} must be"
          f" {rule.words}. {_listed(signature)}"
        )
  return bound


def _plain(value):
  """Returns a number of NumPy as one of Python."""
  is_of_numpy = type(value).__module__ == "numpy"
  return value.item() if is_of_numpy and value.shape == () else value


def _shown(value):
  text = " ".join(repr(value).split())
  return text if len(text) <= 60 else f"{text[:57]}..."


def check_names(title, signature, named, more=()):
  """Raises TypeError if arguments have names that a function does not know.

  Args:
    title: str, the function.
    signature: its `inspect.Signature`.
    named: iterable of str.
    more: iterable of str, names that its `**` takes.
  """
  for name in named:
    if name not in (*signature.parameters, *more):
      raise TypeError(
        f"{title} has no argument {name!r}{foreign_names.hint(name)}."
        f" {_listed(signature, more)}"
      )


def _listed(signature, more=()):
  """Returns a sentence of the names of arguments, without self."""
  kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
  found = [p.name for p in signature.parameters.values() if p.kind not in kinds]
  names = [name for name in (*found, *more) if name not in ("self", "cls")]
  return f"Its arguments are {', '.join(names)}."


def _title(function, args):
  """Returns the name of a function, or that of a class with its method."""
  owner, _, name = function.__qualname__.rpartition(".")
  if owner and args:
    kind = args[0] if isinstance(args[0], type) else type(args[0])
    owner = kind.__name__
  return f"{owner}.{name}".removesuffix(".__init__").removeprefix(".")
