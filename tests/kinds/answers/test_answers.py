"""From logits to answers, by hand and against every span one by one."""

import random

import numpy as np
import pytest

from keras_bert_impl.kinds.answers import answers

#           0         1
#           0123456789012345678
CONTEXT = " Norman Conquest of England"
WORDS = [(1, 7), (8, 16), (17, 19), (20, 27)]


def _window(start_logits, end_logits, words, max_context=None, index=0):
  """A row of [CLS], two pieces of a question and `words`, and [SEP]."""
  outside = [-1, -1, -1]
  return {
    "example_index": index,
    "starts": np.array([*outside, *(s for s, _ in words), -1]),
    "ends": np.array([*outside, *(e for _, e in words), -1]),
    "is_max_context": np.array(
      [0, 0, 0, *(max_context or [1] * len(words)), 0]
    ),
    "start_logits": np.array(start_logits, np.float32),
    "end_logits": np.array(end_logits, np.float32),
  }


def _windows(*rows):
  columns = {name: [row[name] for row in rows] for name in rows[0]}
  columns["example_index"] = np.array(columns["example_index"])
  columns["cls_positions"] = np.zeros(len(rows), int)
  return answers.Windows(**columns)


def _find(*rows, contexts=(CONTEXT,), **config):
  return answers.find(contexts, _windows(*rows), answers.SpanConfig(**config))


def test_the_answer_is_cut_from_the_original_characters():
  row = _window([0, 9, 9, 1, 5, 0, 0, 9], [0, 9, 9, 0, 1, 0, 4, 9], WORDS)
  [answer] = _find(row, n_best_size=3)
  assert answer.text == "Conquest of England"
  assert [c.text for c in answer.candidates] == [
    "Conquest of England",
    "Conquest",
    # Both score 5: the one that begins first.
    "Norman Conquest of England",
  ]
  assert answer.candidates[0].score == 9.0
  np.testing.assert_allclose(
    answer.probabilities, np.exp([0, -3, -4]) / np.exp([0, -3, -4]).sum()
  )
  assert answer.null_odds == 0.0


def test_a_span_begins_where_it_has_most_context():
  first = _window(
    [0, 0, 0, 0, 9, 0], [0, 0, 0, 0, 9, 0], WORDS[:2], max_context=[1, 0]
  )
  second = _window([0, 0, 0, 1, 2, 0], [0, 0, 0, 1, 2, 0], WORDS[1:3])
  assert _find(first, second)[0].text == "Norman Conquest"
  first["start_logits"][3] = -9
  assert _find(first, second)[0].text == "of"


def test_no_answer_scores_what_it_does_in_its_worst_window():
  first = _window([3, 0, 0, 2, 0, 0], [3, 0, 0, 1, 0, 0], WORDS[:2])
  second = _window([1, 0, 0, 1, 1, 0], [0.5, 0, 0, 1, 0, 0], WORDS[2:])
  [answer] = _find(first, second, has_null=True)
  assert answer.text == "Norman"
  assert answer.null_odds == 1.5 - 3.0
  texts = [candidate.text for candidate in answer.candidates]
  assert texts[0] == "Norman"
  assert texts.count("") == 1
  # However bad, it is among the best.
  [answer] = _find(first, second, has_null=True, n_best_size=1)
  assert [c.text for c in answer.candidates] == ["Norman", ""]


def test_the_same_text_is_an_answer_once():
  context = "yes and yes"
  row = _window(
    [0, 0, 0, 5, 0, 4, 0],
    [0, 0, 0, 5, 0, 4, 0],
    [(0, 3), (4, 7), (8, 11)],
  )
  [answer] = _find(row, contexts=[context], n_best_size=2)
  assert [c.text for c in answer.candidates] == ["yes", "yes and yes"]
  assert answer.candidates[0].score == 10.0


def test_a_context_without_pieces_has_no_answer():
  row = _window([2, 0, 0, 0], [1, 0, 0, 0], [])
  [answer] = _find(row, contexts=[" "])
  assert answer.text == ""
  assert [c.text for c in answer.candidates] == [""]
  [answer] = _find(row, contexts=[" "], has_null=True)
  assert (answer.text, answer.null_odds) == ("", 3.0)


def test_questions_do_not_mix():
  rows = [
    _window([0, 0, 0, i == 0, i == 1, 0], [0] * 6, WORDS[:2], index=i)
    for i in range(2)
  ]
  found = _find(*rows, contexts=[CONTEXT, CONTEXT], max_answer_length=1)
  assert [answer.text for answer in found] == ["Norman", "Conquest"]


@pytest.mark.parametrize("seed", range(2))
def test_the_best_spans_are_those_of_an_exhaustive_search(seed):
  rng = random.Random(seed)
  size = 60
  words = [(3 * i, 3 * i + 2) for i in range(size)]
  context = "".join(f"{i:02} " for i in range(size))
  logits = [[rng.gauss(0, 3) for _ in range(size + 4)] for _ in range(2)]
  max_context = [rng.randrange(2) for _ in range(size)]
  row = _window(*logits, words, max_context)
  [answer] = _find(row, contexts=[context], n_best_size=20, max_answer_length=7)
  starts, ends = (
    row[n].astype(float)[3:-1] for n in ("start_logits", "end_logits")
  )
  expected = sorted(
    (
      (starts[i] + ends[j], context[3 * i : 3 * j + 2])
      for i in range(size)
      for j in range(i, min(i + 7, size))
      if max_context[i]
    ),
    reverse=True,
  )[:20]
  found = [(c.score, c.text) for c in answer.candidates]
  assert [text for _, text in found] == [text for _, text in expected]
  np.testing.assert_allclose(
    [score for score, _ in found], [score for score, _ in expected]
  )
