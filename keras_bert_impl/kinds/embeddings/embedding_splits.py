"""Splits of pairs, triplets and questions: the files that scripts read."""

import dataclasses
import functools

from etils import epy

from keras_bert_impl import files, options
from keras_bert_impl.kinds.embeddings.tasks import embedding_options
from keras_bert_impl.runs.labelled_data import labelled_splits

with epy.lazy_imports():
  from keras_bert_impl.kinds.embeddings import embedding_data
  from tfrecords.labelled import data_sets


@dataclasses.dataclass(frozen=True)
class EmbeddingSplitsConfig:
  """Files and columns of the examples.

  Raises:
    ValueError: flags contradict each other or are out of range.
  """

  train_file: tuple[str, ...] | None = options.listed(
    None,
    "Files or folders to train on, comma-separated.",
    is_common=True,
  )
  train_weights: tuple[float, ...] | None = options.listed(
    None,
    "Passes over each of train_file in an epoch, comma-separated, such as"
    " 1,0.5; default: 1 each.",
  )
  dev_file: tuple[str, ...] | None = options.listed(
    None, "File or folder to evaluate on.", is_common=True
  )
  dev_fraction: float = options.common(
    0.0,
    "Share of the training examples to hold out as the dev set; the same"
    " examples every time.",
    interval="[0, 1)",
    is_common=True,
  )
  corpus_file: tuple[str, ...] | None = options.listed(
    None,
    "Files of other texts to search.",
    is_common=True,
  )
  text_columns: tuple[str, ...] | None = options.listed(
    None,
    "Names of the columns of the texts, comma-separated, the anchor first;"
    " default: all but label_column.",
    is_common=True,
  )
  label_column: str = options.common(
    "label",
    "Name of the column of scores or labels of NLI, where there is one.",
  )
  columns: tuple[str, ...] | None = options.listed(
    None,
    "Column names, comma-separated, for files without a header line.",
  )

  def __post_init__(self):
    options.check_fields(self)
    options.check_exclusive(self, "dev_fraction", "dev_file")

  @property
  def table_columns(self):
    """`embedding_data.Columns` of the flags."""
    return embedding_data.Columns(
      self.text_columns or (), self.label_column, self.columns or None
    )


@dataclasses.dataclass(frozen=True)
class EmbeddingConfig(
  embedding_options.EmbeddingOptions, EmbeddingSplitsConfig
):
  """Files and columns of the examples, and the options of the task.

  Raises:
    ValueError: flags contradict each other.
  """

  mine: str | None = options.common(
    None,
    "Encoder that finds hard negatives for pairs.",
  )

  def __post_init__(self):
    EmbeddingSplitsConfig.__post_init__(self)


def read(config, settings):
  """Returns {split: examples} of the splits that a run needs.

  Args:
    config: `EmbeddingSplitsConfig`.
    settings: `fine_tuning_config.FineTuningConfig`.

  Raises:
    ValueError: a file that is needed is missing or malformed.
    FileNotFoundError: a file does not exist.
  """
  splits = _read(config, settings, embedding_data.read)
  for path in config.corpus_file or ():
    if "dev" in splits:
      splits["dev"] += embedding_data.read_corpus(path, config.table_columns)
  return splits


def read_apart(config, settings):
  """Returns the splits as `read`, and what is searched beside their examples.

  Args: as of `read`.

  Returns:
    {split: examples}, and named and others of `embedding_corpus.texts_beside`.

  Raises: as `read`; everything has been read once.
  """

  def read_dev(path, columns, split):
    if split == "dev" and files.is_folder(path):
      return embedding_data.read_judged(path, split)
    return embedding_data.read(path, columns, split)

  splits = _read(config, settings, read_dev)
  if "dev" not in splits:
    return splits, [], []
  named = [*filter(files.is_folder, config.dev_file or ())]
  others = [
    functools.partial(embedding_data.corpus_texts, path, config.table_columns)
    for path in config.corpus_file or ()
  ]
  embedding_data.check_searched(splits["dev"], others)
  return splits, named, others


def _read(config, settings, read_examples):
  """Returns {split: examples}, as `read`, without those of corpus_file."""
  if settings.do_predict:
    raise ValueError(
      "--do_predict is not for vectors and rerankers: use what"
      " export_saved_model.py makes of the run, or its folder from Python."
    )

  def find(kind, flag):
    paths = getattr(config, f"{kind}_file", None)
    if not paths:
      raise ValueError(
        f"{flag} needs --{kind}_file"
        + (" or --dev_fraction." if kind == "dev" else ".")
      )
    return {kind: paths}

  def read_split(split, paths):
    columns = config.table_columns
    parts = [read_examples(path, columns, split) for path in paths]
    if split == "train":
      weights = _weights(config, len(paths))
      return embedding_data.in_proportions(parts, weights)
    return [example for part in parts for example in part]

  return labelled_splits.read_needed(
    settings, config.dev_fraction, find, read_split, data_sets.hold_out
  )


def _weights(config, number):
  """Returns the weights of `number` files, tuple of float; None for 1 each."""
  weights = config.train_weights
  if weights is None:
    return None
  if len(weights) != number or not all(0 < w < 1e4 for w in weights):
    raise ValueError(
      f"train_weights ({weights!r}) must be {number} numbers above 0, one for"
      " each of train_file."
    )
  return weights
