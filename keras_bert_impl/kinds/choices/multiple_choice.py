"""Multiple choice: the best of some continuations or answers, as in SWAG.

Each choice is a sequence, with the text as A and the choice as B.

Source: Devlin et al. 2019, section 4.4.
"""

import collections
import dataclasses

import numpy as np

from keras_bert_impl import configs, features, heads, models, options
from keras_bert_impl.kinds.texts import text_rows, text_scores
from keras_bert_impl.tasks.basics import (
  cross_entropy,
  fine_tuning,
)

_ID_NAMES = (features.INPUT_IDS, features.SEGMENT_IDS, features.INPUT_MASK)


@dataclasses.dataclass(frozen=True)
class ChoicePreprocessor(fine_tuning.Preprocessor):
  """Makes rows of `MultipleChoiceExample`s.

  Attributes:
    max_seq_length: int, most ids of text and choice.
    num_choices: int, C, of every example.
  """

  max_seq_length: int
  num_choices: int = options.required("Choices.", interval="[1, 10000]")

  @property
  def columns(self):
    """{name: `Column`} of the rows, with a mask of their own."""
    by_choice = fine_tuning.Column(
      shape=(None, self.num_choices), is_transposed=True
    )
    return {
      features.INPUT_IDS: by_choice,
      features.SEGMENT_IDS: by_choice,
      # Choices have lengths of their own, a row has one.
      features.INPUT_MASK: by_choice,
      features.LABEL_IDS: fine_tuning.Column(shape=()),
    }

  def texts(self, example):
    """Returns the text and the choices."""
    return [example.text, *example.choices]

  def make_rows(self, examples, tokenizer, counts):
    """Yields a row [n, C] for each example, n of its longest choice."""
    framed = text_rows.iter_rows(
      [e.text for e in examples for _ in e.choices],
      [choice for e in examples for choice in e.choices],
      tokenizer,
      self.max_seq_length,
      counts,
    )
    for example in examples:
      choices = [next(framed) for _ in example.choices]
      length = max(len(ids) for ids, _ in choices)
      row = {
        name: np.zeros((length, self.num_choices), np.int32)
        for name in _ID_NAMES
      }
      for index, (ids, segment_ids) in enumerate(choices):
        row[features.INPUT_IDS][: len(ids), index] = ids
        row[features.SEGMENT_IDS][: len(ids), index] = segment_ids
        row[features.INPUT_MASK][: len(ids), index] = 1
      yield row | {features.LABEL_IDS: example.label or 0}


@dataclasses.dataclass(frozen=True)
class MultipleChoiceTask(cross_entropy.RowClassifyingTask):
  """Scores each choice for a text, with a softmax over the choices.

  Attributes:
    config: `EncoderConfig`.
    num_choices: int, C, of every example.
  """

  config: configs.EncoderConfig
  num_choices: int

  head = heads.MULTIPLE_CHOICE
  has_named_labels = False
  has_pooler = True

  @property
  def labels(self):
    """Tuple of C str, the numbers of the choices from 0."""
    return tuple(map(str, range(self.num_choices)))

  def build_model(self):
    """Returns a `MultipleChoice` model."""
    return models.MultipleChoice(self.config)


@dataclasses.dataclass(frozen=True)
class ChoiceEvaluator(text_scores.LikeliestEvaluator):
  """Scores choices by accuracy."""

  metrics = ("accuracy",)

  def targets(self, examples):
    """Returns the places of the right choices, int [N]."""
    return np.array([example.label for example in examples])

  def names(self, num_classes):
    """Returns the numbers of the choices from 0."""
    return [*map(str, range(num_classes))]

  def text(self, example, value):
    """Returns the text of a choice."""
    return example.choices[value]

  def label_counts(self, examples):
    """Returns how often each place has the right choice."""
    counts = collections.Counter(example.label for example in examples)
    return {str(place): counts[place] for place in sorted(counts)}

  def describe(self):
    """Returns nothing: there is one metric."""
    return {}
