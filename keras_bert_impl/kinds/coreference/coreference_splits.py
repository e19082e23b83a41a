"""Splits of documents: the files that run_coreference.py reads."""

import dataclasses
import functools

from absl import logging
from etils import epy

from keras_bert_impl import options
from keras_bert_impl.kinds.coreference import coreference_options
from keras_bert_impl.runs.labelled_data import labelled_splits
from tfrecords.labelled import data_sets

with epy.lazy_imports():
  from keras_bert_impl.kinds.coreference import coreference_files


@dataclasses.dataclass(frozen=True)
class CoreferenceConfig(coreference_options.CoreferenceOptions):
  """Files of the documents, and the options of the task.

  Raises:
    ValueError: flags contradict each other or are out of range.
  """

  train_file: tuple[str, ...] | None = options.listed(
    None,
    "Files to train on, comma-separated: CoNLL-2012, .jsonl, or GAP's .tsv.",
    is_common=True,
  )
  dev_file: tuple[str, ...] | None = options.listed(
    None, "Files to evaluate on.", is_common=True
  )
  test_file: tuple[str, ...] | None = options.listed(
    None, "Files to predict; they need no clusters.", is_common=True
  )
  dev_fraction: float = options.common(
    0.0,
    "Share of the training documents to hold out as the dev set; the same ones"
    " every time.",
    interval="[0, 1)",
  )

  def __post_init__(self):
    options.check_exclusive(self, "dev_fraction", "dev_file")


def read(config, settings):
  """Returns the splits that a run needs, {split: list of documents}."""
  find = functools.partial(labelled_splits.find_files, config)

  def read_files(split, paths):
    documents = [x for path in paths for x in coreference_files.read(path)]
    num_words = sum(len(document.words) for document in documents)
    logging.info(
      "%s: %d documents, %d words.", split, len(documents), num_words
    )
    unknown = [x.origin for x in documents if not x.is_labelled]
    if unknown and split != "test":
      raise ValueError(
        f"{unknown[0]}: the document has no clusters, which the {split} split"
        " needs: give them, or leave it out."
      )
    return documents

  return labelled_splits.read_needed(
    settings, config.dev_fraction, find, read_files, data_sets.hold_out
  )
