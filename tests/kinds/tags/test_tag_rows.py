"""Tagged sentences to rows."""

import numpy as np
import pytest

from keras_bert_impl.kinds.tags import tag_rows
from tests.kinds.tags.tagged import LABELS, make_rows, preprocessor, sentence


def texts_of(rows, tokenizer):
  names = tokenizer.vocabulary.tokens
  return [" ".join(names[i] for i in ids) for ids in rows["input_ids"]]


def test_labels_are_of_every_type_in_iob2():
  examples = [sentence("a b", "I-PER O"), sentence("c", "S-LOC")]
  assert tag_rows.labels_of(examples) == LABELS
  assert tag_rows.labels_of([sentence("a", "B")]) == (
    "O",
    "B",
    "I",
  )
  with pytest.raises(ValueError, match="no entities"):
    tag_rows.labels_of([sentence("a b", "O O")])
  with pytest.raises(ValueError, match="no tag but NN: check the file"):
    tag_rows.labels_of([sentence("a b", "NN NN")], "none")


def test_the_first_piece_of_a_token_has_its_label(tokenizer):
  task = preprocessor()
  # "play ##ing" and "hello" are tokens; the schemes make no difference.
  for tags in ("B-PER I-PER O", "I-PER I-PER O", "B-PER E-PER O"):
    rows, counts = make_rows(
      task, [sentence("playing hello world", tags)], tokenizer
    )
    assert texts_of(rows, tokenizer) == ["[CLS] play ##ing hello world [SEP]"]
    np.testing.assert_array_equal(rows["label_ids"], [[-1, 3, -1, 4, 0, -1]])
    np.testing.assert_array_equal(rows["token_index"], [[-1, 0, -1, 1, 2, -1]])
    assert not counts


def test_a_sentence_has_its_document_around_it_evenly(tokenizer):
  task = preprocessor(max_seq_length=8)
  words = "a b c d e f g h i j".split()
  examples = [sentence(f"{word} {word}", "O O", "doc") for word in words]
  examples.append(sentence("z", "O", "other"))
  rows, _ = make_rows(task, examples, tokenizer)
  texts = texts_of(rows, tokenizer)
  assert texts[4] == "[CLS] d d e e f f [SEP]"
  # What is missing on one side comes from the other.
  assert texts[0] == "[CLS] a a b b c c [SEP]"
  assert texts[1] == "[CLS] a a b b c c [SEP]"
  assert texts[9] == "[CLS] h h i i j j [SEP]"
  assert texts[10] == "[CLS] z [SEP]"
  np.testing.assert_array_equal(
    rows["token_index"][4], [-1, -1, -1, 0, 1, -1, -1, -1]
  )
  np.testing.assert_array_equal(
    rows["label_ids"][4], [-1, -1, -1, 0, 0, -1, -1, -1]
  )


def test_a_sentence_alone_has_nothing_around_it(tokenizer):
  examples = [sentence(word, "O", "doc") for word in "abc"]
  rows, _ = make_rows(preprocessor(context="sentence"), examples, tokenizer)
  assert texts_of(rows, tokenizer) == [f"[CLS] {word} [SEP]" for word in "abc"]
  without = [sentence(word, "O") for word in "abc"]
  again, _ = make_rows(preprocessor(), without, tokenizer)
  assert texts_of(again, tokenizer) == texts_of(rows, tokenizer)


def test_a_token_counts_in_the_window_where_it_has_most_context(tokenizer):
  task = preprocessor(max_seq_length=8, doc_stride=3)
  text = "a b c d e f g h i"
  rows, _ = make_rows(task, [sentence(text, "O " * 9)], tokenizer)
  assert texts_of(rows, tokenizer) == [
    "[CLS] a b c d e f [SEP]",
    "[CLS] d e f g h i [SEP]",
  ]
  np.testing.assert_array_equal(
    rows["token_index"],
    [[-1, 0, 1, 2, 3, 4, -1, -1], [-1, -1, -1, 5, 6, 7, 8, -1]],
  )


def test_a_row_needs_room_for_a_piece():
  with pytest.raises(ValueError, match=r"max_seq_length \(2\)"):
    preprocessor(max_seq_length=2)
