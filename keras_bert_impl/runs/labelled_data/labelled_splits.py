"""Splits of labelled examples: the files that scripts read.

They are the published files of a data set in --data_dir, or the files of
--train_file, --dev_file and --test_file, which need no data set
(--task_name=custom).
"""

import collections
import dataclasses
import itertools

from absl import flags, logging

from keras_bert_impl import files, options
from tfrecords.labelled import data_sets
from tfrecords.text import tfds_documents

CUSTOM = "custom"
_COLUMN_FLAGS = ("columns", "text_column", "label_column", "id_column")


@dataclasses.dataclass(frozen=True)
class SplitsConfig:
  """Files and columns of the examples.

  Raises:
    ValueError: flags contradict each other.
  """

  task_name: str = options.common(
    CUSTOM,
    "Data set, or custom for your own files with --text_column, --label_column"
    " and so on.",
  )
  data_dir: str | None = options.common(
    None, "Folder with the published files of the data set."
  )
  train_file: tuple[str, ...] | None = options.listed(
    None,
    "Files to train on, comma-separated, instead of the published files: .tsv"
    " or .txt (tabs), .csv, .jsonl or .json.",
    is_common=True,
  )
  dev_file: tuple[str, ...] | None = options.listed(
    None,
    "Files to evaluate on, instead of the published files.",
    is_common=True,
  )
  test_file: tuple[str, ...] | None = options.listed(
    None,
    "Files to predict, instead of the published files.",
    is_common=True,
  )
  dev_fraction: float = options.common(
    0.0,
    "Share of the training examples to hold out as the dev set; the same"
    " examples every time.",
    interval="[0, 1)",
  )
  columns: tuple[str, ...] | None = options.listed(
    None,
    "Column names, comma-separated, for files without a header line.",
  )
  text_column: str | None = options.common(
    None, "Name of the text column; default: text."
  )
  label_column: str | None = options.common(
    None, "Name of the label column; default: label."
  )
  id_column: str | None = options.field(
    None, "Name of the example id column; default: number the rows from 0."
  )

  def __post_init__(self):
    options.check_exclusive(self, "dev_fraction", "dev_file")
    if not self.is_custom:
      self._check_columns(_COLUMN_FLAGS)

  @property
  def is_custom(self):
    """Whether flags name the columns, instead of a data set."""
    return self.task_name.lower() == CUSTOM

  @property
  def source_options(self):
    """Arguments of `data_sets.Source` from the column flags, {name: value}."""
    options = {
      "columns": self.columns,
      "text": self.text_column or "text",
      "label": self.label_column or "label",
      "id": self.id_column,
    }
    return {name: value for name, value in options.items() if value}

  def _check_columns(self, names):
    for name in names:
      if getattr(self, name):
        raise ValueError(
          f"--{name} needs --task_name={CUSTOM}: the columns of "
          f"{self.task_name} are known; leave --{name} out."
        )


def list_data_sets(data_sets):
  """Adds the names of `DataSet`s to the help of --task_name."""
  names = ", ".join(data_set.name for data_set in data_sets)
  flags.FLAGS["task_name"].help += f" Data sets: {names}."


def custom_splits(source):
  """Returns {split: source} with the same source for all splits."""
  return dict.fromkeys(("train", "dev", "test"), source)


def read_needed(settings, dev_fraction, find, read, hold_out):
  """Returns {split: examples} of the splits that a run needs.

  All files are found before the first is read.

  Args:
    settings: `fine_tuning_config.FineTuningConfig`.
    dev_fraction: float, share of the training examples to hold out, or 0.
    find: callable, (kind, flag that needs it) -> {split: paths}; kinds are
      "train", "dev" and "test".
    read: callable, (split, paths) -> examples.
    hold_out: callable, (examples, dev_fraction) -> (training examples, dev
      examples).

  Raises:
    FileNotFoundError: a file does not exist.
  """
  found = {}
  if settings.do_train or (settings.needs_dev and dev_fraction):
    found |= find("train", "--do_train")
  if settings.needs_dev and not dev_fraction:
    found |= find("dev", "--do_eval")
  if settings.do_predict:
    found |= find("test", "--do_predict")
  for path in itertools.chain.from_iterable(found.values()):
    if not tfds_documents.is_source(path):
      files.check_exists(path)
  splits = {}
  for split, paths in found.items():
    splits[split] = read(split, paths)
    if split == "train" and dev_fraction:
      splits["train"], splits["dev"] = hold_out(splits["train"], dev_fraction)
  return splits


def find_files(config, split, flag):
  """Returns {split: paths} of the files that flags name, for `read_needed`.

  Args:
    config: with `train_file`, `dev_file` and `test_file`, each a path or
      several.
    split: str, "train", "dev" or "test".
    flag: str, that needs it.

  Raises:
    ValueError: no flag names any.
  """
  paths = getattr(config, f"{split}_file")
  if not paths:
    also = " or --dev_fraction" if split == "dev" else ""
    raise ValueError(f"{flag}: give --{split}_file{also}.")
  return {split: [paths] if isinstance(paths, str) else paths}


def read(data_set, config, settings):
  """Reads the splits that a run needs.

  Args:
    data_set: `data_sets.DataSet`.
    config: `SplitsConfig`.
    settings: `fine_tuning_config.FineTuningConfig`.

  Returns:
    {split: list of examples}, "dev..." before "test...", and
    {split: {what: int}}, rows that were left out.

  Raises:
    ValueError: a split that is needed is missing or malformed.
    FileNotFoundError: a file does not exist.
  """
  counts = {}

  def paths_of(split):
    named = getattr(config, f"{split}_file", None)
    if named:
      return named
    source = data_set.splits.get(split)
    return data_sets.paths_of(source, config.data_dir) if source else []

  def find(kind, flag):
    names = [s for s in data_set.splits if s.startswith(kind)] or [kind]
    found = {split: paths_of(split) for split in names}
    if not any(found.values()):
      raise ValueError(_missing(data_set, config, kind, flag))
    return {split: paths for split, paths in found.items() if paths}

  def read_split(split, paths):
    # A split that was not published has the format of another split.
    source = data_set.splits.get(split) or next(iter(data_set.splits.values()))
    left_out = counts[split] = collections.Counter()
    examples = source.read(paths, not split.startswith("test"), left_out)
    logging.info("%s: %d examples of %s.", split, len(examples), paths)
    for what, number in left_out.items():
      logging.warning("%s: %d %s were left out.", split, number, what)
    return examples

  splits = read_needed(
    settings, config.dev_fraction, find, read_split, data_sets.hold_out
  )
  return splits, counts


def _missing(data_set, config, kind, flag):
  """Returns the error message for a split without files."""
  remedy = f"give --{kind}_file"
  if kind in data_set.splits and not config.is_custom:
    remedy += f" or --data_dir, the folder of {data_set.name}"
  if kind == "dev":
    remedy += ", or --dev_fraction to hold out some training examples"
  return " ".join(filter(None, (f"{flag}: {remedy}.", data_set.note)))
