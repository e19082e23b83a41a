"""Published data sets of labelled examples: their files and columns.

A data set has splits ("train", "dev", "test", and others that begin with "dev"
or "test"), a split has a source: its files and columns. Subclasses of `Source`
turn the columns into examples.
"""

import abc
import dataclasses
import os
import random

from tfrecords.labelled import table_files
from tfrecords.text import tfds_documents


@dataclasses.dataclass(frozen=True)
class Source(abc.ABC):
  """Source of a split's examples: files and columns. Abstract.

  Attributes:
    files: tuple of str, the published names, relative to the folder of the
      data set; or sources of TensorFlow Datasets (table_files.py).
    label: str, column of the label.
    id: str, column of the name of a row; None: the number of the row, from 0.
    columns: tuple of str, names of the columns if the files do not name them.
    key: str, the list of a .json file that holds several.
    where: (column, value) that rows must have; None: all rows.
    has_malformed_rows: bool, whether rows of too few or too many fields are
      known to occur; they are left out and counted.
  """

  files: tuple[str, ...] = ()
  label: str = "label"
  id: str | None = None
  columns: tuple[str, ...] | None = None
  key: str | None = None
  where: tuple[str, str] | None = None
  has_malformed_rows: bool = False

  @abc.abstractmethod
  def example(self, row, name, label):
    """Returns the example of a `table_files.Row`.

    Args:
      row: `table_files.Row`.
      name: str, the name of the row.
      label: as of `label_of`.

    Raises:
      ValueError: it lacks a column, or is no example; names file and row.
    """

  def read(self, paths, needs_labels, counts):
    """Returns the examples of files, in their order, list.

    Args:
      paths: list of str.
      needs_labels: bool; if not, a row without a label is fine.
      counts: `collections.Counter`, gets what was left out.

    Raises:
      ValueError: a file is malformed, empty or lacks a column, names file and
        row; FileNotFoundError.
    """
    counted = counts if self.has_malformed_rows else None
    rows = [
      row
      for path in paths
      for row in table_files.read(path, self.columns, self.key, counted)
    ]
    if self.where is not None:
      column, wanted = self.where
      rows = [row for row in rows if row.value(column) == wanted]
    if not rows:
      such = f" with {self.where[1]!r} as {self.where[0]}" if self.where else ""
      raise ValueError(f"{', '.join(paths)} has no rows{such}: check the file.")
    return [
      self.example(
        row, self._name(row, number), self.label_of(row, needs_labels)
      )
      for number, row in enumerate(rows)
    ]

  def in_splits(self, **files):
    """Returns {split: source}: this one with the files of each split.

    Args:
      **files: str, the published names, separated by blanks.
    """
    return {
      split: dataclasses.replace(self, files=tuple(names.split()))
      for split, names in files.items()
    }

  def label_of(self, row, is_needed):
    """Returns the label of a row, str; None where there is none.

    Args:
      row: `table_files.Row`.
      is_needed: bool, whether there must be one.

    Raises:
      ValueError: there must be one, but is none; names file and row.
    """
    label = row.values.get(self.label)
    if is_needed:
      label = row.value(self.label, "label_column")
    label = (label or "").strip()
    if is_needed and not label:
      raise ValueError(
        f"{row.origin} has no label in column {self.label!r}: add it, or remove"
        " the row."
      )
    return label or None

  def _name(self, row, number):
    return str(number) if self.id is None else row.value(self.id, "id_column")


@dataclasses.dataclass(frozen=True)
class DataSet:
  """A data set.

  Attributes:
    name: str, as published.
    splits: {split: `Source`}.
    note: str, advice for its users; may be empty.
  """

  name: str
  splits: dict
  note: str = ""


def plain(name):
  """Returns the name of a data set in small letters alone."""
  return name.lower().replace("-", "").replace("_", "")


def find(data_sets, name):
  """Returns the data set of a name; case and "-" do not matter.

  Raises:
    ValueError: there is none.
  """
  by_name = {plain(data_set.name): data_set for data_set in data_sets}
  if plain(name) not in by_name:
    raise ValueError(
      f"task_name ({name!r}) must be one of "
      f"{', '.join(data_set.name for data_set in data_sets)}, or custom."
    )
  return by_name[plain(name)]


def published_source(data_sets, path):
  """Returns the source of the published file of a name.

  Returns:
    `Source`; None if no data set has a file of this name, or several have.
  """
  name = os.path.basename(path)
  found = {
    source
    for data_set in data_sets
    for source in data_set.splits.values()
    if name in map(os.path.basename, source.files)
  }
  return found.pop() if len(found) == 1 else None


def paths_of(source, folder):
  """Returns the paths of a source's files, list of str.

  Args:
    source: `Source`.
    folder: str, or None: then files are nowhere, and TensorFlow Datasets in
      their usual place.
  """
  paths = []
  for name in source.files:
    if tfds_documents.is_source(name):
      paths.append(f"{name}&data_dir={folder}" if folder else name)
    elif folder:
      paths.append(os.path.join(folder, name))
  return paths


def hold_out(examples, fraction):
  """Returns two lists: the examples without a random part, and that part.

  Both keep the order of the examples. The part is the same for every run and
  seed.
  """
  rng = random.Random(0)
  draws = [rng.random() for _ in examples]
  count = round(fraction * len(examples))
  if not 0 < count < len(examples):
    raise ValueError(
      f"dev_fraction ({fraction}) of {len(examples)} examples must leave some "
      "on both sides."
    )
  held = set(sorted(range(len(examples)), key=draws.__getitem__)[:count])
  rest = [e for i, e in enumerate(examples) if i not in held]
  return rest, [examples[i] for i in sorted(held)]
