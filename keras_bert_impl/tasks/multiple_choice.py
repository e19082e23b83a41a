"""The best of some continuations or answers: SWAG and its like."""

import collections
import dataclasses

import numpy as np

from keras_bert_impl import features, models
from keras_bert_impl.checkpoints import names
from keras_bert_impl.metrics import classification
from keras_bert_impl.tasks import (
  cross_entropy,
  fine_tuning,
  prediction_files,
  text_rows,
)


@dataclasses.dataclass(frozen=True)
class MultipleChoiceExample:
  """A text and the choices for it.

  Attributes:
    id: str, its name in the files of predictions.
    text: str, what the choices continue or answer.
    choices: tuple of str.
    label: int, the right one, from 0; or None if unknown.
    origin: str, "file:row", for messages.
  """

  id: str
  text: str
  choices: tuple[str, ...]
  label: int | None = None
  origin: str = ""


class MultipleChoiceTask(fine_tuning.FineTuningTask):
  """A score for each choice, given the text; softmax over the choices.

  Each choice is a sequence of its own, with the text as A and the choice as B.

  Args:
    config: `EncoderConfig`.
    max_seq_length: int, most ids of text and choice.
    num_choices: int, C, of every example.

  Source: Devlin et al. 2019, section 4.4.
  """

  head = names.MULTIPLE_CHOICE
  main_metric = "accuracy"

  def __init__(self, config, max_seq_length, num_choices):
    super().__init__(config, max_seq_length)
    self.num_choices = num_choices
    self.labels = tuple(map(str, range(num_choices)))

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
        for name in (
          features.INPUT_IDS,
          features.SEGMENT_IDS,
          features.INPUT_MASK,
        )
      }
      for index, (ids, segment_ids) in enumerate(choices):
        row[features.INPUT_IDS][: len(ids), index] = ids
        row[features.SEGMENT_IDS][: len(ids), index] = segment_ids
        row[features.INPUT_MASK][: len(ids), index] = 1
      yield row | {features.LABEL_IDS: example.label or 0}

  def has_labels(self, examples):
    """Returns whether every example says which choice is right."""
    return all(example.label is not None for example in examples)

  def build_model(self):
    """Returns a `MultipleChoice` model."""
    return models.MultipleChoice(self.config)

  def weights(self, batch):
    """Returns 1 for each example."""
    return {"label": cross_entropy.row_weights(batch)}

  def predictions(self, batch, outputs):
    """Returns the choice among the choices."""
    return {
      "label": cross_entropy.Prediction(
        outputs["logits"], batch[features.LABEL_IDS]
      )
    }

  def score(self, examples, rows, outputs):
    """Returns the accuracy."""
    del rows
    answers = np.argmax(outputs["logits"], axis=-1)
    return {
      "accuracy": classification.accuracy([e.label for e in examples], answers)
    }

  def baseline(self, examples):
    """Returns the accuracy of always taking the same place."""
    counts = collections.Counter(e.label for e in examples)
    return counts.most_common(1)[0][1] / len(examples)

  def write_predictions(self, examples, rows, outputs, folder):
    """Writes predictions.tsv: id, label, probability of each choice."""
    del rows
    probabilities = fine_tuning.softmax(outputs["logits"])
    answers = np.argmax(probabilities, axis=-1)
    path = prediction_files.write(
      folder,
      [e.id for e in examples],
      [self.labels[answer] for answer in answers],
      dict(zip(self.labels, probabilities.T, strict=True)),
    )
    return {"predictions": path}

  def describe(self):
    """Returns as `FineTuningTask`, with the number of choices."""
    return super().describe() | {"num_choices": self.num_choices}
