import collections
import random

import numpy as np
import pytest

from tfrecords import instances

MAX_LENGTH = 64


def chunk_of(document_lengths, num_own=None):
  """Returns a chunk whose token ids are their own positions.

  Args:
    document_lengths: list of lists, tokens of each sentence of each document.
    num_own: int or None for all.
  """
  lengths = [n for document in document_lengths for n in document]
  return instances.TokenizedChunk(
    ids=np.arange(sum(lengths), dtype=np.int32),
    sentence_splits=np.cumsum([0, *lengths]),
    document_splits=np.cumsum([0, *map(len, document_lengths)]),
    num_own=len(document_lengths) if num_own is None else num_own,
  )


def random_chunk(seed, num_documents=60, sentences=(1, 40), tokens=(1, 30)):
  rng = random.Random(seed)
  return chunk_of(
    [
      [rng.randint(*tokens) for _ in range(rng.randint(*sentences))]
      for _ in range(num_documents)
    ]
  )


def document_of(chunk, token):
  starts = chunk.sentence_splits[chunk.document_splits[:-1]]
  return int(np.searchsorted(starts, token, side="right")) - 1


def pairs(chunk, seed=1, max_length=MAX_LENGTH, short_seq_prob=0.1, dupes=1):
  rng = random.Random(seed)
  return instances.make_pairs(chunk, max_length, short_seq_prob, dupes, rng)


def test_the_second_segment_is_the_next_or_of_another_document():
  chunk = random_chunk(seed=1)
  for made in pairs(chunk):
    a_document = document_of(chunk, made.a_start)
    b_document = document_of(chunk, made.b_start)
    assert a_document == document_of(chunk, made.a_stop - 1)
    assert b_document == document_of(chunk, made.b_stop - 1)
    if made.is_random_next:
      assert a_document != b_document
    else:
      # Truncation takes tokens off both ends, never changes the order.
      assert a_document == b_document
      assert made.a_stop <= made.b_start
      lost = made.b_start - made.a_stop
      longest_sentence = 30
      assert lost <= longest_sentence


def test_segments_fill_the_sequence_and_are_never_empty():
  lengths = [
    (made.a_stop - made.a_start, made.b_stop - made.b_start)
    for made in pairs(random_chunk(seed=2, sentences=(200, 300)))
  ]
  assert all(a >= 1 and b >= 1 for a, b in lengths)
  assert all(a + b <= MAX_LENGTH - 3 for a, b in lengths)
  full = sum(a + b == MAX_LENGTH - 3 for a, b in lengths)
  assert full > 0.75 * len(lengths)


@pytest.mark.parametrize("sentences", [(2, 6), (5, 15), (50, 100)])
def test_half_of_the_next_sentences_are_random(sentences):
  chunk = random_chunk(seed=3, num_documents=3000, sentences=sentences)
  labels = [made.is_random_next for made in pairs(chunk)]
  assert len(labels) > 3000
  # Four standard deviations of as many coins would be wider than this.
  assert 0.49 < np.mean(labels) < 0.51


def test_half_are_random_in_a_small_corpus_made_into_instances_often():
  chunk = random_chunk(seed=3, num_documents=3)
  labels = [made.is_random_next for made in pairs(chunk, dupes=50)]
  assert 0.49 < np.mean(labels) < 0.51


def test_single_sentences_can_only_have_random_next_ones():
  chunk = chunk_of([[5]] * 20)
  assert [made.is_random_next for made in pairs(chunk)] == [1] * 20


def test_every_sentence_begins_or_continues_an_instance():
  chunk = random_chunk(seed=4, tokens=(1, 5))
  made = pairs(chunk, short_seq_prob=0.0)
  used = set()
  for instance in made:
    used.update(range(instance.a_start, instance.a_stop))
    if not instance.is_random_next:
      used.update(range(instance.b_start, instance.b_stop))
  # What truncation cuts off is lost, here less than a sentence per instance.
  assert len(used) > len(chunk.ids) - 5 * len(made)


def test_the_target_is_shortened_per_instance():
  chunk = chunk_of([[1] * 60_000, [1] * 60_000])
  made = pairs(chunk, short_seq_prob=0.1)
  lengths = np.array(
    [m.a_stop - m.a_start + m.b_stop - m.b_start for m in made]
  )
  real = np.array([not m.is_random_next for m in made])
  most = MAX_LENGTH - 3
  # Of 2 ... most, the longest is drawn as a short one too.
  expected = 0.1 * (1 - 1 / (most - 1))
  assert np.mean(lengths[real] < most) == pytest.approx(expected, abs=0.02)
  assert lengths.min() == 2


def test_short_targets_can_be_turned_off_and_always_on():
  chunk = chunk_of([[1] * 9000, [1] * 9000])

  def real_lengths(short_seq_prob):
    return [
      made.a_stop - made.a_start + made.b_stop - made.b_start
      for made in pairs(chunk, short_seq_prob=short_seq_prob)
      if not made.is_random_next and made.b_stop != 9000
    ]

  assert np.mean(np.equal(real_lengths(0.0), MAX_LENGTH - 3)) > 0.98
  assert np.mean(real_lengths(1.0)) == pytest.approx(
    (MAX_LENGTH - 1) / 2, abs=3
  )


def test_over_long_sentences_are_cut_at_both_ends():
  chunk = chunk_of([[1000, 1000, 1000], [1000, 1000]])
  for made in pairs(chunk):
    assert made.a_stop - made.a_start == 31
    assert made.b_stop - made.b_start == 30
    for start in (made.a_start, made.b_start):
      # A coin for each of 969 tokens: six standard deviations are 93.
      assert abs(start % 1000 - 485) < 93


def cut_one_by_one(a, b, max_tokens, rng):
  """Returns the segments, lists, cut as the original describes it."""
  a, b = list(a), list(b)
  while len(a) + len(b) > max_tokens:
    longer = a if len(a) > len(b) else b
    longer.pop(0 if rng.random() < 0.5 else -1)
  return a, b


@pytest.mark.parametrize(
  "lengths", [(40, 9), (9, 40), (25, 24), (24, 25), (30, 30)]
)
@pytest.mark.parametrize("max_tokens", [20, 21])
def test_truncation_has_the_law_of_cutting_one_by_one(lengths, max_tokens):
  a, b = range(lengths[0]), range(100, 100 + lengths[1])
  rng = random.Random(5)
  num_draws = 3000
  ours, theirs = collections.Counter(), collections.Counter()
  for _ in range(num_draws):
    bounds = instances._truncate_pair(
      a.start, a.stop, b.start, b.stop, max_tokens, rng
    )
    ours[bounds] += 1
    a_cut, b_cut = cut_one_by_one(a, b, max_tokens, rng)
    theirs[a_cut[0], a_cut[-1] + 1, b_cut[0], b_cut[-1] + 1] += 1
  sizes = {(x[1] - x[0], x[3] - x[2]) for x in ours}
  assert sizes == {(x[1] - x[0], x[3] - x[2]) for x in theirs}
  for column in (0, 2):
    mean = [
      sum(bounds[column] * n for bounds, n in counts.items()) / num_draws
      for counts in (ours, theirs)
    ]
    assert mean[0] == pytest.approx(mean[1], abs=0.35)


def test_the_random_next_comes_from_the_pool_where_there_is_one_document():
  chunk = chunk_of([[5] * 100, [5], [5] * 3], num_own=1)
  made = pairs(chunk)
  assert {document_of(chunk, m.a_start) for m in made} == {0}
  drawn = {document_of(chunk, m.b_start) for m in made if m.is_random_next}
  assert drawn == {1, 2}


def test_a_single_document_is_an_error_that_names_the_remedy():
  with pytest.raises(ValueError, match="nouse_next_sentence"):
    pairs(chunk_of([[5, 5]]))


def test_no_documents_give_no_instances():
  assert pairs(chunk_of([])) == []
  assert pairs(chunk_of([[5]], num_own=0)) == []


def singles(chunk, short_seq_prob=0.0):
  rng = random.Random(1)
  return instances.make_singles(chunk, MAX_LENGTH, short_seq_prob, 1, rng)


def test_without_pairs_every_token_is_used_once():
  chunk = random_chunk(seed=6, tokens=(1, 200))
  for short_seq_prob in (0.0, 0.5):
    made = singles(chunk, short_seq_prob)
    used = [t for m in made for t in range(m.a_start, m.a_stop)]
    assert used == list(chunk.ids)
    assert all(m.a_stop - m.a_start <= MAX_LENGTH - 2 for m in made)
    assert all(m.b_start == m.b_stop for m in made)


def test_without_pairs_whole_sentences_are_taken_of_one_document():
  chunk = chunk_of([[30, 30, 30], [10], [100, 5]])
  bounds = [(m.a_start, m.a_stop) for m in singles(chunk)]
  assert bounds == [
    (0, 60),
    (60, 90),
    (90, 100),
    (100, 162),  # A long sentence goes on in the next instance.
    (162, 205),
  ]


def test_sequences_have_their_special_tokens():
  chunk = chunk_of([[3, 2], [4]])
  made = [instances.Instance(1, 3, 5, 6, 1)]
  pair = instances.sequences(chunk, made, cls_id=-1, sep_id=-2, use_pairs=True)
  assert list(pair) == [[-1, 1, 2, -2, 5, -2]]
  single = instances.sequences(chunk, made, -1, -2, use_pairs=False)
  assert list(single) == [[-1, 1, 2, -2]]


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
  parts = instances.tokenize(own, [], Letters(), 8)
  np.testing.assert_array_equal(whole.ids, parts.ids)
  np.testing.assert_array_equal(whole.sentence_splits, parts.sentence_splits)
  np.testing.assert_array_equal(whole.document_splits, parts.document_splits)
