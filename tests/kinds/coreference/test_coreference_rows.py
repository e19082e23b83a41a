"""Rows of segments, in which each word stands once."""

import collections

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import tokenizers
from keras_bert_impl.kinds.coreference import (
  coreference_files,
  coreference_rows,
)
from tests.kinds.coreference import documents

LENGTH = 16


@pytest.fixture(name="tokenizer", scope="module")
def fixture_tokenizer(tmp_path_factory):
  folder = tmp_path_factory.mktemp("vocab")
  return tokenizers.load(documents.write_model_files(folder) / "vocab.txt")


def rows_of(tokenizer, examples, overlap=0, **options):
  preprocessor = coreference_rows.CoreferencePreprocessor(
    LENGTH, overlap, **{"max_span_width": 3, **options}
  )
  counts = collections.Counter()
  return [*preprocessor.make_rows(examples, tokenizer, counts)], counts


@pytest.mark.parametrize("overlap", [0, 3, 7])
def test_each_word_stands_at_its_place(tokenizer, overlap):
  examples = documents.make(20, 1)
  rows, _ = rows_of(tokenizer, examples, overlap)
  for example, row in zip(examples, rows, strict=True):
    size = len(row["input_ids"])
    assert size % LENGTH == 0
    assert all(len(x) == size for name, x in row.items() if name != "genre_ids")
    starts = row["word_starts"][: len(example.words)]
    assert np.all(np.diff(starts) > 0)
    assert np.all(row["word_starts"][len(example.words) :] == -1)
    ids = row["input_ids"][starts]
    tokens = [tokenizer.vocabulary.tokens[k] for k in ids]
    assert tokens == example.words
    np.testing.assert_array_equal(row["word_ends"], row["word_starts"])
    # A span from a word ends in the segment of the word.
    limits = row["word_limits"][: len(example.words)]
    assert np.all(limits >= np.arange(len(example.words)))
    segment = row["input_ids"].reshape(-1, LENGTH)[starts // LENGTH]
    for number, limit in enumerate(limits):
      last = tokenizer.vocabulary.tokens.index(example.words[limit])
      assert last in segment[number]


def test_segments_end_after_sentences(tokenizer):
  (example,) = documents.make(1, 1)
  rows, _ = rows_of(tokenizer, [example])
  ends = {k for k, is_end in enumerate(example.ends_sentence) if is_end}
  assert {*rows[0]["word_limits"][: len(example.words)]} <= ends


def test_segments_have_tokens_in_common(tokenizer):
  (example,) = documents.make(1, 1, num_sentences=12)
  apart, common = (rows_of(tokenizer, [example], k)[0][0] for k in (0, 7))
  words = apart["input_mask"].sum(), common["input_mask"].sum()
  assert words[1] > words[0]
  # A mention from one to the next segment is whole in one of them.
  assert np.all(common["word_limits"][:40] >= np.arange(40) + 2)


def test_long_words_lose_pieces_and_unknown_ones_have_one(tokenizer):
  words = ["ada", "☃", "ada" + 20 * "a"]
  document = coreference_files.CoreferenceDocument((tuple(words),), ())
  rows, counts = rows_of(tokenizer, [document])
  unknown = tokenizer.vocabulary.unk_id
  assert rows[0]["input_ids"][2] == unknown
  assert rows[0]["word_ends"][2] - rows[0]["word_starts"][2] == 6
  assert counts == {"words that lose pieces": 1}


def test_documents_of_any_length_are_framed_together(tokenizer):
  words = tf.ragged.constant([[], ["ada"], 40 * ["tom"]], dtype=tf.string)
  ends = tf.zeros_like(words.flat_values) == "x"
  rows, numbers, _ = coreference_rows.frame(
    tokenizer, words, words.with_flat_values(ends), LENGTH, 0
  )
  assert numbers.numpy().tolist() == [1, 1, 3]
  assert rows["input_ids"].shape == (3, 3 * LENGTH)
  assert np.sum(rows["word_starts"] >= 0, axis=1).tolist() == [0, 1, 40]
  assert np.sum(rows["input_mask"], axis=1).tolist() == [2, 3, 46]


def test_speakers_genres_and_clusters_are_columns(tokenizer):
  document = coreference_files.make(
    [["ada", "saw", "tom"], ["she"]],
    [[[0, 0], [3, 3]], [[0, 2]]],
    [["A", "A", "-"], ["B"]],
    "nw/x",
    "x",
  )
  (row,), _ = rows_of(tokenizer, [document], genres=("bc", "nw"))
  assert row["word_speakers"][:5].tolist() == [1, 1, 0, 2, -1]
  assert row["genre_ids"] == 2
  clusters = row["span_clusters"]
  assert {*map(tuple, np.argwhere(clusters >= 0))} == {(0, 0), (3, 0), (0, 2)}
  assert clusters[0, 0] == clusters[3, 0] != clusters[0, 2]


def test_a_mention_over_the_end_of_a_segment_is_named(tokenizer):
  sentence = tuple(40 * ["tom"])
  document = coreference_files.CoreferenceDocument(
    (sentence,), (((13, 15), (0, 1)),), origin="a.conll:1"
  )
  message = (
    r"a.conll:1: the mention 'tom tom', words 13 to 14 from 0, goes over"
  )
  with pytest.raises(ValueError, match=message):
    rows_of(tokenizer, [document])
  rows_of(tokenizer, [document], 4)


def test_wide_mentions_are_counted_and_long_documents_refused(
  tokenizer, monkeypatch
):
  monkeypatch.setattr(coreference_rows, "_LONGEST_ROW", 64 * LENGTH)
  document = documents.make(1, 1)[0]
  document = coreference_files.CoreferenceDocument(
    document.sentences, (((0, 5),),), origin="a.conll:1"
  )
  _, counts = rows_of(tokenizer, [document])
  assert counts == {"mentions of more than 3 words, not to be found": 1}
  long = coreference_files.CoreferenceDocument(
    tuple(1500 * [("tom",)]), (), origin="b.conll:1"
  )
  with pytest.raises(ValueError, match="b.conll:1: the document has .* 1024"):
    rows_of(tokenizer, [long])
