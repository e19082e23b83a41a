"""Examples of fine-tuning and their tokenized rows, on disk and in memory."""

import collections
import copy
import functools
import hashlib
import itertools
import os

from absl import logging

from keras_bert_impl import tokenizers
from keras_bert_impl.tokenizers.formats import (
  tokenizer_options,
)
from tfrecords.labelled import row_files

TRAIN = "train"
_SAMPLE_TEXTS = 500


class Data:
  """The splits of a task.

  Args:
    preprocessor: `fine_tuning.Preprocessor`.
    splits: {name: list of examples}, as in `job.Job.run`.
    vocabulary: `Vocabulary`.
    options: options of its tokenizer.
    folder: str, folder for the rows.
    counts: {split: {what: int}}, counts of the readers of the examples.
    max_unknown_share: float, of words with [UNK] in the texts to train on.

  Attributes:
    preprocessor: as given.
    vocabulary: as given.
    options: as given.
    stages: list of str, the splits to train on, one after the other.
    counts: {split: {what: int}}, for the splits whose rows have been read.
    cards: {split: JSON object}, what `report_material.cards` has counted.
  """

  def __init__(
    self,
    preprocessor,
    splits,
    vocabulary,
    options,
    folder,
    counts=None,
    max_unknown_share=1,
  ):
    self.preprocessor = preprocessor
    self.vocabulary = vocabulary
    self.options = options
    self.counts, self.cards = {}, {}
    self._read_counts = counts or {}
    self._max_unknown_share = max_unknown_share
    self._folder = folder
    self._rows = {}
    stages = splits.get(TRAIN, [])
    if stages and not isinstance(stages[0], list):
      stages = [stages]
    self.stages = [
      f"{TRAIN}_{number}" if number > 1 else TRAIN
      for number in range(1, len(stages) + 1)
    ]
    self._examples = {**splits, **dict(zip(self.stages, stages, strict=True))}

  @functools.cached_property
  def tokenizer(self):
    """The tokenizer, which is made when texts are read first."""
    return tokenizers.make(self.vocabulary, self.options)

  @property
  def other_splits(self):
    """Names of the splits that are not for training, list of str."""
    return [
      name
      for name in self._examples
      if name != TRAIN and name not in self.stages
    ]

  @property
  def dev_splits(self):
    """Names of the splits for evaluation, without test sets, list of str."""
    return [name for name in self.other_splits if not name.startswith("test")]

  @property
  def selecting_split(self):
    """Name of the split that selects runs and checkpoints, or None."""
    for split in self.dev_splits:
      if self.is_labelled(split):
        return split
    return None

  def is_labelled(self, split):
    """Returns whether all examples of a split can be scored."""
    return all(example.is_labelled for example in self.examples(split))

  def examples(self, split):
    """Returns the list of examples of a split."""
    return self._examples[split]

  def fingerprint(self, split):
    """Returns the SHA-256 of the rows of a split, hex."""
    self.rows(split)
    return row_files.fingerprint(self.path(split))

  def rows(self, split):
    """Returns the `Rows` of a split; writes them first if necessary.

    Raises:
      ValueError: the split has no examples, or they make no rows; or it is to
        train on and has more [UNK] than it may.
    """
    if split not in self._rows:
      examples = self.examples(split)
      if not examples:
        raise ValueError(
          f"the {split} split has no examples: check its file and its columns."
        )
      path = self.path(split)
      origin = self._origin(examples)
      counts = row_files.find(path, origin)
      if counts is None:
        counts = self._write(path, origin, split)
      rows = row_files.read(path, self.preprocessor.columns)
      self._rows[split] = rows
      self.counts[split] = {
        "examples": len(examples),
        "rows": len(rows),
        **self._read_counts.get(split, {}),
        **counts,
      }
    return self._rows[split]

  def in_tokens_of(self, vocabulary, options):
    """Returns the same examples in the tokens of another vocabulary.

    Args:
      vocabulary: `Vocabulary`.
      options: options of its tokenizer.
    """
    other = copy.copy(self)
    other.vocabulary, other.options = vocabulary, options
    other.counts, other.cards, other._rows = {}, {}, {}
    vars(other).pop("tokenizer", None)
    other._folder = os.path.join(self._folder, vocabulary.fingerprint[:16])
    return other

  def path(self, split):
    """Returns the path of the file of a split's rows."""
    return os.path.join(self._folder, f"{split}.tf_record")

  def _write(self, path, origin, split):
    examples = self.examples(split)
    logging.info("Tokenizing %d examples of %s.", len(examples), split)
    # Training from rows on disk must not need tensorflow-text.
    try:
      tokenizer = self.tokenizer
    except ImportError as error:
      raise ValueError(
        f"{path} cannot be written ({error}): install tensorflow-text, or copy"
        f" {self._folder} from a machine that has it."
      ) from error
    if split == TRAIN:
      self._check_agreement(tokenizer, examples)
    counts = self.write_rows(path, examples, origin)
    for what, number in counts.items():
      logging.warning("%s: %d %s.", split, number, what)
    return counts

  def write_rows(self, path, examples, origin):
    """Writes the rows of examples; returns {what: int}, what was counted.

    Args:
      path: str, of the file.
      examples: list of examples.
      origin: dict, as of `row_files.write`.
    """
    counts = collections.Counter()
    rows = self.preprocessor.make_rows(examples, self.tokenizer, counts)
    row_files.write(path, rows, self.preprocessor.columns, origin, counts)
    return counts

  def _check_agreement(self, tokenizer, examples):
    """Checks that vocabulary, text normalisation and texts fit together."""
    from keras_bert_impl.tokenizers import agreement  # needs tensorflow-text

    texts = itertools.chain.from_iterable(
      map(self.preprocessor.texts, examples)
    )
    sample = list(itertools.islice(texts, _SAMPLE_TEXTS))
    agreement.check(tokenizer, sample, self._max_unknown_share)

  def _origin(self, examples):
    """Returns a dict that identifies the rows that the examples make."""
    digest = hashlib.sha256()
    for example in examples:
      digest.update(repr(example).encode("utf-8", "surrogatepass"))
    return {
      "examples": digest.hexdigest(),
      "vocabulary": self.vocabulary.fingerprint,
      "options": tokenizer_options.stored_values(self.options),
      "columns": {
        name: [*map(str, column)]
        for name, column in self.preprocessor.columns.items()
      },
      "preprocessor": {
        "name": type(self.preprocessor).__name__,
        **self.preprocessor.describe(),
      },
    }
