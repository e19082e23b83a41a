"""Tables of the papers after BERT's, and GLUE.

The published scores were compared with copies of arXiv's 1907.11692 (RoBERTa,
table 1), 1909.11942v6 (ALBERT, table 5), 1907.10529 (SpanBERT, table 6),
2003.10555 (ELECTRA, table 1) and 1810.04805v2 (BERT, table 1: test sets).
"""

import dataclasses

from etils import epy

from keras_bert_impl.runs.ablation.table_rows import (
  AVERAGE,
  BERT,
  Pretraining,
  Row,
  Table,
  scores,
)

with epy.lazy_imports():
  from keras_bert_impl.runs.ablation import compute

_GLUE = (
  *("MNLI-m", "MNLI-mm", "QQP", "QNLI", "SST-2", "CoLA", "STS-B", "MRPC"),
  *("RTE", AVERAGE),
)


def static_masks():
  """Returns masks drawn once against masks of each step (Liu et al. 2019).

  As in the original, static masks are ten for each text.
  """
  names = ("SQuAD 2.0", "MNLI", "SST-2")
  static = Pretraining(
    "static_masks", records={"masking": "static", "dupe_factor": 10}
  )
  return Table(
    "table_roberta1",
    "Static and dynamic masking",
    (
      Row("static", static, scores(names, 78.3, 84.3, 92.5)),
      Row("dynamic", BERT, scores(names, 78.7, 84.0, 92.9)),
    ),
  )


def sentence_order():
  """Returns sentence losses: none, NSP and SOP, on ALBERT (Lan et al. 2020)."""
  names = ("SQuAD", "SQuAD 2.0", "MNLI", "SST-2")

  def model(name, objective):
    return Pretraining(
      f"albert_{name}",
      objective,
      preset="albert_base_v1",
      flags={"masking_policy": "ngram"},
    )

  return Table(
    "table_albert5",
    "Sentence prediction of ALBERT",
    (
      Row(
        "None", model("none", "roberta"), scores(names, 88.6, 78.1, 81.5, 89.9)
      ),
      Row("NSP", model("nsp", "bert"), scores(names, 88.4, 77.2, 81.6, 91.1)),
      Row("SOP", model("sop", "albert"), scores(names, 89.3, 80.0, 82.0, 90.3)),
    ),
  )


def spans():
  """Returns masking of tokens, whole words and spans (Joshi et al. 2020).

  Their named entities and noun phrases are left out: they need a parser.
  """
  names = ("SQuAD 2.0", "MNLI", "QNLI")

  def model(policy):
    return Pretraining(f"masks_{policy}", flags={"masking_policy": policy})

  return Table(
    "table_spanbert6",
    "Units of masking",
    (
      Row("Subword tokens", BERT, scores(names, 83.8, 86.7, 92.5)),
      Row("Whole words", model("whole_word"), scores(names, 84.3, 86.3, 92.8)),
      Row("Geometric spans", model("span"), scores(names, 85.4, 87.0, 93.3)),
    ),
  )


def replaced_tokens(scale):
  """Returns ELECTRA against a masked language model of as many FLOPs.

  The encoder, the text and its packing are the same; the masked language model
  is trained for more steps. The published scores, of ELECTRA-Small and
  BERT-Small, are averages of GLUE (Clark et al. 2020).
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
  return Table(
    "table_electra1",
    "Replaced tokens and masked tokens at equal compute",
    (
      Row(f"Replaced tokens, {steps} steps", detector, {"GLUE": 79.9}),
      Row(
        f"Masked tokens, {longer} steps (x {ratio:.3f}, equal FLOPs)",
        masked,
        {"GLUE": 75.1},
      ),
    ),
  )


def glue():
  """Returns GLUE with BERT-Base's test scores (Devlin et al. 2019, table 1)."""
  paper = scores(
    _GLUE, 84.6, 83.4, 71.2, 90.5, 93.5, 52.1, 85.8, 88.9, 66.4, 79.6
  )
  return Table("table_glue", "GLUE", (Row("BERT", BERT, paper),), is_glue=True)
