"""Parts of tables: rows, and the models that are pre-trained for them.

Published scores are accuracies on dev sets in percent; F1 of SQuAD, SQuAD 2.0
and of CoNLL-2003's entities.
"""

import dataclasses

from keras_bert_impl.tasks import objectives

FINE_TUNING, FEATURES = "fine-tuning", "features"
PERPLEXITY = "MLM perplexity"
AVERAGE = "Average"


@dataclasses.dataclass(frozen=True)
class Pretraining:
  """A model that is pre-trained for some rows.

  Attributes:
    name: str, of its folder.
    objective: str, of `tasks.objectives`.
    preset: str, of `configs.PRESETS`, whose sizes the scale replaces.
    size: (layers, hidden size, heads) at the paper's scale, or None for the
      model of the scale.
    config: {field of EncoderConfig: value} of this model only.
    records: {flag of create_pretraining_data.py: value} of its records only.
    flags: {flag of run_pretraining.py: value} of this model only.
    keeps_all: bool, whether all checkpoints are kept, for figure 5.
  """

  name: str
  objective: str = "bert"
  preset: str = "bert_base"
  size: tuple[int, int, int] | None = None
  config: dict = dataclasses.field(default_factory=dict)
  records: dict = dataclasses.field(default_factory=dict)
  flags: dict = dataclasses.field(default_factory=dict)
  keeps_all: bool = False

  @property
  def masks_tokens(self):
    """Whether its objective masks tokens."""
    return objectives.OBJECTIVES[self.objective].masking_policy is not None

  @property
  def records_name(self):
    """str, of its records' folder; equal records have the same one."""
    return "_".join(map(str, (self.objective, *self.records.values())))


@dataclasses.dataclass(frozen=True)
class Row:
  """A row of a table.

  Attributes:
    name: str.
    pretraining: `Pretraining`.
    paper: {column: published score}.
    uses_bilstm: bool, whether a BiLSTM stands between encoder and head.
    features: str, of `choices.FEATURES`, layers that a BiLSTM reads from the
      frozen encoder; or None.
    step: int, of the checkpoint that is fine-tuned; None for the last.
  """

  name: str
  pretraining: Pretraining
  paper: dict = dataclasses.field(default_factory=dict)
  uses_bilstm: bool = False
  features: str | None = None
  step: int | None = None


@dataclasses.dataclass(frozen=True)
class Table:
  """A table or figure.

  Attributes:
    name: str, such as "table_5".
    title: str.
    rows: tuple of `Row`.
    approaches: tuple of FINE_TUNING and FEATURES, the columns of each task.
    has_perplexity: bool, whether a column is the perplexity of masked tokens.
    kinds: tuple of str, kinds of tasks that it is about; empty for all.
    is_glue: bool, whether it scores as GLUE does: each task by its own metric,
      MNLI by both of its dev sets, and the average of all columns.
  """

  name: str
  title: str
  rows: tuple[Row, ...]
  approaches: tuple[str, ...] = (FINE_TUNING,)
  has_perplexity: bool = False
  kinds: tuple[str, ...] = ()
  is_glue: bool = False


BERT = Pretraining("bert")
LEFT_TO_RIGHT = Pretraining(
  "left_to_right", "left_to_right", config={"use_causal_mask": True}
)
