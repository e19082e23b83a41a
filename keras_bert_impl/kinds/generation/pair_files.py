"""Pairs of a text and the one that is written of it: examples and files.

Files are tables (tsv, csv, jsonl, json) or splits of TensorFlow Datasets; see
`tfrecords/labelled/table_files.py`.
"""

import dataclasses
import functools

from absl import logging

from keras_bert_impl import options
from keras_bert_impl.kinds.generation import generation_options
from keras_bert_impl.runs.labelled_data import labelled_splits
from tfrecords.labelled import data_sets

_LISTED = (
  "Files to {}, comma-separated: .tsv, .csv, .jsonl or tfds:NAME?split=X."
)


@dataclasses.dataclass(frozen=True)
class Pair:
  """A text, and the one that is to be written.

  Attributes:
    id: str, its name in the files of predictions.
    text: str.
    target: str; None if unknown.
    origin: str, "file:row", for messages.
  """

  id: str
  text: str
  target: str | None = None
  origin: str = dataclasses.field(default="", repr=False)

  @property
  def is_labelled(self):
    """Whether it can be learned or scored."""
    return self.target is not None


def make_pair(name, text, target, place, needs_target=True):
  """Returns a checked `Pair`.

  Args:
    name: str.
    text: str.
    target: str, or None.
    place: str, the origin, for messages.
    needs_target: bool, whether there must be one.

  Raises:
    ValueError: the text is empty, or there is no target; names the place.
  """
  for what, value, is_needed in (
    ("text", text, True),
    ("target", target, needs_target),
  ):
    if is_needed and not (value or "").strip():
      raise ValueError(
        f"{place} has no {what}: write it, or leave {place} out."
      )
  has_target = bool((target or "").strip())
  return Pair(name, text, target if has_target else None, place)


@dataclasses.dataclass(frozen=True)
class PairSource(data_sets.Source):
  """Source of pairs.

  Attributes:
    text: str, column of the texts that are read; of lists, of their sentences.
    label: str, column of those that are written.
  """

  text: str = "text"
  label: str = "target"

  def label_of(self, row, is_needed):
    """Returns the target of a row and whether it must have one."""
    if is_needed:
      return row.value(self.label, "target_column"), True
    return row.values.get(self.label), False

  def example(self, row, name, label):
    """Returns the `Pair` of a row."""
    text = row.joined(self.text, "text_column")
    return make_pair(name, text, label[0], row.origin, label[1])


@dataclasses.dataclass(frozen=True)
class PairsConfig(generation_options.GenerationOptions):
  """Files of the pairs, and the options of the task.

  Raises:
    ValueError: flags contradict each other or are out of range.
  """

  train_file: tuple[str, ...] | None = options.listed(
    None, _LISTED.format("train on"), is_common=True
  )
  dev_file: tuple[str, ...] | None = options.listed(
    None, _LISTED.format("evaluate on"), is_common=True
  )
  test_file: tuple[str, ...] | None = options.listed(
    None,
    _LISTED.format("write texts of") + " It needs no targets.",
    is_common=True,
  )
  dev_fraction: float = options.common(
    0.0,
    "Share of the training pairs to hold out as the dev set; the same ones"
    " every time.",
    interval="[0, 1)",
  )
  text_column: str = options.common(
    "text", "Name of the column of the texts that are read."
  )
  target_column: str = options.common(
    "target", "Name of the column of the texts that are written."
  )
  id_column: str | None = options.field(
    None, "Name of the column of ids; default: number the rows from 0."
  )
  columns: tuple[str, ...] | None = options.listed(
    None, "Column names, comma-separated, for files without a header line."
  )

  def __post_init__(self):
    options.check_exclusive(self, "dev_fraction", "dev_file")


def read(config, settings):
  """Returns the splits that a run needs, {split: list of `Pair`}.

  Args:
    config: `PairsConfig`.
    settings: `fine_tuning_config.FineTuningConfig`.

  Raises:
    ValueError: a file that is needed is missing or malformed.
    FileNotFoundError: a file does not exist.
  """
  source = PairSource(
    id=config.id_column,
    columns=config.columns,
    text=config.text_column,
    label=config.target_column,
  )

  find = functools.partial(labelled_splits.find_files, config)

  def read_files(split, paths):
    pairs = source.read(paths, split != "test", {})
    logging.info("%s: %d pairs of %s.", split, len(pairs), paths)
    return pairs

  return labelled_splits.read_needed(
    settings, config.dev_fraction, find, read_files, data_sets.hold_out
  )
