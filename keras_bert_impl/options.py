"""Fields of dataclasses of options: default, help and allowed values.

Standard library only. The scripts make flags of such fields. An interval is
written as in mathematics: "[0, 1)" holds 0 but not 1, and "(-inf, inf)" every
number but infinities and NaN.
"""

import dataclasses
import functools
import numbers
import operator
import os
import types
import typing
from collections.abc import Iterable, Mapping

# Intervals that several fields have.
POSITIVE = "[1, inf)"
SEEDS = "[0, 2147483647]"  # int32, as stateless random numbers take them
LONGEST = 32768
SEQ_LENGTHS = f"[1, {LONGEST}]"
BATCH_SIZES = "[1, 1000000]"
STEPS = "[1, 1000000000]"
WIDTHS = "[1, 16384]"

_WORDS = {bool: "True or False", str: "a str"}
_LARGEST = 3.4028235e38  # of float32

URL_SEPARATORS = "/:"  # not in the name of a model


def field(
  default,
  description,
  choices=None,
  interval=None,
  forbidden=None,
  is_common=False,
  is_listed=False,
):
  """Returns a dataclass field that the scripts can make a flag of.

  Args:
    default: the default value.
    description: str, for --help.
    choices: tuple of the allowed values; None for any.
    interval: str, interval of the allowed numbers; a number without one cannot
      be a flag.
    forbidden: str, characters that a text must not contain; None for any.
    is_common: bool, whether --help shows the field; --helpfull shows all.
    is_listed: bool, whether the flag is a text with commas, of a field that is
      a tuple of texts or numbers or, as in "a=1,b=2", a dict of numbers.
  """
  metadata = {
    "help": description,
    "choices": choices,
    "interval": interval,
    "forbidden": forbidden,
    "is_common": is_common,
    "is_listed": is_listed,
  }
  return dataclasses.field(default=default, metadata=metadata)


common = functools.partial(field, is_common=True)
# A field of several values, which is a flag with commas.
listed = functools.partial(field, is_listed=True)
# A field without a default, which is a required flag.
required = functools.partial(field, dataclasses.MISSING)


def as_trained(config_class, name, description):
  """Returns the field of a trained option as an export has it.

  Args:
    config_class: dataclass that declares the option.
    name: str.
    description: str, for --help; None, the default, is what was trained.
  """
  known = config_class.__dataclass_fields__[name].metadata
  return dataclasses.field(
    default=None, metadata={**known, "help": description, "is_common": False}
  )


def names(config_class):
  """Returns the names of the fields of a dataclass, tuple of str."""
  return tuple(field.name for field in dataclasses.fields(config_class))


def joined(name, description, *config_classes):
  """Returns a dataclass with the fields of several.

  Those of one name are one field, with the help of each.

  Args:
    name: str, of the class.
    description: str, its docstring.
    *config_classes: dataclasses of fields with defaults.
  """
  found = {}
  for config_class in config_classes:
    for entry in dataclasses.fields(config_class):
      type_, known = found.get(entry.name, (entry.type, entry.metadata))
      words = dict.fromkeys((known["help"], entry.metadata["help"]))
      found[entry.name] = type_, {**known, "help": " ".join(words)}
  fields = [
    (own, type_, dataclasses.field(default=None, metadata=metadata))
    for own, (type_, metadata) in found.items()
  ]
  return dataclasses.make_dataclass(
    name, fields, namespace={"__doc__": description}, frozen=True, kw_only=True
  )


def parsed(config_class, values):
  """Returns the values of fields as their types have them.

  Args:
    config_class: dataclass of such fields.
    values: {name: value}; those of listed fields may be a text with commas, any
      sequence, or a mapping.

  Raises:
    ValueError: a value is none of its type; names it.
  """
  found = dict(values)
  for entry in dataclasses.fields(config_class):
    value = values.get(entry.name)
    if entry.metadata.get("is_listed") and value is not None:
      kind = next(k for k in _kinds(entry) if k is not types.NoneType)
      if typing.get_origin(kind) is dict:
        value = _parsed_dict(entry.name, value)
      elif value != "":
        value = _parsed_tuple(entry.name, value, typing.get_args(kind)[0])
      found[entry.name] = value or None
  return found


def as_flags(values):
  """Returns {name: value} with tuples as flags have them, with commas."""
  return {
    name: ",".join(map(str, value)) if isinstance(value, tuple) else value
    for name, value in values.items()
  }


def _parsed_tuple(name, value, kind):
  """Returns a tuple of str, int or float, which `kind` says."""
  is_one = isinstance(value, os.PathLike)
  items = (
    split(value) if isinstance(value, str) else [value] if is_one else value
  )
  is_list = isinstance(items, Iterable) and not isinstance(items, bytes | dict)
  if not is_list:
    raise ValueError(f"{name} ({value!r}) must be a list.")
  try:
    return tuple(_ITEMS[kind](item) for item in items)
  except (TypeError, ValueError):
    raise ValueError(
      f"{name} ({value!r}) must be a list of {_ITEM_NAMES[kind]}."
    ) from None


def _parsed_dict(name, value):
  """Returns a dict of texts and numbers."""
  if isinstance(value, str):
    value = dict(part.rpartition("=")[::2] for part in split(value))
  if not isinstance(value, Mapping):
    raise ValueError(f"{name} ({value!r}) must be a dict of numbers.")
  found = {}
  for key, number in value.items():
    try:
      found[str(key)] = float(number)
    except (TypeError, ValueError):
      check_numbers("(-inf, inf)", **{f"{name} of {key}": number})
  return found


def _integer(item):
  return int(item) if isinstance(item, str) else operator.index(item)


_ITEMS = {str: os.fspath, int: _integer, float: float}
_ITEM_NAMES = {str: "texts", int: "integers", float: "numbers"}


def split(text):
  """Returns the parts of a text with commas, list of str."""
  return [part.strip() for part in text.split(",") if part.strip()]


def check_fields(config):
  """Checks the values of a dataclass of such fields; None passes.

  Raises:
    ValueError: a value is not among the choices, outside of its interval or
      with a forbidden character; the message names the field, the value and
      what is allowed.
  """
  check_values(type(config), vars(config))


def check_values(config_class, values):
  """Checks values of fields before an instance is made of them.

  Args:
    config_class: dataclass of such fields.
    values: {name of a field: value}; None passes.

  Raises:
    ValueError: as `check_fields`.
  """
  for entry in dataclasses.fields(config_class):
    if entry.name not in values:
      continue
    value, kinds = values[entry.name], _kinds(entry)
    if value is None and (types.NoneType in kinds or entry.default is None):
      continue
    _check_type(entry, value, kinds)
    if entry.metadata.get("choices"):
      check_choice(entry.name, value, entry.metadata["choices"])
    if entry.metadata.get("interval"):
      check_numbers(entry.metadata["interval"], **{entry.name: value})
    if entry.metadata.get("forbidden"):
      check_characters(entry.name, value, entry.metadata["forbidden"])


def check_unused(config, names, needed):
  """Raises ValueError if fields are given without what they are options of.

  Args:
    config: dataclass of such fields.
    names: iterable of str, fields that must have their defaults.
    needed: str, what they need.
  """
  for name in names:
    value = getattr(config, name)
    if value != getattr(type(config), name):
      raise ValueError(f"{name} ({value!r}) needs {needed}, but there is none.")


def check_exclusive(config, first, second):
  """Raises ValueError if two fields are given, of which only one may be."""
  if getattr(config, first) and getattr(config, second):
    raise ValueError(
      f"--{first} cannot be combined with --{second}: give one of them."
    )


def _kinds(entry):
  """Returns the types that a value of a field may have, tuple."""
  is_union = isinstance(entry.type, types.UnionType)
  return typing.get_args(entry.type) if is_union else (entry.type,)


def _check_type(entry, value, kinds):
  """Raises ValueError if a value is of none of the types of its field."""
  is_path = entry.name.endswith(("_dir", "_file", "checkpoint"))
  if entry.metadata.get("is_listed") and isinstance(value, str):
    raise ValueError(f"{entry.name} ({value!r}) must be a tuple or a dict.")
  for kind, words in _WORDS.items():
    known = str | os.PathLike if kind is str and is_path else kind
    if kind in kinds and not isinstance(value, known):
      raise ValueError(f"{entry.name} ({value!r}) must be {words}.")
  is_whole = isinstance(value, numbers.Integral)
  if int in kinds and isinstance(value, numbers.Real) and not is_whole:
    raise ValueError(f"{entry.name} ({value!r}) must be an integer.")


def check_choice(name, value, allowed):
  """Raises ValueError unless `value` is one of `allowed`."""
  is_array = getattr(value, "shape", ()) != ()
  if is_array or value not in allowed:
    listed = ", ".join(str(item) or "''" for item in allowed)
    raise ValueError(f"{name} ({value!r}) must be one of {listed}.")


def check_characters(name, value, forbidden):
  """Raises ValueError if the str `value` has a forbidden character."""
  if set(value) & set(forbidden):
    listed = " and ".join(forbidden)
    raise ValueError(f"{name} ({value!r}) must be without {listed}.")


def check_numbers(interval, **values):
  """Raises ValueError unless each {name: value} is a number of an interval."""
  for name, value in values.items():
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not _is_within(value, interval):
      raise ValueError(f"{name} ({value!r}) must be in {interval}.")


def check_integers(interval, **values):
  """Raises ValueError unless each {name: value} is an int of an interval."""
  for name, value in values.items():
    is_integer = isinstance(value, numbers.Integral) and not isinstance(
      value, bool
    )
    if not is_integer or not _is_within(value, interval):
      raise ValueError(f"{name} ({value!r}) must be an integer in {interval}.")


def _is_within(value, interval):
  low, high = map(float, interval[1:-1].split(","))
  is_above = low <= value if interval.startswith("[") else low < value
  return (
    is_above
    and abs(value) <= _LARGEST
    and (value <= high if interval.endswith("]") else value < high)
  )
