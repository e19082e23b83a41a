import numpy as np

from keras_bert_impl.tokenizers.graph import text_batches
from tests.tfrecords.writing.test_packings import chunk_of
from tfrecords.writing import instances


def test_sequences_have_a_separator_after_every_segment():
  chunk = chunk_of([[3, 2], [4]])
  made = [
    instances.Instance(((1, 3), (5, 6)), 1),
    instances.Instance(((0, 2),)),
    instances.Instance(((3, 5), (5, 7), (8, 9))),
  ]
  rows = [[instance] for instance in made]
  assert list(instances.sequences(chunk, rows, cls_id=-1, sep_id=-2)) == [
    [-1, 1, 2, -2, 5, -2],
    [-1, 0, 1, -2],
    [-1, 3, 4, -2, 5, 6, -2, 8, -2],
  ]


class Letters:
  """Tokenizes into letters; spaces are no tokens."""

  def tokenize(self, texts):
    import tensorflow as tf

    rows = [[ord(c) for c in text if c != " "] for text in texts]
    return tf.RaggedTensor.from_row_lengths(
      np.array([c for row in rows for c in row], np.int32),
      [len(row) for row in rows],
    )


def test_sentences_and_documents_without_tokens_are_left_out():
  own = [["ab", " ", "c"], [" ", " "], ["d"]]
  chunk = instances.tokenize(own, [], Letters(), num_others=8)
  assert chunk.ids.tolist() == [ord(c) for c in "abcd"]
  assert chunk.sentence_splits.tolist() == [0, 2, 3, 4]
  assert chunk.document_splits.tolist() == [0, 2, 3]
  assert chunk.num_own == 2


def test_other_documents_are_read_only_as_far_as_needed():
  others = iter([[" "], ["b"], ["c"], ["d"], ["e"]])
  chunk = instances.tokenize([["a"]], others, Letters(), num_others=2)
  assert bytes(chunk.ids.tolist()).decode() == "abc"
  assert chunk.num_own == 1
  assert len(list(others)) <= 1


def test_tokenizing_in_batches_changes_nothing(monkeypatch):
  own = [["ab", "c"] * 3, ["d"], ["efg"] * 7]
  whole = instances.tokenize(own, [], Letters(), 8)
  monkeypatch.setattr(instances, "_SENTENCES_PER_CALL", 2)
  monkeypatch.setattr(text_batches, "_CHARACTERS", 5)
  parts = instances.tokenize(own, [], Letters(), 8)
  np.testing.assert_array_equal(whole.ids, parts.ids)
  np.testing.assert_array_equal(whole.sentence_splits, parts.sentence_splits)
  np.testing.assert_array_equal(whole.document_splits, parts.document_splits)


def test_a_long_document_is_tokenized_a_part_at_a_time(monkeypatch):
  class Small(Letters):
    def tokenize(self, texts):
      assert sum(map(len, texts)) < 20
      return super().tokenize(texts)

  monkeypatch.setattr(text_batches, "_CHARACTERS", 10)
  chunk = instances.tokenize([["abcdefghi"] * 99], [], Small(), 8)
  assert chunk.ids.size == 9 * 99
