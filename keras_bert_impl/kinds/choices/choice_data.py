"""Published data sets of multiple choice: SWAG, CODAH and others."""

import dataclasses

from keras_bert_impl.tasks.basics import example_types
from tfrecords.labelled import data_sets


@dataclasses.dataclass(frozen=True)
class ChoiceSource(data_sets.Source):
  """Source of texts with choices.

  Attributes:
    text: str, column of the text.
    choices: tuple of str, columns of the choices; those that are empty at the
      end of a row are no choices. A single one is a list of a JSON file.
    opening: str, column of the words that every choice begins with, or None.
  """

  text: str = "text"
  choices: tuple[str, ...] = ()
  opening: str | None = None

  def example(self, row, name, label):
    """Returns the `MultipleChoiceExample` of a row."""
    choices = self._choices(row)
    if self.opening is not None:
      opening = row.value(self.opening)
      choices = [f"{opening} {choice}".strip() for choice in choices]
    return example_types.MultipleChoiceExample(
      name,
      row.value(self.text, "text_column"),
      tuple(choices),
      None if label is None else _index(label, len(choices), row.origin),
      row.origin,
    )

  def _choices(self, row):
    columns = self.choices
    if len(columns) == 1:
      prefix = f"{columns[0]}."
      columns = [column for column in row.values if column.startswith(prefix)]
    choices = [row.value(column, "choice_columns") for column in columns]
    while choices and not choices[-1].strip():
      choices.pop()
    if not choices:
      raise ValueError(
        f"{row.origin} has no choices in {', '.join(self.choices)}: choose"
        f" among its columns {', '.join(row.values)}."
      )
    return choices


def count_choices(examples):
  """Returns the number of choices of each example.

  Raises:
    ValueError: there are less than two, or not the same number everywhere;
      names file and row.
  """
  first = examples[0]
  if len(first.choices) < 2:
    raise ValueError(
      f"{first.origin} has one choice, but must have at least two."
    )
  for example in examples:
    if len(example.choices) != len(first.choices):
      raise ValueError(
        f"{example.origin} has {len(example.choices)} choices, but must have "
        f"{len(first.choices)} like {first.origin}."
      )
  return len(first.choices)


def _index(label, num_choices, origin):
  if not (label.isascii() and label.isdigit() and int(label) < num_choices):
    raise ValueError(
      f"{origin} has the label {label!r}, which must be the number of a"
      f" choice, from 0 to {num_choices - 1}."
    )
  return int(label)


DATA_SETS = (
  data_sets.DataSet(
    "SWAG",
    ChoiceSource(
      text="sent1",
      opening="sent2",
      choices=("ending0", "ending1", "ending2", "ending3"),
    ).in_splits(train="train.csv", dev="val.csv", test="test.csv"),
  ),
  data_sets.DataSet(
    "CODAH",
    ChoiceSource(
      columns=("category", "prompt", "a0", "a1", "a2", "a3", "label"),
      text="prompt",
      choices=("a0", "a1", "a2", "a3"),
    ).in_splits(train="train.tsv", dev="dev.tsv", test="test.tsv"),
  ),
  data_sets.DataSet(
    "JCommonsenseQA",
    ChoiceSource(
      id="q_id",
      text="question",
      choices=("choice0", "choice1", "choice2", "choice3", "choice4"),
    ).in_splits(train="train-v1.3.json", dev="valid-v1.3.json"),
  ),
)
