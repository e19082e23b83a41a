"""Texts of a corpus of any size, one after the other, with their ids.

a folder of BEIR  its corpus.jsonl
.jsonl            an object a line: _id or id, title and text
.tsv              an id and a text a line, as of MS MARCO, without a header;
                  or columns that the first line names, one of them of text
.txt              a text a line
tfds:NAME?...     examples of TensorFlow Datasets, see `tfds_documents`
an iterable       such as a list or a `tf.data.Dataset`, of texts, of tuples
                  (id, text) or of dicts as of .jsonl
"""

import hashlib
import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_bert_impl import files, options
from tfrecords.text import tfds_documents

_IDS, _TEXTS = ("_id", "id"), ("title", "text")
_SUFFIXES = (".jsonl", ".tsv", ".txt")
_FORMS = "a str, a tuple (id, text) or a dict with a text"


class Text(NamedTuple):
  """A text of a corpus.

  Attributes:
    id: str.
    text: str.
    place: str, "file:line" or "source[number]", for messages.
  """

  id: str
  text: str
  place: str


def read(source, id_column=None, text_columns=None):
  """Yields each `Text` of a source.

  Args:
    source: str or path as above, several with commas; or an iterable. A `Text`
      is taken as it is.
    id_column: str, where files and dicts have ids; default: _id or id. Without,
      texts are numbered from 0.
    text_columns: tuple of str, the same of texts, which are joined by a blank;
      default: title and text.

  Raises:
    FileNotFoundError: there is no such file.
    ValueError: it is none of the above; or a text or an id is empty.
  """
  text_columns = text_columns or _TEXTS
  number = -1
  for number, (item, place) in enumerate(_items(source, text_columns)):
    if isinstance(item, Text):
      yield item
      continue
    own, text = None, item
    if isinstance(item, tuple) and len(item) == 2:
      own, text = item
    elif isinstance(item, Mapping):
      own, text = _of_record(item, place, id_column, text_columns)
    name, text = str(number if own is None else _plain(own)), _plain(text)
    if not isinstance(text, str):
      raise ValueError(
        f"{place} ({files.shown(text)}) must be {_FORMS}; unbatch() a"
        " tf.data.Dataset."
      )
    if not text.strip():
      raise ValueError(f"{place} has an empty text: remove it, or fill it.")
    if not name or "\n" in name or "\r" in name:
      raise ValueError(f"{place} has the id {name!r}: give it one of one line.")
    yield Text(name, text, place)
  if number < 0:
    raise ValueError(f"source ({files.shown(source)}) has no texts.")


class UniqueIds:
  """Finds out whether ids are unique, by 8 bytes for each of them."""

  def __init__(self):
    self._hashes = [np.zeros(0, np.uint64)]

  def add(self, names):
    """Takes the next ids, list of str."""
    found = [hashlib.blake2b(x.encode(), digest_size=8).digest() for x in names]
    self._hashes.append(np.frombuffer(b"".join(found), np.uint64))

  def repeated(self):
    """Returns the number, from 0, of the first id that repeats one, or None."""
    hashes = np.concatenate(self._hashes)
    order = np.argsort(hashes, kind="stable")
    again = order[1:][hashes[order[1:]] == hashes[order[:-1]]]
    return int(again.min()) if len(again) else None


def _items(source, text_columns):
  """Yields (item as of an iterable, its place) of a source."""
  if isinstance(source, str | os.PathLike):
    is_path = not isinstance(source, str)
    for name in [os.fspath(source)] if is_path else options.split(source):
      yield from _of_file(name, text_columns)
    return
  if isinstance(source, bytes | Mapping) or not isinstance(source, Iterable):
    raise ValueError(
      f"source ({files.shown(source)}) must be a path, or an iterable of texts,"
      f" each {_FORMS}."
    )
  yield from _of_iterable(source, "source")


def _of_file(name, text_columns):
  """Yields the items of a file or folder, or of those that match a pattern."""
  if tfds_documents.is_source(name):
    yield from _of_iterable(_open_data_set(name), name)
    return
  if files.is_folder(name):
    name = os.path.join(name, "corpus.jsonl")
    files.check_exists(name, "The corpus of a folder of BEIR")
  for path in files.matches(name):
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in _SUFFIXES:
      raise ValueError(
        f"{path} must be a folder of BEIR or end in {', '.join(_SUFFIXES)},"
        " which name its format: convert or unpack it."
      )
    lines = enumerate(files.read_lines(path), start=1)
    placed = ((line.strip(), f"{path}:{number}") for number, line in lines)
    if suffix == ".jsonl":
      placed = ((files.parse_json(x, at), at) for x, at in placed if x)
    elif suffix == ".tsv":
      placed = _of_tsv(placed, text_columns)
    yield from placed


def _open_data_set(name):
  """Returns a `tf.data.Dataset` of a source of TensorFlow Datasets."""
  wanted = tfds_documents.parse(name)
  builder = tfds_documents.open_builder(name)
  dataset = builder.as_dataset(split=wanted.split, shuffle_files=False)
  if wanted.feature != tfds_documents.Source.feature:
    dataset = dataset.map(lambda example: {"text": example[wanted.feature]})
  return dataset


def _of_tsv(lines, text_columns):
  """Yields (tuple or dict, place) of (line, place)."""
  names = None
  for number, (line, place) in enumerate(lines):
    fields = line.split("\t")
    if not number and set(fields) & {*text_columns}:
      names = fields
    elif len(fields) == len(names or (0, 1)):
      named = dict(zip(names, fields, strict=True)) if names else tuple(fields)
      yield named, place
    else:
      wanted = ", ".join(names or ("an id", "a text"))
      raise ValueError(
        f"{place} has {len(fields)} fields between tabs, but must have"
        f" {wanted}."
      )


def _of_iterable(source, name):
  if isinstance(source, tf.data.Dataset):
    source = source.as_numpy_iterator()
  for number, item in enumerate(source):
    yield item, f"{name}[{number}]"


def _of_record(record, place, id_column, text_columns):
  """Returns the id, or None, and the text of a dict."""
  names = _IDS if id_column is None else (id_column,)
  own = next((record[name] for name in names if name in record), None)
  found = [_plain(record[name]) for name in text_columns if name in record]
  for missing, name, flag in (
    (own is None and id_column, id_column, "id_column"),
    (not found, ", ".join(text_columns), "text_columns"),
  ):
    if missing:
      raise ValueError(
        f"{place} has no {name}; it has {', '.join(map(str, record))}: name the"
        f" right one with {flag}."
      )
  if not all(isinstance(text, str) for text in found):
    raise ValueError(f"{place} must have texts in {', '.join(text_columns)}.")
  return own, " ".join(found).strip()


def _plain(value):
  """Returns a str of bytes, of which TensorFlow makes texts."""
  return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
