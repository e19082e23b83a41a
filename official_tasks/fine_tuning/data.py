"""The examples of fine-tuning and their rows, on disk and in memory."""

import collections
import dataclasses
import hashlib
import itertools
import os

from absl import logging

from keras_bert_impl import tokenizers
from keras_bert_impl.tokenizers import vocabulary as vocabulary_lib
from tfrecords.labelled import rows as rows_lib

TRAIN = "train"
_SAMPLE_TEXTS = 500


class Data:
  """The splits of a task.

  Args:
    preprocessor: `fine_tuning.Preprocessor`.
    splits: as `job.Job.run`.
    vocabulary_path: str.
    options: of its tokenizer.
    folder: str, where the rows are kept.
    counts: {split: {what: int}}, what reading the examples had to tell of.

  Attributes:
    preprocessor: as given.
    vocabulary: `Vocabulary`.
    options: as given.
    stages: list of str, the splits to train on, one after the other.
    counts: {split: {what: int}}, of the splits whose rows were asked for.
  """

  def __init__(
    self, preprocessor, splits, vocabulary_path, options, folder, counts=None
  ):
    self.preprocessor = preprocessor
    self.vocabulary = vocabulary_lib.Vocabulary.load(
      vocabulary_path, family=options.family
    )
    self.options = options
    self.counts = {}
    self._read_counts = counts or {}
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

  @property
  def other_splits(self):
    """Names of the splits that are not trained on, list of str."""
    return [
      name
      for name in self._examples
      if name != TRAIN and name not in self.stages
    ]

  @property
  def dev_splits(self):
    """Names of the other splits without test sets, list of str."""
    return [name for name in self.other_splits if not name.startswith("test")]

  @property
  def selecting_split(self):
    """The split that selects runs and checkpoints; None without one."""
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
    return rows_lib.fingerprint(self._path(split))

  def rows(self, split):
    """Returns the `Rows` of a split, made if necessary.

    Raises:
      ValueError: there are no examples, or no rows come out of them.
    """
    if split not in self._rows:
      examples = self.examples(split)
      if not examples:
        raise ValueError(f"the {split} split holds no examples.")
      path = self._path(split)
      origin = self._origin(examples)
      counts = rows_lib.find(path, origin)
      if counts is None:
        counts = self._write(path, origin, split)
      rows = rows_lib.read(path, self.preprocessor.columns)
      self._rows[split] = rows
      self.counts[split] = {
        "examples": len(examples),
        "rows": len(rows),
        **self._read_counts.get(split, {}),
        **counts,
      }
    return self._rows[split]

  def _path(self, split):
    return os.path.join(self._folder, f"{split}.tf_record")

  def _write(self, path, origin, split):
    examples = self.examples(split)
    logging.info("Tokenizing %d examples of %s.", len(examples), split)
    # Late: training must not need tensorflow-text, which comes with it.
    try:
      tokenizer = tokenizers.load(self.vocabulary.origin, **vars(self.options))
    except ImportError as error:
      raise ValueError(
        f"{path} cannot be made ({error}): install tensorflow-text, or take"
        f" {self._folder} along from a machine that has it."
      ) from error
    if split == TRAIN:
      self._warn_of_disagreement(tokenizer, examples)
    counts = collections.Counter()
    rows = self.preprocessor.make_rows(examples, tokenizer, counts)
    rows_lib.write(path, rows, self.preprocessor.columns, origin, counts)
    for what, number in counts.items():
      logging.warning("%s: %d %s.", split, number, what)
    return counts

  def _warn_of_disagreement(self, tokenizer, examples):
    """Warns where vocabulary, normalisation and text do not fit."""
    from keras_bert_impl.tokenizers import agreement  # late, as the tokenizer

    texts = itertools.chain.from_iterable(
      map(self.preprocessor.texts, examples)
    )
    warning = agreement.disagreement(
      tokenizer, list(itertools.islice(texts, _SAMPLE_TEXTS))
    )
    if warning:
      logging.warning("%s", warning)

  def _origin(self, examples):
    """Returns everything that decides the rows of some examples."""
    digest = hashlib.sha256()
    for example in examples:
      # Files may move.
      example = dataclasses.replace(example, origin="")
      digest.update(repr(example).encode("utf-8", "surrogatepass"))
    return {
      "examples": digest.hexdigest(),
      "vocabulary": self.vocabulary.fingerprint,
      "options": vars(self.options),
      "columns": {
        name: [*map(str, column)]
        for name, column in self.preprocessor.columns.items()
      },
      "preprocessor": {
        "name": type(self.preprocessor).__name__,
        **self.preprocessor.describe(),
      },
    }
