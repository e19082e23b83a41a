"""Fields of dataclasses of options: default, help and allowed values.

Standard library only. The scripts make flags of such fields.
"""

import dataclasses
import functools


def field(default, description, choices=None, interval=None, is_common=False):
  """Returns a dataclass field that the scripts can make a flag of.

  Args:
    default: the default value.
    description: str, for --help.
    choices: tuple of the allowed values; None for any.
    interval: str, interval of the allowed numbers, such as "[0, 1)" or
      "(0, inf)"; None for any.
    is_common: bool, whether --help shows the field; --helpfull shows all.
  """
  metadata = {
    "help": description,
    "choices": choices,
    "interval": interval,
    "is_common": is_common,
  }
  return dataclasses.field(default=default, metadata=metadata)


common = functools.partial(field, is_common=True)


def check_positive(**values):
  """Raises ValueError naming the first of {name: int} that is not positive."""
  for name, value in values.items():
    if value < 1:
      raise ValueError(f"{name} ({value}) must be positive.")


def check_fields(config):
  """Checks the values of a dataclass of such fields; None passes.

  Raises:
    ValueError: a value is not among the choices, outside its interval or NaN;
      the message names the field, the value and what is allowed.
  """
  for entry in dataclasses.fields(config):
    value = getattr(config, entry.name)
    if value is None:
      continue
    choices = entry.metadata.get("choices")
    if choices and value not in choices:
      raise ValueError(
        f"{entry.name} ({value!r}) must be one of {', '.join(choices)}."
      )
    interval = entry.metadata.get("interval")
    if interval and not _is_within(value, interval):
      raise ValueError(f"{entry.name} ({value}) must be in {interval}.")
    if value != value:  # Only NaN is not itself.
      raise ValueError(f"{entry.name} ({value}) must be a number.")


def _is_within(value, interval):
  low, high = map(float, interval[1:-1].split(","))
  is_above = low <= value if interval.startswith("[") else low < value
  return is_above and (
    value <= high if interval.endswith("]") else value < high
  )
