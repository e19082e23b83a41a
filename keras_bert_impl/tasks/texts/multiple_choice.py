"""Multiple choice: the best of some continuations or answers, as in SWAG.

Each choice is a sequence, with the text as A and the choice as B.

Source: Devlin et al. 2019, section 4.4.
"""

import collections
import dataclasses

import numpy as np
from keras import ops

from keras_bert_impl import configs, features, heads, models
from keras_bert_impl.metrics import classification, intervals
from keras_bert_impl.tasks.basics import (
  cross_entropy,
  fine_tuning,
  prediction_files,
  task,
)
from keras_bert_impl.tasks.texts import text_rows

_ID_NAMES = (features.INPUT_IDS, features.SEGMENT_IDS, features.INPUT_MASK)


@dataclasses.dataclass(frozen=True)
class ChoicePreprocessor(fine_tuning.Preprocessor):
  """Makes rows of `MultipleChoiceExample`s.

  Attributes:
    max_seq_length: int, most ids of text and choice.
    num_choices: int, C, of every example.
  """

  max_seq_length: int
  num_choices: int

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
class MultipleChoiceTask(task.Task):
  """Scores each choice for a text, with a softmax over the choices.

  Attributes:
    config: `EncoderConfig`.
    num_choices: int, C, of every example.
  """

  config: configs.EncoderConfig
  num_choices: int

  head = heads.MULTIPLE_CHOICE
  has_pooler = True

  @property
  def labels(self):
    """Tuple of C str, the numbers of the choices from 0."""
    return tuple(map(str, range(self.num_choices)))

  def build_model(self):
    """Returns a `MultipleChoice` model."""
    return models.MultipleChoice(self.config)

  def denominators(self, batch):
    """Returns the number of examples."""
    return {"label": ops.sum(cross_entropy.row_weights(batch))}

  def losses(self, batch, outputs):
    """Returns the summed cross-entropy over the choices in nats."""
    return cross_entropy.losses(*cross_entropy.of_rows(batch, outputs))

  def metrics(self, batch, outputs):
    """Returns loss, accuracy and padding share."""
    return cross_entropy.metrics(batch, *cross_entropy.of_rows(batch, outputs))


@dataclasses.dataclass(frozen=True)
class ChoiceEvaluator(fine_tuning.Evaluator):
  """Scores choices by accuracy."""

  main_metric = "accuracy"

  def answers(self, examples, rows, outputs):
    """Returns the logits, float32 [N, C]."""
    del examples, rows
    return outputs["logits"]

  def score(self, examples, answers):
    """Returns the accuracy."""
    labels = [example.label for example in examples]
    return {
      "accuracy": classification.accuracy(labels, np.argmax(answers, axis=-1))
    }

  def baseline(self, examples):
    """Returns the accuracy of always taking the same place."""
    counts = collections.Counter(example.label for example in examples)
    return counts.most_common(1)[0][1] / len(examples)

  def intervals(self, examples, answers, scores):
    """Returns that of the accuracy."""
    del scores
    labels = [example.label for example in examples]
    num_right = np.sum(np.equal(labels, np.argmax(answers, axis=-1)))
    return {"accuracy": intervals.wilson(num_right, len(examples))}

  def judge(self, examples, rows, outputs, answers, scores):
    """Returns the choices as texts, and the probability of those found."""
    del rows, outputs, scores
    found = np.argmax(answers, axis=-1)
    pairs = [*zip(examples, found, strict=True)]
    return fine_tuning.Judgement(
      [example.choices[example.label] for example in examples],
      [example.choices[answer] for example, answer in pairs],
      np.array([example.label == answer for example, answer in pairs]),
      np.max(fine_tuning.softmax(answers), axis=-1),
    )

  def label_counts(self, examples):
    """Returns how often each place has the right choice."""
    counts = collections.Counter(example.label for example in examples)
    return {str(place): counts[place] for place in sorted(counts)}

  def write(self, examples, answers, scores, folder):
    """Writes predictions.tsv: id, choice, probability of each choice."""
    del scores
    probabilities = fine_tuning.softmax(answers)  # [N, C]
    path = prediction_files.write(
      folder,
      [example.id for example in examples],
      [str(answer) for answer in np.argmax(probabilities, axis=-1)],
      {str(choice): p for choice, p in enumerate(probabilities.T)},
    )
    return {"predictions": path}
