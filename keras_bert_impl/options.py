"""Fields of dataclasses of options: default, help and allowed values.

Standard library only. The scripts make flags of such fields. An interval is
written as in mathematics: "[0, 1)" holds 0 but not 1, and "(-inf, inf)" every
number but infinities and NaN.
"""

import dataclasses
import functools
import numbers
import os
import types
import typing

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
  """
  metadata = {
    "help": description,
    "choices": choices,
    "interval": interval,
    "forbidden": forbidden,
    "is_common": is_common,
  }
  return dataclasses.field(default=default, metadata=metadata)


common = functools.partial(field, is_common=True)
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


def _kinds(entry):
  """Returns the types that a value of a field may have, tuple."""
  is_union = isinstance(entry.type, types.UnionType)
  return typing.get_args(entry.type) if is_union else (entry.type,)


def _check_type(entry, value, kinds):
  """Raises ValueError if a value is of none of the types of its field."""
  is_path = entry.name.endswith(("_dir", "_file", "checkpoint"))
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
