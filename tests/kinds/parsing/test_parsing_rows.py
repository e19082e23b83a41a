"""Rows of sentences: no word is lost."""

import collections

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import features, tokenizers
from keras_bert_impl.kinds.parsing import parsing_files, parsing_rows
from tests.kinds.parsing import sentences
from tests.tokenizers import vocabularies

WORDS = ["the", "cat", "##s", "##at", "sat", "."]


@pytest.fixture(name="tokenizer", scope="module")
def fixture_tokenizer(tmp_path_factory):
  folder = tmp_path_factory.mktemp("words")
  vocabularies.write(folder, WORDS)
  return tokenizers.load(folder)


def framed(tokenizer, words, length):
  words = tf.ragged.constant(words, dtype=tf.string, ragged_rank=1)
  rows, is_cut = parsing_rows.frame(tokenizer, words, length)
  ids = rows[features.INPUT_IDS].numpy()
  tokens = [[tokenizer.vocabulary.tokens[i] for i in row] for row in ids]
  return tokens, rows[parsing_rows.NODE_PLACES].numpy().tolist(), is_cut.numpy()


def test_nodes_are_cls_and_the_first_pieces(tokenizer):
  tokens, places, is_cut = framed(
    tokenizer, [["cats", "sat", "."], ["the"], []], 16
  )
  assert tokens[0] == ["[CLS]", "cat", "##s", "sat", ".", "[SEP]"]
  assert places[0] == [0, 1, 3, 4, -1, -1]
  assert places[1] == [0, 1, -1, -1, -1, -1]
  assert places[2] == [0, -1, -1, -1, -1, -1]
  assert not np.any(is_cut)


def test_long_words_lose_their_last_pieces_first(tokenizer):
  words = [["catsatats", "the", "cats"], ["the", "cat", "sat"]]
  tokens, places, is_cut = framed(tokenizer, words, 7)
  assert tokens[0] == ["[CLS]", "cat", "##s", "the", "cat", "##s", "[SEP]"]
  assert places[0][:4] == [0, 1, 3, 4]
  assert is_cut.tolist() == [True, False]


def test_a_word_without_pieces_is_unknown(tokenizer):
  tokens, places, _ = framed(tokenizer, [["the", "\u200d", "cat"]], 16)
  assert tokens[0] == ["[CLS]", "the", "[UNK]", "cat", "[SEP]"]
  assert places[0] == [0, 1, 2, 3, -1]


def test_rows_hold_the_tree(tokenizer):
  sentence = parsing_files.ParsedSentence(
    ("the", "cats", "sat"), (2, 3, 0), ("det", "nsubj", "new")
  )
  counts = collections.Counter()
  preprocessor = parsing_rows.ParsingPreprocessor(16, ("det", "nsubj"))
  [row] = preprocessor.make_rows([sentence], tokenizer, counts)
  assert row[parsing_rows.HEAD_IDS].tolist() == [-1, 2, 3, 0, -1, -1]
  assert row[features.LABEL_IDS].tolist() == [-1, 0, 1, -1, -1, -1]
  assert counts == {"words with the relation new, which training has not": 1}


def test_more_words_than_a_row_has_room_for_are_refused(tokenizer):
  sentence = parsing_files.ParsedSentence(7 * ("the",), origin="a.conllu:3")
  preprocessor = parsing_rows.ParsingPreprocessor(8, ("det",))
  with pytest.raises(ValueError, match="a.conllu:3: the sentence has 7 words"):
    [*preprocessor.make_rows([sentence], tokenizer, collections.Counter())]


def test_marks_tell_how_texts_are_cut(tmp_path):
  (tmp_path / "ud").write_text(sentences.CONLLU)
  (tmp_path / "klue").write_text(sentences.KLUE)
  ud, klue = (parsing_files.read(tmp_path / name) for name in ("ud", "klue"))
  assert parsing_rows.find_word_split(ud) == "punctuation"
  assert parsing_rows.find_word_split(klue) == "whitespace"
  texts = tf.constant(["집을\u3000본다. ", "  "])
  cut = [
    [[word.decode() for word in row] for row in found.to_list()]
    for found in (
      parsing_rows.split(texts, split)
      for split in ("punctuation", "whitespace")
    )
  ]
  assert cut == [[["집을", "본다", "."], []], [["집을", "본다."], []]]
