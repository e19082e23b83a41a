"""Records of the data that users of estimators give: lists, dicts, tf.data.

A record is a dict; its place, such as `data[3]`, is for messages.
"""

import numbers
import os
from collections.abc import Iterable, Mapping
from typing import TypedDict

import numpy as np
import tensorflow as tf

from keras_bert_impl import options

WEIGHT = "sample_weight"  # of an example


class Ranked(TypedDict):
  """A place among what was scored, and its score."""

  index: int
  score: float


def read(data, targets, fields, name="data"):
  """Yields (place, record) of what a user gives.

  Args:
    data: iterable of values, each a dict of some of `fields`, or, where it is
      none, the value of the first field; a dict or a pandas.DataFrame of such
      columns; a `tf.data.Dataset` of dicts or of (value, target), or of tuples
      of texts where the first field is "texts", batched or not. With
      `targets`, values only.
    targets: iterable of as many values of the last field, or None.
    fields: tuple of str, names of the fields.
    name: str, name of `data` in messages.

  Raises:
    ValueError: it is none of these, is empty, or the lengths differ.
  """
  if _is_table(data):
    data = data.to_dict("list")
  if isinstance(data, tf.data.Dataset):
    values = list(_of_dataset(data, fields))
  elif is_columns(data):
    values = list(_of_columns(data, name))
  elif isinstance(data, str | bytes | Mapping) or not isinstance(
    data, Iterable
  ):
    raise ValueError(
      f"{name} ({_shown(data)}) must be a list, a tf.data.Dataset or another"
      " iterable of examples: put a single one into a list."
    )
  else:
    values = list(data)
  if not values:
    raise ValueError(f"{name} is empty: give at least one example.")
  if targets is not None:
    values = list(_with_targets(values, targets, fields, name))
  for number, value in enumerate(values):
    place = f"{name}[{number}]"
    record = value if isinstance(value, Mapping) else {fields[0]: value}
    unknown = [key for key in record if key not in fields]
    if WEIGHT in unknown:
      raise ValueError(
        f"{place} has the third value {_shown(record[WEIGHT])}, a"
        f" {WEIGHT}, which this task has not: leave it out."
      )
    if len(unknown) == len(record):
      raise ValueError(
        f"{place} has the keys {', '.join(map(str, unknown))}, but must have"
        f" some of {', '.join(fields)}."
      )
    yield place, record


def weighted(data, weights, fields):
  """Returns the records of data with the weights of their losses, list of dict.

  Args:
    data: as `read`, but no file.
    weights: iterable of as many numbers; None returns the data as they are.
    fields: as `read`.

  Raises:
    ValueError: as `read`; or data are a file, or of a task without weights.
  """
  if weights is None:
    return data
  if WEIGHT not in fields or isinstance(data, str | os.PathLike):
    raise ValueError(
      f"{WEIGHT} is for texts with labels or scores that are given as data, not"
      " as a file."
    )
  values = [record for _, record in read(data, None, fields)]
  return [*_with_targets(values, weights, (fields[0], WEIGHT), "data", WEIGHT)]


def is_columns(data):
  """Returns whether data are a dict of columns."""
  return isinstance(data, Mapping) and all(
    isinstance(value, list | tuple | np.ndarray) for value in data.values()
  )


def check_columns(columns, fields, *given):
  """Raises ValueError if names of columns are given, but no file.

  Args:
    columns: {setting: name}.
    fields: tuple of str, the names that records have.
    *given: all data that are given.
  """
  if any(isinstance(data, str | os.PathLike) for data in given):
    return
  for name, value in columns.items():
    raise ValueError(
      f"{name} ({value!r}) is for files: the columns of other data must be"
      f" named {', '.join(fields)}."
    )


def text_of(record, field, place):
  """Returns a text of a record, str.

  Raises:
    ValueError: there is none, or it is no str.
  """
  return checked_text(record.get(field), f"{place}.{field}")


def checked_text(value, place):
  """Returns a value that must be a str.

  Raises:
    ValueError: it is none, or holds half a surrogate pair.
  """
  if not isinstance(value, str):
    hint = ": decode it" if isinstance(value, bytes) else ""
    raise ValueError(f"{place} ({_shown(value)}) must be a str{hint}.")
  try:
    value.encode("utf-8")
  except UnicodeEncodeError as error:
    half = ascii(value[error.start])
    raise ValueError(
      f"{place} holds half a character ({half}, a surrogate without the other)"
      f" at {error.start}: put the whole character, or leave it out."
    ) from None
  return value


def strings_of(value, place, may_be_empty=False):
  """Returns a list of str as a tuple.

  Raises:
    ValueError: it is no list, is empty and must not be, or holds other values.
  """
  strings = tuple(
    checked_text(item, f"{place}[{number}]")
    for number, item in enumerate(items_of(value, place))
  )
  if not strings and not may_be_empty:
    raise ValueError(f"{place} is empty: give at least one str.")
  return strings


def items_of(value, place):
  """Returns the items of a list or another iterable of texts, list.

  Raises:
    ValueError: it is none, or a table, whose items would be its columns' names.
  """
  is_other = isinstance(value, str | bytes | Mapping) or _is_table(value)
  is_other = is_other or getattr(value, "shape", None) == ()
  if is_other or not isinstance(value, Iterable):
    raise ValueError(f"{place} ({_shown(value)}) must be a list of str.")
  return list(value)


def number_of(value, place, low=-np.inf):
  """Returns a finite number, at least `low`, as a float.

  Raises:
    ValueError: it is none.
  """
  is_number = isinstance(value, numbers.Real | np.number)
  if isinstance(value, bool) or not is_number or not np.isfinite(value):
    raise ValueError(f"{place} ({_shown(value)}) must be a finite number.")
  if value < low:
    raise ValueError(f"{place} ({_shown(value)}) must be at least {low}.")
  return float(value)


def best(scores, top_k=None) -> list[Ranked]:
  """Returns [{"index": place, "score": float}] of N scores, the best first.

  Args:
    scores: array-like of N float.
    top_k: int, how many to return; None: all.

  Raises:
    ValueError: top_k is below 1.
  """
  if top_k is not None:
    options.check_integers("[1, inf)", top_k=top_k)
  scores = np.asarray(scores)
  places = np.arange(len(scores))
  if top_k is not None and top_k < len(scores):  # To sort those alone.
    last = np.partition(-scores, top_k - 1)[top_k - 1]
    places = np.flatnonzero(~(-scores > last))
  order = places[np.argsort(-scores[places], kind="stable")[:top_k]]
  return [{"index": int(k), "score": float(scores[k])} for k in order]


def index_of(value, size, place):
  """Returns an int that must be in [0, size).

  Raises:
    ValueError: it is none, or out of range.
  """
  is_index = isinstance(value, numbers.Integral | np.integer)
  if isinstance(value, bool) or not is_index or not 0 <= value < size:
    raise ValueError(
      f"{place} ({_shown(value)}) must be an int from 0 to {size - 1}."
    )
  return int(value)


def _with_targets(values, targets, fields, name, what="targets"):
  if isinstance(targets, str | bytes) or not isinstance(targets, Iterable):
    raise ValueError(
      f"{what} ({_shown(targets)}) must be a list, one for each of {name}."
    )
  targets = list(targets)
  if len(targets) != len(values):
    raise ValueError(
      f"{name} has {len(values)} examples and {what} {len(targets)}: give one"
      " for each."
    )
  for value, target in zip(values, targets, strict=True):
    record = value if isinstance(value, Mapping) else {fields[0]: value}
    yield {**record, fields[-1]: target}


def _of_dataset(dataset, fields):
  """Yields the records of a `tf.data.Dataset`, batched or not."""
  for element in dataset.as_numpy_iterator():
    if isinstance(element, tuple) and fields[0] == "texts":
      record = dict(enumerate(element))  # As many texts as there are.
    elif isinstance(element, tuple):
      names = (fields[0], fields[-1], WEIGHT)  # As `keras.Model.fit` has them.
      record = dict(zip(names, element, strict=False))
    elif isinstance(element, dict):
      record = element
    else:
      record = {fields[0]: element}
    columns = {name: _plain(value) for name, value in record.items()}
    rows = [columns.values()]
    if all(isinstance(value, list) for value in columns.values()):
      rows = zip(*columns.values(), strict=True)
    for values in rows:
      is_tuple = 0 in columns
      row = dict(zip(columns, values, strict=True))
      yield {fields[0]: [*values]} if is_tuple else row


def _of_columns(columns, name):
  """Yields the records of a dict of columns."""
  sizes = {str(key): len(column) for key, column in columns.items()}
  if len({*sizes.values()}) > 1:
    raise ValueError(
      f"The columns of {name} must have the same length, but they have"
      f" {', '.join(f'{key}: {size}' for key, size in sizes.items())}."
    )
  for values in zip(*columns.values(), strict=True):
    yield dict(zip(columns, map(_plain, values), strict=True))


def _plain(value):
  """Returns Python values of a NumPy value; bytes become str."""
  if isinstance(value, np.ndarray):
    return [_plain(item) for item in value]
  if isinstance(value, bytes):
    return value.decode("utf-8", "replace")
  return value.item() if isinstance(value, np.generic) else value


def _is_table(value):
  """Returns whether a value is a DataFrame of pandas."""
  return hasattr(value, "columns") and hasattr(value, "to_dict")


def _shown(value):
  text = " ".join(repr(value).split())
  return text if len(text) <= 60 else f"{text[:57]}..."
