"""The tables by name, and those of the BERT paper: 5 to 8 and figure 5.

Source: Devlin et al. 2019, sections 5.1 to 5.3, appendices C.1 and C.2; the
published scores were compared with copies of arXiv's 1810.04805v2. Those of
later papers are in `later_tables.py`.
"""

import dataclasses

from keras_bert_impl.runs.ablation import later_tables
from keras_bert_impl.runs.ablation.table_rows import (
  BERT,
  FEATURES,
  FINE_TUNING,
  LEFT_TO_RIGHT,
  PERPLEXITY,
  Pretraining,
  Row,
  Table,
  scores,
)


def _objectives():
  names = ("MNLI", "QNLI", "MRPC", "SST-2", "SQuAD")
  return Table(
    "table_5",
    "Pre-training objectives",
    (
      Row("BERT", BERT, scores(names, 84.4, 88.4, 86.7, 92.7, 88.5)),
      Row(
        "No NSP",
        Pretraining("no_nsp", "roberta"),
        scores(names, 83.9, 84.9, 86.5, 92.6, 87.9),
      ),
      Row(
        "LTR & No NSP",
        LEFT_TO_RIGHT,
        scores(names, 82.1, 84.3, 77.5, 92.1, 77.8),
      ),
      Row(
        "+ BiLSTM",
        LEFT_TO_RIGHT,
        scores(names, 82.1, 84.1, 75.7, 91.6, 84.9),
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
    paper = scores(names, *values)
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
  for (mask, same, random), values in published.items():
    flags = {"mask_token_prob": mask / 100, "random_token_prob": random / 100}
    pretraining = Pretraining(f"masks_{mask}_{same}_{random}", flags=flags)
    if (mask, same, random) == (80, 10, 10):
      pretraining = BERT
    paper = scores(("MNLI", "NER", f"NER, {FEATURES}"), *values)
    rows.append(
      Row(
        f"{mask} % [MASK], {same} % same, {random} % random", pretraining, paper
      )
    )
  return Table(
    "table_8", "Masking", tuple(rows), approaches=(FINE_TUNING, FEATURES)
  )


def _figure_5(scale):
  """Returns scores after k steps of pre-training, of BERT and left to right."""
  models = {
    "Masked LM": dataclasses.replace(
      BERT, name="figure_5_masked", keeps_all=True
    ),
    "Left-to-right": dataclasses.replace(
      LEFT_TO_RIGHT, name="figure_5_left_to_right", keeps_all=True
    ),
  }
  return Table(
    "figure_5",
    "Scores after k steps of pre-training",
    tuple(
      Row(f"{name}, {step} steps", model, step=step)
      for name, model in models.items()
      for step in scale.checkpoint_steps
    ),
  )


def _at_all_scales(table):
  return lambda scale: table


# {name: callable, `scales.Scale` -> `Table`}
TABLES = {
  "5": _at_all_scales(_objectives()),
  "6": _at_all_scales(_sizes()),
  "7": _at_all_scales(_features()),
  "8": _at_all_scales(_masks()),
  "roberta1": _at_all_scales(later_tables.static_masks()),
  "albert5": _at_all_scales(later_tables.sentence_order()),
  "spanbert6": _at_all_scales(later_tables.spans()),
  "electra1": later_tables.replaced_tokens,
  "glue": _at_all_scales(later_tables.glue()),
}
FIGURES = {"5": _figure_5}
