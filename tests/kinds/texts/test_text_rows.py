"""Texts and pairs to rows."""

import pytest

from keras_bert_impl.kinds.texts import text_rows
from keras_bert_impl.tasks.basics.example_types import TextExample
from tests.tasks.basics.parts import make_rows


def preprocessor(text_pairs=False, labels=("no", "yes")):
  return text_rows.TextPreprocessor(16, labels, text_pairs)


@pytest.mark.parametrize(
  ("kind", "pair"),
  [
    ("wordpiece", None),
    ("byte_bpe", "world the mask"),
    ("sentencepiece", "world the mask"),
  ],
)
def test_rows_are_what_the_tokenizer_assembles(tokenizers_of_kinds, kind, pair):
  tokenizer = tokenizers_of_kinds[kind]
  examples = [
    TextExample("0", "hello", pair, "yes"),
    TextExample("1", "hello world, hello café", pair, "no"),
  ]
  rows, _ = make_rows(preprocessor(pair is not None), examples, tokenizer)
  for example, row in zip(examples, rows, strict=True):
    expected = tokenizer([example.text], pair and [pair], 16)
    for name in ("input_ids", "segment_ids"):
      assert row[name].tolist() == expected[name][0].numpy().tolist()
  assert [row["label_ids"] for row in rows] == [1, 0]


def test_more_texts_than_are_tokenized_at_once_keep_their_order(tokenizer):
  words = ["hello", "world", "play"]
  examples = [
    TextExample(str(i), words[i % 3], None, "no") for i in range(2001)
  ]
  rows, _ = make_rows(preprocessor(), examples, tokenizer)
  ids = [row["input_ids"].tolist() for row in rows]
  assert len(ids) == 2001
  assert len({tuple(row) for row in ids[:3]}) == 3
  assert ids == ids[:3] * 667


def test_cut_and_empty_texts_are_kept_and_counted(tokenizer):
  examples = [
    TextExample("0", "hello " * 14, None, "no"),
    TextExample("1", "hello " * 15, None, "no"),
    TextExample("2", " \u200b", None, "no"),
  ]
  rows, counts = make_rows(preprocessor(), examples, tokenizer)
  assert [len(row["input_ids"]) for row in rows] == [16, 16, 2]
  assert counts == {"texts cut to max_seq_length": 1, "empty texts": 1}


def test_texts_without_labels_get_0(tokenizer):
  for labels in (("no", "yes"), None):
    task = preprocessor(labels=labels)
    [row], _ = make_rows(task, [TextExample("0", "a")], tokenizer)
    assert row["label_ids"] == 0


def test_scores_are_their_own_labels(tokenizer):
  task = preprocessor(labels=None)
  [row], _ = make_rows(task, [TextExample("0", "a", None, 2.5)], tokenizer)
  assert row["label_ids"] == 2.5
  assert task.columns["label_ids"].dtype == "float32"


def test_a_single_text_among_pairs_is_told_with_its_row(tokenizer):
  examples = [
    TextExample("0", "a", "b", "no", "x.tsv:2"),
    TextExample("1", "a", None, "no", "x.tsv:3"),
  ]
  for text_pairs, message in (
    (True, "x.tsv:3 must have two texts"),
    (False, "x.tsv:2 must have one text"),
  ):
    with pytest.raises(ValueError, match=message):
      make_rows(preprocessor(text_pairs), examples, tokenizer)
