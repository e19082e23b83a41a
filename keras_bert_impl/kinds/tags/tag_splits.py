"""Splits of tagged sentences: the files that run_ner.py reads."""

import dataclasses
import os

from absl import logging
from etils import epy

from keras_bert_impl import files, heads, options
from keras_bert_impl.checkpoints import reading
from keras_bert_impl.kinds.tags import tag_options
from keras_bert_impl.metrics import tagging
from keras_bert_impl.runs.labelled_data import labelled_splits
from keras_bert_impl.tokenizers.graph import token_pieces

with epy.lazy_imports():
  from keras_bert_impl.kinds.tags import tag_files

# Names of files in --data_dir, CoNLL-2003's too; the first that exists is read.
_FILES = {
  "train": ("train.txt", "eng.train", "deu.train"),
  "dev": ("dev.txt", "valid.txt", "testa.txt", "eng.testa", "deu.testa"),
  "test": ("test.txt", "testb.txt", "eng.testb", "deu.testb"),
}


@dataclasses.dataclass(frozen=True)
class TagSplitsConfig(tag_options.TagOptions):
  """Files and columns of the sentences, and the options of the task.

  Raises:
    ValueError: flags contradict each other or are out of range.
  """

  data_dir: str | None = options.common(
    None,
    "Folder with train.txt, dev.txt (valid.txt, testa.txt) and test.txt"
    " (testb.txt), or eng.train, eng.testa and eng.testb.",
  )
  train_file: str | None = options.common(None, "File to train on.")
  dev_file: str | None = options.common(None, "File to evaluate on.")
  test_file: str | None = options.common(
    None, "File to predict; it needs no tags."
  )
  dev_fraction: float = options.common(
    0.0,
    "Share of train_file's documents, or sentences if it marks none, held out"
    " as the dev set.",
    interval="[0, 1)",
  )
  token_column: int = options.field(
    0,
    "Column of the token, counted from 0; 1 where an index stands before it, as"
    " of CoNLL-U.",
    interval="[-1000, 1000]",
  )
  tag_column: int = options.field(
    -1,
    "Column of the tag, counted from 0; -1 is the last one. Of spans the first"
    " column of tags; -1: the one after the token.",
    interval="[-1000, 1000]",
  )
  spans: bool = options.common(
    False, "Entities inside of others: several columns."
  )

  def __post_init__(self):
    if self.spans and self.tag_scheme != tagging.SPANS:
      options.check_exclusive(self, "spans", "tag_scheme")
      object.__setattr__(self, "tag_scheme", tagging.SPANS)
    super().__post_init__()
    if self.token_column and self.token_unit == token_pieces.CHARACTER:
      raise ValueError(
        f"token_column ({self.token_column}) must be 0 with"
        " --token_unit=character, whose rows begin with the character."
      )
    options.check_exclusive(self, "dev_fraction", "dev_file")

  def path(self, split):
    """Returns the file of a split, or None."""
    named = getattr(self, f"{split}_file")
    if named or not self.data_dir:
      return named
    paths = [os.path.join(self.data_dir, name) for name in _FILES[split]]
    return next(filter(files.exists, paths), None)


def read(config, settings):
  """Returns the splits that a run needs, {split: list of `TaggedSentence`}."""
  splits = labelled_splits.read_needed(
    settings,
    config.dev_fraction,
    lambda split, flag: {split: [_find(config, split, flag)]},
    lambda split, paths: _read(config, split, *paths),
    tag_files.split_off,
  )
  for split, sentences in splits.items():
    if split != "test" and sentences[0].tags is None:
      raise ValueError(
        f"{sentences[0].origin}: the rows have no tags, which the {split} split"
        " needs: add a column of tags."
      )
  return splits


def _find(config, split, flag):
  path = config.path(split)
  if path:
    return path
  *others, last = _FILES[split]
  names_there = f"{', '.join(others)} or {last}"
  remedy = f"give --{split}_file, or --data_dir with {names_there}"
  if split == "dev":
    remedy += ", or --dev_fraction to hold out some of the training sentences"
  raise ValueError(f"{flag}: {remedy}.")


def _read(config, split, path):
  sentences = tag_files.read(
    path,
    config.token_unit,
    config.tag_column,
    config.tag_scheme,
    config.token_column,
  )
  num_documents = len({sentence.document for sentence in sentences})
  logging.info(
    "%s: %d sentences, %d tokens, %d documents in %s.",
    split,
    len(sentences),
    sum(len(sentence.tokens) for sentence in sentences),
    num_documents if sentences[-1].document else len(sentences),
    path,
  )
  return sentences


def labels_of_checkpoint(path, tag_scheme=None):
  """Returns the classes of a token classifier from its checkpoint, or None.

  Args:
    path: str, a checkpoint, or None.
    tag_scheme: as `TagSplitsConfig`.

  Raises:
    ValueError: a class of the checkpoint is no tag.
  """
  described = path and reading.open_checkpoint(path).description
  if not described or described.head != heads.TOKEN_CLASSIFICATION:
    return None
  for label in described.labels or ():
    fault = tagging.find_fault(label, tag_scheme)
    if fault:
      raise ValueError(
        f"{path}: {fault}, and it is a class of its head. For tags that mark no"
        " entities give --tag_scheme=none."
      )
  return described.labels
