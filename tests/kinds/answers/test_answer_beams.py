"""From the beams of starts and ends to answers, by hand."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl.kinds.answers import answer_beams, answers

CONTEXT = "Norman Conquest of England"
# [CLS] at the end, two pieces of a question before the four words.
STARTS = np.array([-1, -1, -1, 0, 7, 16, 19, -1, -1])
ENDS = np.array([-1, -1, -1, 6, 15, 18, 26, -1, -1])


def outputs(starts, ends, cls=-2.0):
  """Those of a row, from {place: probability} and {start: the same of ends}."""
  number = len(next(iter(ends.values())))
  of_ends = [list(ends[start].items()) for start in starts]
  order = [pairs[j] for j in range(number) for pairs in of_ends]
  return {
    "start_top_index": np.array([list(starts)], np.int32),
    "start_top_log_probs": np.array([list(starts.values())], np.float32),
    "end_top_index": np.array([[i for i, _ in order]], np.int32),
    "end_top_log_probs": np.array([[p for _, p in order]], np.float32),
    "cls_logits": np.array([cls], np.float32),
  }


def answer(found, index=(0,), max_context=None, **config):
  """Returns the answer to a question on CONTEXT."""
  rows = len(index)
  windows = answers.Windows(
    np.array(index),
    [STARTS] * rows,
    [ENDS] * rows,
    max_context or [np.ones_like(STARTS)] * rows,
    start_logits=None,
    end_logits=None,
    cls_positions=None,
  )
  config = answers.SpanConfig(**config)
  [answer] = answer_beams.find([CONTEXT], windows, found, config)
  return answer


BEAM = outputs(
  {4: 0.5, 3: 0.3, 8: 0.2},
  {4: {6: 0.4, 4: 0.35}, 3: {6: 0.9, 2: 0.1}, 8: {8: 0.9, 3: 0.1}},
)


def test_an_answer_is_the_likeliest_pair_of_a_start_and_its_end():
  found = answer(BEAM)
  # 0.3 * 0.9 > 0.5 * 0.4 > 0.5 * 0.35; the others are no spans.
  assert [c.text for c in found.candidates] == [
    "Norman Conquest of England",
    "Conquest of England",
    "Conquest",
  ]
  scores = np.exp([c.score for c in found.candidates])
  np.testing.assert_allclose(scores, [0.27, 0.2, 0.175], rtol=1e-6)
  assert found.null_odds == 0.0


def test_a_span_is_no_longer_than_it_may_be_and_begins_where_it_may():
  found = answer(BEAM, max_answer_length=3)
  assert found.text == "Conquest of England"
  elsewhere = np.ones_like(STARTS)
  elsewhere[3] = 0  # Another window gives this piece more context.
  found = answer(BEAM, max_context=[elsewhere])
  assert found.text == "Conquest of England"


def test_the_odds_of_none_are_those_of_its_least_likely_window():
  both = {name: np.concatenate([x, x]) for name, x in BEAM.items()}
  both["cls_logits"] = np.array([1.0, -2.0], np.float32)
  found = answer(both, index=(0, 0), has_null=True)
  assert found.text == "Norman Conquest of England"
  assert found.null_odds == pytest.approx(-2.0 - np.log(0.27))
  assert "" in [c.text for c in found.candidates]


def test_without_a_span_there_is_no_answer():
  found = answer(outputs({8: 1.0}, {8: {8: 1.0}}, 3.0), has_null=True)
  assert found.text == "" and found.null_odds == 3.0


def test_a_probability_of_zero_is_no_span():
  beam = outputs({3: 1.0, 4: 0.0}, {3: {3: 1.0}, 4: {4: 1.0}})
  spans = answer_beams.spans(
    tf.constant(STARTS[None]), tf.constant(ENDS[None]), beam, 30
  )
  assert spans.is_span.numpy().tolist() == [[True, False]]
