"""Answers from raw text against those of the fine-tuning task."""

import collections
import random
import unicodedata

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import models
from keras_bert_impl.kinds.answers import answer_servable, answers
from keras_bert_impl.kinds.answers import question_rows as rows_lib
from keras_bert_impl.tasks.basics import example_types
from tests import slow
from tests.serving import toy
from tests.tokenizers import vocabularies

ROW = {"max_seq_length": 32, "doc_stride": 7, "max_query_length": 8}
# No pruning: the reference is to see all spans.
ALL = 100_000
TEXTS = (
  *vocabularies.SENTENCES,
  "고양이가 매트 위에 앉았다.",
  unicodedata.normalize("NFD", "한국어 고양이, café"),
  "😀 the 😀😀 cat \U0001f9d1\u200d\U0001f680 sat",
  "a [SEP] b </s> [CLS] [MASK]",
  " \n\t\u3000 ",
  "the\u00a0\u2003 cat\r\n\x1c sat  \t",
)


def make(tokenizer, **options):
  """Returns a servable of a tiny model that answers at random."""
  config = toy.config(tokenizer, max_position_embeddings=64)
  return answer_servable.QuestionAnsweringServable(
    models.QuestionAnswering(config), tokenizer, **(ROW | options)
  )


@pytest.fixture(
  scope="module",
  params=slow.all_but(["wordpiece"], toy.KINDS, mark=pytest.mark.integration),
)
def servable(request, tokenizer_of):
  return make(tokenizer_of(request.param), max_answer_length=12)


@pytest.fixture(scope="module")
def wordpiece(tokenizer_of):
  return make(tokenizer_of("wordpiece"))


def ask(servable, questions, contexts):
  """Returns {output: list} of str or bytes."""
  answer = servable.answer(
    tf.constant(questions, tf.string), tf.constant(contexts, tf.string)
  )
  return {name: value.numpy().tolist() for name, value in answer.items()}


def model_outputs(servable, rows):
  """Returns {output: list of arrays [n, ...]} of the task's rows."""
  inputs = [
    tf.ragged.constant([row[name] for row in rows], dtype=tf.int32)
    for name in ("input_ids", "segment_ids")
  ]
  mask = tf.ones_like(inputs[0]).to_tensor()
  outputs = servable.answer_ids(
    inputs[0].to_tensor(), mask, inputs[1].to_tensor()
  )
  return {
    name: [row[: len(ids)] for row, ids in zip(values.numpy(), inputs[0])]
    for name, values in outputs.items()
  }


def expected(servable, questions, contexts):
  """Returns what the task's code says with the servable's model."""
  preprocessor = rows_lib.QuestionPreprocessor(
    version_2_with_negative=True, **ROW
  )
  examples = [
    example_types.QuestionExample(str(index), question, context)
    for index, (question, context) in enumerate(zip(questions, contexts))
  ]
  counts = collections.Counter()
  rows = list(preprocessor.make_rows(examples, servable.tokenizer, counts))
  columns = {
    name: [row[name] for row in rows]
    for name in (rows_lib.PIECE_STARTS, rows_lib.PIECE_ENDS, "is_max_context")
  }
  logits = model_outputs(servable, rows)
  windows = answers.Windows(
    np.array([row["example_index"] for row in rows]),
    *columns.values(),
    logits["start_logits"],
    logits["end_logits"],
    np.array([row["cls_positions"] for row in rows]),
  )
  config = answers.SpanConfig(ALL, servable.max_answer_length, True)
  assert counts["questions with several windows"] > len(contexts) / 4
  return answers.find(contexts, windows, config)


def test_answers_are_those_of_the_task(servable):
  rng = random.Random(0)
  contexts = [" ".join(rng.sample(TEXTS, 4)) for _ in range(8)] + list(TEXTS)
  questions = rng.choices(TEXTS, k=len(contexts))
  found = ask(servable, questions, contexts)
  wanted = expected(servable, questions, contexts)
  assert found["answer"] == [answer.text.encode() for answer in wanted]
  assert len(set(found["answer"])) > 9
  for index, answer in enumerate(wanted):
    start, end = found["start"][index], found["end"][index]
    if answer.text:
      assert contexts[index][start:end] == answer.text
    else:
      assert (start, end, found["score"][index]) == (-1, -1, 0.0)
    odds = found["null_score"][index] - found["score"][index]
    np.testing.assert_allclose(odds, answer.null_odds, atol=1e-4)
  assert not any(found["is_cut"])


def test_nothing_has_no_answer(wordpiece):
  found = ask(wordpiece, ["", "the cat", ""], ["", " \n ", "the cat"])
  assert found["answer"][:2] == [b"", b""]
  assert found["start"][:2] == found["end"][:2] == [-1, -1]
  assert found["score"][:2] == [0.0, 0.0]
  assert found["answer"][2] != b""
  assert np.isfinite(found["null_score"]).all()


def test_bytes_that_are_no_utf8_do_not_count(wordpiece):
  broken = [b"\xff\xe4the ca\xf0\x9ft \xed\xa0\x80sat"]
  whole = [b"the cat sat"]
  assert ask(wordpiece, broken, broken) == ask(wordpiece, whole, whole)


def test_the_null_threshold_decides(tokenizer_of, wordpiece):
  questions, contexts = ["the cat"] * len(TEXTS), list(TEXTS)
  always = ask(wordpiece, questions, contexts)
  odds = np.subtract(always["null_score"], always["score"])
  threshold = float(np.median(odds))
  stern = make(
    tokenizer_of("wordpiece"), null_score_diff_threshold=threshold + 1e-5
  )
  stern.load_model = wordpiece.load_model
  found = ask(stern, questions, contexts)
  is_null = odds > threshold + 1e-5
  assert 0 < is_null.sum() < len(TEXTS)
  for name, nothing in (("answer", b""), ("start", -1), ("end", -1)):
    assert found[name] == np.where(is_null, nothing, always[name]).tolist()
  # The scores stay, for clients that decide themselves.
  assert found["score"] == always["score"]
  assert found["null_score"] == always["null_score"]


def play(servable, start_logits, end_logits):
  """Makes the model say the same at every piece of a row, by its id."""

  def model(inputs):
    return {
      "start_logits": tf.gather(start_logits, inputs["input_ids"]),
      "end_logits": tf.gather(end_logits, inputs["input_ids"]),
    }

  servable.load_model = lambda: model


def test_of_equal_spans_the_first_and_shortest_is_the_answer(tokenizer_of):
  servable = make(tokenizer_of("wordpiece"))
  ids = servable.tokenizer.vocabulary.ids
  zeros = np.zeros(len(ids), np.float32)
  play(servable, zeros, zeros)
  found = ask(servable, ["b"], ["the cat " * 40])
  assert (found["answer"], found["end"]) == ([b"the"], [3])
  ends = zeros.copy()
  ends[ids["world"]] = 1.0
  play(servable, zeros, ends)
  found = ask(servable, ["b"], ["play hello world world " * 40])
  assert (found["answer"], found["score"]) == ([b"play hello world"], [1.0])


def test_an_answer_has_no_more_pieces_than_it_may(tokenizer_of):
  servable = make(tokenizer_of("wordpiece"), max_answer_length=2)
  ids = servable.tokenizer.vocabulary.ids
  starts, ends = np.zeros((2, len(ids)), np.float32)
  starts[ids["play"]] = 3.0
  ends[ids["cls"]], ends[ids["world"]] = 5.0, 4.0
  play(servable, starts, ends)
  found = ask(servable, ["b"], ["Play world cls cls"])
  assert (found["answer"], found["score"]) == ([b"Play world"], [7.0])


def test_what_is_beyond_the_windows_is_not_read(tokenizer_of):
  servable = make(tokenizer_of("wordpiece"), max_windows=2)
  ids = servable.tokenizer.vocabulary.ids
  logits = np.zeros(len(ids), np.float32)
  logits[ids["mask"]] = 9.0
  play(servable, logits, logits)
  # A window has 32 - 4 pieces here, the next begins 7 further on.
  found = ask(servable, ["b"] * 3, ["the " * n + "mask" for n in (34, 35, 27)])
  assert found["is_cut"] == [False, True, False]
  assert found["answer"] == [b"mask", b"the", b"mask"]


@pytest.mark.parametrize(
  ("kind", "options", "message"),
  [
    ("wordpiece", {"doc_stride": 0}, r"doc_stride \(0\) must be in"),
    ("wordpiece", {"max_windows": -1}, r"max_windows \(-1\) must be in"),
    ("wordpiece", {"max_seq_length": 11}, r"\(11\) must be above .*\(8\) \+ 3"),
    ("byte_bpe", {"max_seq_length": 12}, r"\(12\) must be above .*\(8\) \+ 4"),
  ],
)
def test_what_does_not_fit_is_refused(tokenizer_of, kind, options, message):
  with pytest.raises(ValueError, match=message):
    make(tokenizer_of(kind), **options)
