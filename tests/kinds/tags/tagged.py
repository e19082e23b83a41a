"""Tagged sentences, their rows, and outputs without a mistake."""

import collections

import numpy as np

from keras_bert_impl.kinds.tags import tag_rows
from keras_bert_impl.metrics import tagging
from keras_bert_impl.tasks.basics import example_types

LABELS = ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")


def sentence(text, tags=None, document=None):
  return example_types.TaggedSentence(
    tuple(text.split()), tags and tuple(tags.split()), document, "file:1"
  )


def preprocessor(max_seq_length=16, labels=LABELS, **options):
  return tag_rows.TagPreprocessor(max_seq_length, labels, **options)


def make_rows(task, examples, tokenizer):
  """Returns (rows as an `Evaluator` gets them, counts)."""
  counts = collections.Counter()
  rows = list(task.make_rows(examples, tokenizer, counts))
  for row in rows:
    assert set(row) == set(task.columns)
    lengths = {len(x) for name, x in row.items() if name != "example_index"}
    assert len(lengths) == 1 and max(lengths) <= task.max_seq_length
  return {name: [row[name] for row in rows] for name in task.columns}, counts


def gold_outputs(task, examples, rows):
  """Returns the logits of a model that makes no mistake where it is asked."""
  logits = []
  for index, example in zip(rows["token_index"], rows["example_index"]):
    scheme = "none" if task.tag_scheme == "none" else "IOB2"
    tags = tagging.convert(examples[example].tags, scheme)
    wrong = np.full((len(index), len(task.labels)), 0.0, "float32")
    for place, token in enumerate(index):
      # Elsewhere it says what nobody may listen to.
      tag = tags[token] if token >= 0 else task.labels[-1]
      wrong[place, task.labels.index(tag)] = 1.0
    logits.append(wrong)
  return {"logits": logits}
