"""Questions, their rows, and outputs that are sure of the answers."""

import numpy as np

from keras_bert_impl.kinds.answers import question_rows
from keras_bert_impl.tasks.basics import example_types

TOKENS = [
  *"in 1871 ( ) , . ? the normans were from norway where when did come".split(),
  *"abcdefghijklmnopqrstuvwxyz",
  *(f"##{c}" for c in "abcdefghijklmnopqrstuvwxyz"),
]
CONTEXT = "The Normans  were (in 1871), from\nNorway."


def example(text="1871", start=22, number=1, context=CONTEXT, **values):
  values = {
    "id": f"q{number}",
    "question": "when did the normans come ?",
    "context": context,
    "answers": ((text, start),),
    "origin": f"file: data[{number}]",
    **values,
  }
  return example_types.QuestionExample(**values)


def preprocessor(max_seq_length=32, max_query_length=8, **options):
  return question_rows.QuestionPreprocessor(
    max_seq_length, max_query_length=max_query_length, **options
  )


def pointing(rows, height=5.0):
  """Returns outputs that are sure of the labels."""
  outputs = {"start_logits": [], "end_logits": []}
  for row in rows:
    for side in ("start", "end"):
      logits = np.zeros(len(row["input_ids"]), np.float32)
      if row["answer_weights"]:
        logits[row[f"{side}_positions"]] = height
      outputs[f"{side}_logits"].append(logits)
  return outputs
