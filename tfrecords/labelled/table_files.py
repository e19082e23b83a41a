"""Tables of text: tsv, csv, jsonl and json files as rows with named columns.

The ending of a file decides how it is read:
  .tsv .txt  fields between tabs. Quotes are text, as in the files of GLUE,
             unless all of them are as pandas writes them: around a field that
             holds a quote, which is doubled, a tab or an end of a line. Where
             each line has as many fields as the first, those of a field with a
             doubled quote alone show it.
  .csv       fields between commas, quoted where they hold commas or lines.
  .jsonl     an object per line.
  .json      a list of objects, an object of such lists (`key` selects one), or
             an object per line.
Files are UTF-8, with or without a byte-order mark. In JSON, values inside
another object or list have names with dots: {"a": {"b": 1}} has the column
"a.b", {"a": [7, 8]} has "a.0" and "a.1"; an empty list is an empty text.

A split of TensorFlow Datasets is a table too: "tfds:NAME?split=SPLIT", see
tfds_documents.py. Its columns are the features that are texts, classes (by
name; no column where unknown) or numbers.
"""

import contextlib
import csv
import io
import json
import os
import re
import sys
from typing import NamedTuple

from keras_bert_impl import files
from tfrecords.text import tfds_documents

_ANY = object  # of JSON's types
_JSONL = ".jsonl"
_SUFFIXES = (".tsv", ".txt", ".csv", _JSONL, ".json")
# What to do with files of other formats; others are to be renamed.
_REMEDIES = dict.fromkeys(
  (".xlsx", ".xls", ".xlsm", ".ods", ".numbers"),
  "save the sheet as CSV (UTF-8) in the program that made it",
)
_REMEDIES |= dict.fromkeys(
  (".parquet", ".arrow", ".feather", ".pkl", ".pickle"),
  "write it as .jsonl, with to_json(..., orient='records', lines=True) of"
  " pandas",
)
_REMEDIES |= dict.fromkeys((".gz", ".zip", ".bz2", ".xz", ".zst"), "unpack it")
# A quoted field between tabs, whole.
_QUOTED = re.compile(r'(?:\A|(?<=[\t\n]))("[^"]*(?:""[^"]*)*")(?=\t|\r?\n|\Z)')


class Row(NamedTuple):
  """A row of a table.

  Attributes:
    values: {column: str}.
    origin: str, "file:number" for messages; the line it begins in, or of a
      .json file with lists the number of the object. Both count from 1.
  """

  values: dict
  origin: str

  def value(self, column, option=None):
    """Returns the text in a column.

    Args:
      column: str.
      option: str, the flag or setting that names the column, if one does.

    Raises:
      ValueError: the row has no such column.
    """
    if column not in self.values:
      remedy = option and f": write it, or name the right one with {option}"
      raise ValueError(
        f"{self.origin} has no column {column!r}; it has "
        f"{', '.join(map(repr, self.values))}{remedy or ''}."
      )
    return self.values[column]

  def joined(self, column, option=None):
    """Returns the text in a column, or those of a list with spaces between.

    Args and raises: as `value`.
    """
    parts = [
      text
      for name, text in self.values.items()
      if name.startswith(f"{column}.") and name[len(column) + 1 :].isdecimal()
    ]
    return " ".join(parts) or self.value(column, option)


def read(path, columns=None, key=None, counts=None):
  """Returns the rows of a file, list of `Row`.

  Args:
    path: str, local, gs://... or tfds:...
    columns: list of str, their names if the first row is a row like the
      others; None if it names them. Not for JSON.
    key: str, the list to read of a .json file that holds several.
    counts: `collections.Counter`, if rows with fewer or more fields than there
      are columns are to be left out and counted under "malformed rows".

  Raises:
    ValueError: the file is malformed, naming the row; FileNotFoundError.
  """
  if path.startswith(tfds_documents.SCHEME):
    return _read_tfds(path)
  suffix = _suffix(path)
  if suffix == _JSONL:
    return [*iterate(path)]
  if suffix not in _SUFFIXES:
    raise ValueError(
      f"{path} must end in one of {', '.join(_SUFFIXES)}, which name its "
      f"format: {_REMEDIES.get(suffix, 'rename it')}."
    )
  text = files.read_text(path, "Data file")
  if suffix == ".json":
    content = _json_list(text, path, key)
    return [*_json_rows(content or _json_lines(text.split("\n"), path), path)]
  lines_of = _csv_lines if suffix == ".csv" else _tab_lines
  return _to_rows(lines_of(text, path), path, columns, counts)


def iterate(path, columns=None):
  """Yields the rows of a file, of .jsonl without holding more than one.

  Args: as of `read`.

  Raises: the same.
  """
  if _suffix(path) == _JSONL:
    lines = files.read_lines(path, "Data file")
    yield from _json_rows(_json_lines(lines, path), path)
  else:
    yield from read(path, columns)


def _suffix(path):
  return os.path.splitext(path)[1].lower()


def _read_tfds(source):
  """Returns the rows of a split; in the order of the original, if it tells."""
  builder = tfds_documents.open_builder(source)
  examples = builder.as_dataset(
    split=tfds_documents.parse(source).split, shuffle_files=False
  ).as_numpy_iterator()
  if "idx" in builder.info.features:
    examples = sorted(examples, key=lambda example: example["idx"])
  rows = []
  for number, example in enumerate(examples):
    texts = {
      name: _text_of(builder.info.features[name], value)
      for name, value in example.items()
    }
    values = {name: text for name, text in texts.items() if text is not None}
    rows.append(Row(values, f"{source}:{values.get('idx', number)}"))
  return rows


def _text_of(feature, value):
  """Converts a feature's value of TensorFlow Datasets to str, or None."""
  if isinstance(value, bytes):
    return value.decode("utf-8")
  if hasattr(feature, "int2str"):  # a class
    return feature.int2str(value) if value >= 0 else None
  return str(value) if not getattr(value, "shape", ()) else None


def _tab_lines(text, path):
  """Returns the rows, list of (number of the first line, fields)."""
  lines = text.split("\n")
  while lines and not lines[-1].strip("\r"):
    lines.pop()
  plain = [
    (number, line.removesuffix("\r").split("\t"))
    for number, line in enumerate(lines, start=1)
  ]
  quoted = _QUOTED.findall(text)
  if not quoted or '"' in _QUOTED.sub("", text):
    return plain
  # A quotation of several sentences opens in a line and ends in another.
  needed = r'[^\n]*"[^\n]*' if _are_even(plain) else r'(?s:.*["\t\r\n].*)'
  if not all(re.fullmatch(needed, field[1:-1]) for field in quoted):
    return plain
  try:
    rows = [*_csv_lines("\n".join(lines), path, "\t")]
  except ValueError:
    return plain
  return rows if _are_even(rows) else plain


def _are_even(rows):
  """Returns whether all rows (line number, fields) have as many fields."""
  return len({len(fields) for _, fields in rows}) == 1


def _csv_lines(text, path, delimiter=","):
  """Yields (number of the first line, fields)."""
  csv.field_size_limit(sys.maxsize)  # 128 KiB otherwise.
  lines = io.StringIO(text, newline="")
  reader = csv.reader(lines, delimiter=delimiter, strict=True)
  number = 1
  try:
    for fields in reader:
      # The reader gives nothing for an empty line, of which a table of one
      # column may have some.
      yield number, fields or [""]
      number = reader.line_num + 1
  except csv.Error as error:
    raise ValueError(f"{path}:{number} is not csv: {error}.") from error


def _to_rows(lines, path, columns, counts):
  """Returns the rows of (line number, fields)."""
  rows = []
  for number, fields in lines:
    origin = f"{path}:{number}"
    if columns is None:
      columns = _checked_header(fields, origin)
    elif len(fields) == len(columns):
      rows.append(Row(dict(zip(columns, fields, strict=True)), origin))
    elif counts is not None:
      counts["malformed rows"] += 1
    elif fields == [""]:
      raise ValueError(f"{origin} is an empty line: remove it.")
    else:
      raise ValueError(
        f"{origin} has {len(fields)} fields, but there are {len(columns)} "
        f"columns ({', '.join(columns)}): mend the line, or remove it."
      )
  return rows


def _checked_header(fields, origin):
  names = [name.strip() for name in fields]
  for name in names:
    if names.count(name) > 1:
      raise ValueError(f"{origin} names two columns {name!r}: rename one.")
  return names


def _json_rows(objects, path):
  """Yields the rows of (number, JSON value)."""
  for number, value in objects:
    origin = f"{path}:{number}"
    files.check_type(value, dict, origin)
    yield Row(dict(_flatten(value)), origin)


def _json_list(text, path, key):
  """Returns (number, value) of a list; None for what has an object a line."""
  try:
    content = files.parse_json(text, path, _ANY)
  except ValueError:
    # A line that is valid by itself begins a file of one object a line.
    first, _, rest = text.lstrip().partition("\n")
    with contextlib.suppress(ValueError):
      if rest:
        files.parse_json(first, path, _ANY)
        return None
    raise
  if isinstance(content, dict):
    if key is None:
      return None  # One line, or nothing that can be read: the lines tell.
    lists = [name for name, value in content.items() if isinstance(value, list)]
    if key not in lists:
      raise ValueError(
        f"{path} has no list {key!r}; it has {', '.join(map(repr, lists))}."
      )
    content = content[key]
  if not isinstance(content, list):
    raise ValueError(f"{path} must hold a list of objects, or one per line.")
  return enumerate(content, start=1)


def _json_lines(lines, path):
  """Yields (line number, value)."""
  for number, line in enumerate(lines, start=1):
    if line.strip():
      yield number, files.parse_json(line, f"{path}:{number}", _ANY)


def _flatten(value, prefix=""):
  """Yields (column, str) of a JSON object or list; null is no column."""
  items = value.items() if isinstance(value, dict) else enumerate(value)
  for name, inner in items:
    if inner == []:
      yield f"{prefix}{name}", ""
    elif isinstance(inner, dict | list):
      yield from _flatten(inner, f"{prefix}{name}.")
    elif inner is not None:
      text = inner if isinstance(inner, str) else json.dumps(inner)
      yield f"{prefix}{name}", text
