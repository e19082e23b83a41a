"""Facts of data and answers for report.html, kept in report.json.

The page is made of the files in the folder of a run, so that a later command
that knows only a part of the data (new texts to predict) loses nothing of it.
"""

import os

import numpy as np

from keras_bert_impl.reports import length_facts, report_page
from keras_bert_impl.training import run_results

NAME = "report.json"
DATA = "data"
ANSWERS = "answers"
_TYPES = {DATA: dict, ANSWERS: dict}

_NUM_WRONG = 20
_NUM_RIGHT = 5
# Characters of a text; files of a split.
_LONGEST_TEXT = 2000
_MOST_FILES = 10


def read(folder):
  """Returns {"data": {split: dict}, "answers": {split: dict}} of a folder.

  Args:
    folder: str.
  """
  found = run_results.read_json(os.path.join(folder, NAME), types=_TYPES) or {}
  return {DATA: {}, ANSWERS: {}} | found


def keep(folder, kind, values):
  """Adds to report.json, over what was there of the same splits.

  Args:
    folder: `RunFolder`.
    kind: `DATA` or `ANSWERS`.
    values: {split: {name: JSON value}}.

  Returns:
    The whole content, as `read` returns it.
  """
  content = read(folder.path)
  for split, new in values.items():
    content[kind][split] = content[kind].get(split, {}) | new
  folder.write_json(NAME, content)
  return content


def of_answers(preprocessor, examples, judgement, figure):
  """Returns the facts of the answers to a split, a JSON object.

  Args:
    preprocessor: `Preprocessor`, which knows the texts.
    examples: list of N examples.
    judgement: `Judgement` of the answers to them, or None.
    figure: of `Evaluator.plot`, or None.
  """
  shown = {"picture": figure and report_page.svg(figure, "Scores")}
  if judgement is None:
    return shown
  texts = judgement.texts or [*map(preprocessor.texts, examples)]
  is_right = np.asarray(judgement.is_right, bool)
  certainty = np.asarray(judgement.certainty, np.float64)
  order = np.argsort(-certainty, kind="stable")
  wrong = order[~is_right[order]][:_NUM_WRONG]
  right = np.flatnonzero(is_right)
  few = np.linspace(0, max(len(right) - 1, 0), min(_NUM_RIGHT, len(right)))
  right = right[few.astype(int)]  # From all parts of the file.

  def entry(index):
    return {
      "texts": [*map(_cut, texts[index])],
      "gold": _cut(judgement.gold[index]),
      "found": _cut(judgement.found[index]),
      "certainty": float(certainty[index]),
    }

  return shown | {
    "measure": judgement.measure,
    "num_wrong": int(np.sum(~is_right)),
    "num_examples": len(texts),
    "wrong": [*map(entry, wrong)],
    "right": [*map(entry, right)],
  }


def cards(data, evaluator):
  """Returns {split: JSON object}, facts of the splits whose rows were read.

  They are counted once for all runs of a search.

  Args:
    data: `fine_tuning_data.Data`.
    evaluator: `Evaluator`.
  """
  new = [split for split in data.counts if split not in data.cards]
  trained_on = set()
  if not set(new) <= set(data.stages):
    trained_on = {x for split in data.stages for x in _texts(data, split)}
  for split in new:
    data.cards[split] = _card(data, evaluator, split, trained_on)
  return {split: data.cards[split] for split in data.counts}


def _card(data, evaluator, split, trained_on):
  """Returns the facts of a split.

  Args:
    data: `fine_tuning_data.Data`.
    evaluator: `Evaluator`.
    split: str.
    trained_on: set of the texts of the training examples, tuples of str.
  """
  examples = data.examples(split)
  files = dict.fromkeys(x.origin.rpartition(":")[0] for x in examples)
  card = {
    "files": [*filter(None, files)][:_MOST_FILES],
    "counts": data.counts[split],
    "lengths": length_facts.summary(
      data.rows(split).lengths, data.preprocessor.longest_row
    ),
  }
  if data.is_labelled(split):
    card["labels"] = evaluator.label_counts(examples)
  if data.stages and split not in data.stages:
    card["also_trained_on"] = sum(x in trained_on for x in _texts(data, split))
  return card


def _texts(data, split):
  """Yields the texts of each example, tuples of str."""
  return map(tuple, map(data.preprocessor.texts, data.examples(split)))


def _cut(text):
  is_long = len(text) > _LONGEST_TEXT
  return text[:_LONGEST_TEXT] + "..." if is_long else text
