"""Splits of dependency trees: the files that run_parsing.py reads."""

import dataclasses
import functools

from absl import logging
from etils import epy

from keras_bert_impl import options
from keras_bert_impl.kinds.parsing import parsing_options
from keras_bert_impl.runs.labelled_data import labelled_splits
from tfrecords.labelled import data_sets

with epy.lazy_imports():
  from keras_bert_impl.kinds.parsing import parsing_files


@dataclasses.dataclass(frozen=True)
class ParsingConfig(parsing_options.ParsingOptions):
  """Files of the sentences, and the options of the task.

  Raises:
    ValueError: flags contradict each other or are out of range.
  """

  train_file: str | None = options.common(
    None, "File to train on: CoNLL-U, or KLUE-DP's .tsv."
  )
  dev_file: str | None = options.common(None, "File to evaluate on.")
  test_file: str | None = options.common(
    None, "File to predict; it needs no trees: _ for each head."
  )
  dev_fraction: float = options.common(
    0.0,
    "Share of train_file's sentences to hold out as the dev set; the same ones"
    " every time.",
    interval="[0, 1)",
  )

  def __post_init__(self):
    options.check_exclusive(self, "dev_fraction", "dev_file")


def read(config, settings):
  """Returns the splits that a run needs, {split: list of `ParsedSentence`}."""
  find = functools.partial(labelled_splits.find_files, config)

  def read_file(split, paths):
    sentences = parsing_files.read(paths[0])
    num_words = sum(len(sentence.words) for sentence in sentences)
    numbers = split, len(sentences), num_words, paths[0]
    logging.info("%s: %d sentences, %d words in %s.", *numbers)
    unknown = [s.origin for s in sentences if not s.is_labelled]
    if unknown and split != "test":
      raise ValueError(
        f"{unknown[0]}: the sentence has no tree, which the {split} split"
        " needs: give its heads, or leave it out."
      )
    return sentences

  return labelled_splits.read_needed(
    settings, config.dev_fraction, find, read_file, data_sets.hold_out
  )
