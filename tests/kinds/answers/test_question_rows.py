"""Questions and texts to rows."""

import numpy as np
import pytest

from keras_bert_impl.kinds.answers import question_rows
from tests.kinds.answers.questions import CONTEXT, example, preprocessor
from tests.tasks.basics.parts import make_rows


def _tokens(tokenizer, row):
  return [tokenizer.vocabulary.tokens[i] for i in row["input_ids"]]


def _labelled(row, question):
  """Returns what the start and end positions of a row stand for."""
  start = row["piece_starts"][row["start_positions"]]
  end = row["piece_ends"][row["end_positions"]]
  return question.context[start:end]


def test_a_row_is_a_question_and_its_text(wordpiece):
  [row], counts = make_rows(preprocessor(), [example()], wordpiece)
  assert (
    _tokens(wordpiece, row)
    == (
      "[CLS] when did the normans come ? [SEP] the normans were ( in 1871 ) , "
      "from norway . [SEP]"
    ).split()
  )
  assert row["segment_ids"].tolist() == [0] * 8 + [1] * 12
  assert row["start_positions"] == row["end_positions"] == 13
  assert row["answer_weights"] == 1.0
  assert row["is_max_context"].tolist() == [0] * 8 + [1] * 11 + [0]
  assert (row["piece_starts"][:8] == -1).all()
  assert CONTEXT[row["piece_starts"][17] : row["piece_ends"][17]] == "Norway"
  assert counts == {}


def test_every_column_is_in_a_row_in_its_shape(wordpiece):
  task = preprocessor()
  [row], _ = make_rows(task, [example()], wordpiece)
  assert set(row) == set(task.columns)
  for name, column in task.columns.items():
    expected = (len(row["input_ids"]),) if column.shape else ()
    assert np.shape(row[name]) == expected, name


def test_windows_slide_over_a_long_text(wordpiece):
  task = preprocessor(max_seq_length=13, max_query_length=6, doc_stride=2)
  question = example(question="when ?")
  rows, counts = make_rows(task, [question], wordpiece)
  assert [_tokens(wordpiece, row)[4] for row in rows] == ["the", "were", "in"]
  assert [_tokens(wordpiece, row)[-2] for row in rows] == [",", "norway", "."]
  assert counts == {"questions with several windows": 1}
  # In all three windows, and in one with most context.
  assert [_labelled(row, question) for row in rows] == ["1871"] * 3
  assert sum(row["is_max_context"].sum() for row in rows) == 11
  assert [row["example_index"] for row in rows] == [0, 0, 0]


def test_rows_do_not_depend_on_what_is_framed_together(wordpiece, monkeypatch):
  task = preprocessor(max_seq_length=13, max_query_length=6, doc_stride=2)
  questions = [example(question=text) for text in ("when ?", "who ?", "where")]
  together, counts = make_rows(task, questions, wordpiece)
  monkeypatch.setattr(question_rows, "_PIECES", 1)
  apart, counts_apart = make_rows(task, questions, wordpiece)
  assert counts_apart == counts
  for row, expected in zip(apart, together, strict=True):
    for name in task.columns:
      np.testing.assert_array_equal(row[name], expected[name])
  assert make_rows(task, [], wordpiece) == ([], {})


def test_a_window_without_the_answer_points_at_the_first_token(wordpiece):
  task = preprocessor(max_seq_length=13, max_query_length=6, doc_stride=8)
  question = example("Normans  were", 4, question="when ?")
  rows, _ = make_rows(task, [question], wordpiece)
  positions = [(r["start_positions"], r["end_positions"]) for r in rows]
  assert positions == [(5, 6), (0, 0)]
  assert [row["answer_weights"] for row in rows] == [1.0, 1.0]


def test_an_answer_that_no_window_holds_is_counted(wordpiece):
  task = preprocessor(max_seq_length=13, max_query_length=6, doc_stride=8)
  question = example(CONTEXT, 0, question="when ?")
  rows, counts = make_rows(task, [question], wordpiece)
  assert counts["answers that no window holds"] == 1
  assert [row["start_positions"] for row in rows] == [0, 0]


def test_answers_that_the_pieces_cannot_give_are_counted(wordpiece):
  what = "questions that no span of whole pieces answers exactly"
  for text, expected in (
    ("Norman", {what: 1}),  # "normans" is one piece.
    ("(in 1871", {}),
    ("Norway", {}),
  ):
    question = example(text, CONTEXT.index(text))
    _, counts = make_rows(preprocessor(), [question], wordpiece)
    assert counts == expected
  twice = example("norman", 4, context="the normans, a norman")
  assert make_rows(preprocessor(), [twice], wordpiece)[1][what] == 0


def test_a_wrong_offset_is_relocated_to_the_nearest_place(wordpiece):
  context = "the normans, the normans, the normans"
  outside = "answers with an answer_start outside of their text"
  for start, expected, what in (
    (1, 4, "answers relocated"),
    (15, 17, "answers relocated"),
    (37, 30, outside),
    (99, 30, outside),
    (-7, 4, outside),
    (None, 4, None),
  ):
    question = example("normans", start, context=context)
    [row], counts = make_rows(preprocessor(), [question], wordpiece)
    assert row["piece_starts"][row["start_positions"]] == expected
    assert counts == ({what: 1} if what else {})


def test_white_space_does_not_hide_an_answer(wordpiece):
  question = example("normans were(in 1871)", 0, context=CONTEXT.lower())
  [row], counts = make_rows(preprocessor(), [question], wordpiece)
  assert _labelled(row, question) == "normans  were (in 1871)"
  assert counts == {"answers relocated": 1}


def test_an_answer_that_is_not_there_is_left_out_and_named(wordpiece, caplog):
  examples = [
    example("Paris", 3, number=1),
    example(number=2),
    example(" ", 3, number=3),
  ]
  with caplog.at_level("WARNING", logger="absl"):
    rows, counts = make_rows(preprocessor(), examples, wordpiece)
  assert [row["answer_weights"] for row in rows] == [0.0, 1.0, 0.0]
  assert counts == {"answers not in the text, left out of training": 2}
  assert "file: data[1]: the answer 'Paris' of question 'q1'" in caplog.text
  assert "q2" not in caplog.text


def test_a_question_without_answer_points_at_the_first_token(wordpiece):
  [row], counts = make_rows(
    preprocessor(version_2_with_negative=True), [example(answers=())], wordpiece
  )
  assert (row["start_positions"], row["end_positions"]) == (0, 0)
  assert row["answer_weights"] == 1.0
  assert counts == {}
  with pytest.raises(
    ValueError, match=r"data\[1\].*'q1' has no answer; .*version_2_with"
  ):
    make_rows(preprocessor(), [example(answers=())], wordpiece)


def test_a_question_to_predict_has_no_weight(wordpiece):
  task = preprocessor()
  examples = [example(answers=None)]
  [row], counts = make_rows(task, examples, wordpiece)
  assert row["answer_weights"] == 0.0
  assert counts == {}
  assert not examples[0].is_labelled
  assert example(answers=()).is_labelled


def test_a_long_question_is_cut_and_counted(wordpiece):
  [row], counts = make_rows(
    preprocessor(max_query_length=2), [example()], wordpiece
  )
  assert _tokens(wordpiece, row)[:4] == ["[CLS]", "when", "did", "[SEP]"]
  assert counts == {"questions cut to max_query_length": 1}


def test_a_row_without_room_for_text_is_refused(tokenizers_of_kinds):
  with pytest.raises(
    ValueError, match=r"max_seq_length \(11\) must be above .* \(8\) \+ 3"
  ):
    preprocessor(max_seq_length=11)
  # Byte-level BPE has one special token more.
  tokenizer = tokenizers_of_kinds["byte_bpe"]
  with pytest.raises(
    ValueError, match=r"file: data\[1\]: the 8 pieces of question 'q1' leave"
  ):
    make_rows(preprocessor(max_seq_length=12), [example()], tokenizer)


def test_half_a_character_counts_as_one(wordpiece):
  context = "\ud83d " + CONTEXT
  question = example(start=24, context=context)
  [row], counts = make_rows(preprocessor(64), [question], wordpiece)
  assert _labelled(row, question) == "1871"
  assert not counts


def test_other_tokenizers_frame_as_they_do_elsewhere(tokenizers_of_kinds):
  question = example("hello", 4, context="the hello world", question="the cat")
  for kind in ("byte_bpe", "sentencepiece"):
    tokenizer = tokenizers_of_kinds[kind]
    [row], _ = make_rows(preprocessor(), [question], tokenizer)
    expected = tokenizer([question.question], [question.context])
    for name in ("input_ids", "segment_ids"):
      assert row[name].tolist() == expected[name].numpy()[0].tolist()
    assert _labelled(row, question) == "hello"


@pytest.mark.parametrize("name", ["doc_stride", "max_query_length"])
def test_what_must_be_positive_is_checked(name):
  with pytest.raises(ValueError, match=rf"{name} \(0\) must be in"):
    preprocessor(**{name: 0})
