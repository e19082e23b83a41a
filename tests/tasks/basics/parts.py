"""What the tests of fine-tuning tasks have in common."""

import collections

import numpy as np

from keras_bert_impl import configs
from keras_bert_impl.tasks.basics import pictures

CONFIG = configs.EncoderConfig(
  vocab_size=400,
  hidden_size=8,
  num_hidden_layers=1,
  num_attention_heads=2,
  intermediate_size=16,
  max_position_embeddings=64,
)


def make_rows(preprocessor, examples, tokenizer):
  """Returns (rows as a list, counts)."""
  counts = collections.Counter()
  return list(preprocessor.make_rows(examples, tokenizer, counts)), counts


def by_column(preprocessor, rows):
  """Returns rows as an `Evaluator` gets them."""
  return {
    name: [row[name] for row in rows]
    if column.shape
    else np.array([row[name] for row in rows])
    for name, column in preprocessor.columns.items()
  }


def score(evaluator, examples, rows, outputs):
  """Returns the scores of outputs."""
  return evaluator.score(examples, evaluator.answers(examples, rows, outputs))


def write(evaluator, examples, rows, outputs, folder, scores=None):
  """Writes the files of outputs; returns their paths.

  Args:
    scores: {metric: float}; those of the examples if it is None.
  """
  answers = evaluator.answers(examples, rows, outputs)
  if scores is None:
    scores = evaluator.score(examples, answers)
  return evaluator.write(examples, answers, scores, str(folder))


def judge(evaluator, examples, rows, outputs, folder=None):
  """Returns (scores, intervals, judgement) of outputs, and draws the scores.

  Args:
    folder: where to; None where there is nothing to draw.
  """
  answers = evaluator.answers(examples, rows, outputs)
  scores = evaluator.score(examples, answers)
  figure = evaluator.plot(examples, answers, scores)
  assert (figure is None) == (folder is None)
  if figure:
    path = folder / "new" / "scores.png"
    pictures.save(figure, path)
    assert path.read_bytes().startswith(b"\x89PNG")
  return (
    scores,
    evaluator.intervals(examples, answers, scores),
    evaluator.judge(examples, rows, outputs, answers, scores),
  )
