"""Tables 5 to 8 and figure 5 of the BERT paper: rows and published scores.

Source: Devlin et al. 2019, sections 5.1 to 5.3, appendices C.1 and C.2.
Accuracies on dev sets in percent; F1 of SQuAD and of CoNLL-2003's entities.
"""

import dataclasses

FINE_TUNING, FEATURES = "fine-tuning", "features"
PERPLEXITY = "MLM perplexity"


@dataclasses.dataclass(frozen=True)
class Pretraining:
  """What is pre-trained for some rows.

  Attributes:
    name: str, of its folder.
    objective: str, of `tasks.objectives`.
    size: (layers, hidden size, heads) at the paper's scale, or None for the
      model of the scale.
    config: {field of EncoderConfig: value} of this model only.
    flags: {flag of run_pretraining.py: value} of this model only.
    keeps_all: bool, whether all checkpoints are kept, for figure 5.
  """

  name: str
  objective: str = "bert"
  size: tuple[int, int, int] | None = None
  config: dict = dataclasses.field(default_factory=dict)
  flags: dict = dataclasses.field(default_factory=dict)
  keeps_all: bool = False


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
    kinds: tuple of str, kinds of `tasks.Task` that it is about; empty for all.
  """

  name: str
  title: str
  rows: tuple[Row, ...]
  approaches: tuple[str, ...] = (FINE_TUNING,)
  has_perplexity: bool = False
  kinds: tuple[str, ...] = ()


def _scores(names, *values):
  return dict(zip(names, values, strict=True))


BERT = Pretraining("bert")
_LEFT_TO_RIGHT = Pretraining(
  "left_to_right", "left_to_right", config={"use_causal_mask": True}
)


def _objectives():
  names = ("MNLI", "QNLI", "MRPC", "SST-2", "SQuAD")
  return Table(
    "table_5",
    "Pre-training objectives",
    (
      Row("BERT", BERT, _scores(names, 84.4, 88.4, 86.7, 92.7, 88.5)),
      Row(
        "No NSP",
        Pretraining("no_nsp", "roberta"),
        _scores(names, 83.9, 84.9, 86.5, 92.6, 87.9),
      ),
      Row(
        "LTR & No NSP",
        _LEFT_TO_RIGHT,
        _scores(names, 82.1, 84.3, 77.5, 92.1, 77.8),
      ),
      Row(
        "+ BiLSTM",
        _LEFT_TO_RIGHT,
        _scores(names, 82.1, 84.1, 75.7, 91.6, 84.9),
        uses_bilstm=True,
      ),
    ),
  )


def _sizes():
  names = (PERPLEXITY, "MNLI", "MRPC", "SST-2")
  published = {
    (3, 768, 12): (5.84, 77.9, 79.8, 88.4),
    (6, 768, 3): (5.24, 80.6, 82.2, 90.7),
    (6, 768, 12): (4.68, 81.9, 84.8, 91.3),
    (12, 768, 12): (3.99, 84.4, 86.7, 92.9),
    (12, 1024, 16): (3.54, 85.7, 86.9, 93.3),
    (24, 1024, 16): (3.23, 86.6, 87.8, 93.7),
  }
  rows = []
  for size, values in published.items():
    name = "L={}, H={}, A={}".format(*size)
    folder = "bert_{}x{}x{}".format(*size)
    paper = _scores(names, *values)
    rows.append(Row(name, Pretraining(folder, size=size), paper))
  return Table("table_6", "Model size", tuple(rows), has_perplexity=True)


def _features():
  published = {
    "embeddings": ("Embeddings", 91.0),
    "second_to_last": ("Second-to-last hidden", 95.6),
    "last": ("Last hidden", 94.9),
    "weighted_sum_last_four": ("Weighted sum last four hidden", 95.9),
    "concat_last_four": ("Concat last four hidden", 96.1),
    "weighted_sum_all": ("Weighted sum all layers", 95.5),
  }
  rows = [Row("Fine-tuning", BERT, {"NER": 96.4})]
  rows += [
    Row(title, BERT, {"NER": score}, features=name)
    for name, (title, score) in published.items()
  ]
  return Table(
    "table_7", "The feature-based approach", tuple(rows), kinds=("tags",)
  )


def _masks():
  published = {
    (80, 10, 10): (84.2, 95.4, 94.9),
    (100, 0, 0): (84.3, 94.9, 94.0),
    (80, 0, 20): (84.1, 95.2, 94.6),
    (80, 20, 0): (84.4, 95.2, 94.7),
    (0, 20, 80): (83.7, 94.8, 94.6),
    (0, 0, 100): (83.6, 94.9, 94.6),
  }
  rows = []
  for (mask, same, random), scores in published.items():
    flags = {"mask_token_prob": mask / 100, "random_token_prob": random / 100}
    pretraining = Pretraining(f"masks_{mask}_{same}_{random}", flags=flags)
    if (mask, same, random) == (80, 10, 10):
      pretraining = BERT
    paper = _scores(("MNLI", "NER", f"NER, {FEATURES}"), *scores)
    rows.append(
      Row(
        f"{mask} % [MASK], {same} % same, {random} % random", pretraining, paper
      )
    )
  return Table(
    "table_8", "Masking", tuple(rows), approaches=(FINE_TUNING, FEATURES)
  )


def figure_5(steps):
  """Returns scores after `steps` of pre-training, of BERT and left to right."""
  models = {
    "Masked LM": dataclasses.replace(
      BERT, name="figure_5_masked", keeps_all=True
    ),
    "Left-to-right": dataclasses.replace(
      _LEFT_TO_RIGHT, name="figure_5_left_to_right", keeps_all=True
    ),
  }
  return Table(
    "figure_5",
    "Scores after k steps of pre-training",
    tuple(
      Row(f"{name}, {step} steps", model, step=step)
      for name, model in models.items()
      for step in steps
    ),
  )


TABLES = {"5": _objectives, "6": _sizes, "7": _features, "8": _masks}
