"""The tables by name, and figure 5 of the BERT paper.

Sources, with whose copies on arXiv the published scores were compared: BERT,
1810.04805v2 (Devlin et al. 2019, sections 5.1 to 5.3, appendices C.1 and C.2;
table 1 for GLUE's test sets); RoBERTa, 1907.11692 (table 1); ALBERT,
1909.11942v6 (table 5); SpanBERT, 1907.10529 (table 6); ELECTRA, 2003.10555
(table 1).
"""

import dataclasses

from etils import epy

from keras_bert_impl.ablation.table_rows import (
  AVERAGE,
  BERT,
  FEATURES,
  FINE_TUNING,
  LEFT_TO_RIGHT,
  PERPLEXITY,
  Pretraining,
  Row,
  Table,
)

with epy.lazy_imports():
  from keras_bert_impl.ablation import compute


def _table(name, title, columns, rows, **options):
  """Returns a `Table`.

  Args:
    name: str.
    title: str.
    columns: tuple of str, those that have published scores.
    rows: iterable of (name, `Pretraining`, published scores or ()) and, if need
      be, {other field of `Row`: value}.
    **options: other fields of `Table`.
  """
  made = [
    Row(
      row,
      model,
      dict(zip(columns, scores, strict=True)) if scores else {},
      **dict(*more),
    )
    for row, model, scores, *more in rows
  ]
  return Table(f"table_{name}", title, tuple(made), **options)


def _of_size(layers, hidden, heads):
  """Returns the name and the `Pretraining` of a size, for table 6."""
  size = layers, hidden, heads
  model = Pretraining("bert_{}x{}x{}".format(*size), size=size)
  return "L={}, H={}, A={}".format(*size), model


def _masks(scale):
  """Returns table 8 at a scale, whose BERT may have masks of its own."""

  def row(mask, same, random, scores):
    flags = {"mask_token_prob": mask / 100, "random_token_prob": random / 100}
    model = Pretraining(f"masks_{mask}_{same}_{random}", flags=flags)
    if (mask, same, random) == (80, 10, 10) and not scale.masks:
      model = BERT
    return f"{mask} % [MASK], {same} % same, {random} % random", model, scores

  return _table(
    "8",
    "Masking",
    ("MNLI", "NER", f"NER, {FEATURES}"),
    (
      row(80, 10, 10, (84.2, 95.4, 94.9)),
      row(100, 0, 0, (84.3, 94.9, 94.0)),
      row(80, 0, 20, (84.1, 95.2, 94.6)),
      row(80, 20, 0, (84.4, 95.2, 94.7)),
      row(0, 20, 80, (83.7, 94.8, 94.6)),
      row(0, 0, 100, (83.6, 94.9, 94.6)),
    ),
    approaches=(FINE_TUNING, FEATURES),
  )


def _of_policy(policy):
  return Pretraining(f"masks_{policy}", flags={"masking_policy": policy})


def _albert(name, objective):
  return Pretraining(
    f"albert_{name}",
    objective,
    preset="albert_base_v1",
    flags={"masking_policy": "ngram"},
  )


# Static masks are ten for each text, as in the original.
_STATIC = Pretraining(
  "static_masks", records={"masking": "static", "dupe_factor": 10}
)
_GLUE = (
  *("MNLI-m", "MNLI-mm", "QQP", "QNLI", "SST-2", "CoLA", "STS-B", "MRPC"),
  *("RTE", AVERAGE),
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


def _replaced_tokens(scale):
  """Returns ELECTRA against a masked language model of as many FLOPs.

  The encoder, the text and its packing are the same; the masked language model
  is trained for more steps. The published scores, of ELECTRA-Small and
  BERT-Small, are averages of GLUE.
  """
  detector = Pretraining(
    "replaced_tokens",
    "electra",
    preset="electra_base",
    records={"packing": "doc_sentences"},
  )
  steps = scale.pretraining["num_train_steps"]
  ratio = compute.electra_ratio(
    scale.encoder_config(detector),
    scale.max_seq_length,
    scale.records["max_predictions_per_seq"],
  )
  longer = round(steps * ratio)
  masked = dataclasses.replace(
    detector,
    name="masked_tokens_of_equal_compute",
    objective="roberta",
    flags={"num_train_steps": longer},
  )
  equal = f"Masked tokens, {longer} steps (x {ratio:.3f}, equal FLOPs)"
  return _table(
    "electra1",
    "Replaced tokens and masked tokens at equal compute",
    ("GLUE",),
    (
      (f"Replaced tokens, {steps} steps", detector, (79.9,)),
      (equal, masked, (75.1,)),
    ),
  )


# {name: `Table`, or callable: `scales.Scale` -> `Table`}
TABLES = {
  "5": _table(
    "5",
    "Pre-training objectives",
    ("MNLI", "QNLI", "MRPC", "SST-2", "SQuAD"),
    (
      ("BERT", BERT, (84.4, 88.4, 86.7, 92.7, 88.5)),
      (
        "No NSP",
        Pretraining("no_nsp", "roberta"),
        (83.9, 84.9, 86.5, 92.6, 87.9),
      ),
      ("LTR & No NSP", LEFT_TO_RIGHT, (82.1, 84.3, 77.5, 92.1, 77.8)),
      (
        "+ BiLSTM",
        LEFT_TO_RIGHT,
        (82.1, 84.1, 75.7, 91.6, 84.9),
        {"uses_bilstm": True},
      ),
      # The paper speaks of it without a score.
      (
        "LTR + RTL",
        dataclasses.replace(
          LEFT_TO_RIGHT,
          name="both_directions",
          objective="bidirectional_pair",
          config={"use_causal_mask": True, "causal_direction": "both"},
        ),
        (),
      ),
    ),
  ),
  "6": _table(
    "6",
    "Model size",
    (PERPLEXITY, "MNLI", "MRPC", "SST-2"),
    (
      (*_of_size(3, 768, 12), (5.84, 77.9, 79.8, 88.4)),
      (*_of_size(6, 768, 3), (5.24, 80.6, 82.2, 90.7)),
      (*_of_size(6, 768, 12), (4.68, 81.9, 84.8, 91.3)),
      (*_of_size(12, 768, 12), (3.99, 84.4, 86.7, 92.9)),
      (*_of_size(12, 1024, 16), (3.54, 85.7, 86.9, 93.3)),
      (*_of_size(24, 1024, 16), (3.23, 86.6, 87.8, 93.7)),
    ),
    has_perplexity=True,
  ),
  "7": _table(
    "7",
    "The feature-based approach",
    ("NER",),
    (
      (name, BERT, (score,), {"features": features})
      for name, score, features in (
        ("Fine-tuning", 96.4, None),
        ("Embeddings", 91.0, "embeddings"),
        ("Second-to-last hidden", 95.6, "second_to_last"),
        ("Last hidden", 94.9, "last"),
        ("Weighted sum last four hidden", 95.9, "weighted_sum_last_four"),
        ("Concat last four hidden", 96.1, "concat_last_four"),
        ("Weighted sum all layers", 95.5, "weighted_sum_all"),
      )
    ),
    kinds=("tags",),
  ),
  "8": _masks,
  "roberta1": _table(
    "roberta1",
    "Static and dynamic masking",
    ("SQuAD 2.0", "MNLI", "SST-2"),
    (
      ("static", _STATIC, (78.3, 84.3, 92.5)),
      ("dynamic", BERT, (78.7, 84.0, 92.9)),
    ),
  ),
  "albert5": _table(
    "albert5",
    "Sentence prediction of ALBERT",
    ("SQuAD", "SQuAD 2.0", "MNLI", "SST-2"),
    (
      ("None", _albert("none", "roberta"), (88.6, 78.1, 81.5, 89.9)),
      ("NSP", _albert("nsp", "bert"), (88.4, 77.2, 81.6, 91.1)),
      ("SOP", _albert("sop", "albert"), (89.3, 80.0, 82.0, 90.3)),
    ),
  ),
  # Named entities and noun phrases are left out: they need a parser.
  "spanbert6": _table(
    "spanbert6",
    "Units of masking",
    ("SQuAD 2.0", "MNLI", "QNLI"),
    (
      ("Subword tokens", BERT, (83.8, 86.7, 92.5)),
      ("Whole words", _of_policy("whole_word"), (84.3, 86.3, 92.8)),
      ("Geometric spans", _of_policy("span"), (85.4, 87.0, 93.3)),
    ),
  ),
  "electra1": _replaced_tokens,
  "glue": _table(
    "glue",
    "GLUE",
    _GLUE,
    (
      (
        "BERT",
        BERT,
        (84.6, 83.4, 71.2, 90.5, 93.5, 52.1, 85.8, 88.9, 66.4, 79.6),
      ),
    ),
    is_glue=True,
  ),
}
FIGURES = {"5": _figure_5}


def find(table, figure, scale):
  """Returns the `Table` of a name at a scale.

  Args:
    table: str, of `TABLES`; None for a figure.
    figure: str, of `FIGURES`.
    scale: `scales.Scale`.
  """
  found = TABLES[table] if table else FIGURES[figure]
  return found(scale) if callable(found) else found
