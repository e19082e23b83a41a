import collections
import random

import numpy as np
import pytest

from keras_bert_impl import choices
from tfrecords.writing import instances, packings

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


def pairs(
  chunk,
  seed=1,
  max_length=MAX_LENGTH,
  short_seq_prob=0.1,
  dupes=1,
  packing=packings.next_sentence,
):
  return packing(chunk, max_length, short_seq_prob, dupes, random.Random(seed))


def length_of(instance):
  """Returns its tokens, special ones left out."""
  return sum(stop - start for start, stop in instance.segments)


def test_the_second_segment_is_the_next_or_of_another_document():
  chunk = random_chunk(seed=1)
  for (a, b), is_random in pairs(chunk):
    a_document, b_document = (document_of(chunk, start) for start, _ in (a, b))
    assert a_document == document_of(chunk, a[1] - 1)
    assert b_document == document_of(chunk, b[1] - 1)
    if is_random:
      assert a_document != b_document
    else:
      # Truncation takes tokens off both ends, never changes the order.
      assert a_document == b_document
      lost = b[0] - a[1]
      longest_sentence = 30
      assert 0 <= lost <= longest_sentence


def test_segments_fill_the_sequence_and_are_never_empty():
  lengths = [
    [stop - start for start, stop in made.segments]
    for made in pairs(random_chunk(seed=2, sentences=(200, 300)))
  ]
  assert all(a >= 1 and b >= 1 for a, b in lengths)
  assert all(a + b <= MAX_LENGTH - 3 for a, b in lengths)
  full = sum(a + b == MAX_LENGTH - 3 for a, b in lengths)
  assert full > 0.75 * len(lengths)


@pytest.mark.parametrize("sentences", [(2, 6), (5, 15)])
def test_half_of_the_next_sentences_are_random(sentences):
  chunk = random_chunk(seed=3, num_documents=2000, sentences=sentences)
  labels = [made.label for made in pairs(chunk)]
  assert len(labels) > 2000
  # Four standard deviations of as many coins would be wider than this.
  assert 0.49 < np.mean(labels) < 0.51


def test_single_sentences_can_only_have_random_next_ones():
  chunk = chunk_of([[5]] * 20)
  assert [made.label for made in pairs(chunk)] == [1] * 20


def test_every_sentence_begins_or_continues_an_instance():
  chunk = random_chunk(seed=4, tokens=(1, 5))
  made = pairs(chunk, short_seq_prob=0.0)
  used = set()
  for instance in made:
    a, b = instance.segments
    used.update(range(*a))
    if not instance.label:
      used.update(range(*b))
  # Truncation loses some, here less than a sentence per instance.
  assert len(used) > len(chunk.ids) - 5 * len(made)


def test_the_target_is_shortened_per_instance():
  chunk = chunk_of([[1] * 60_000, [1] * 60_000])
  made = pairs(chunk, short_seq_prob=0.1)
  lengths = np.array([length_of(m) for m in made])
  real = np.array([not m.label for m in made])
  most = MAX_LENGTH - 3
  # The longest of 2 ... most is drawn as a short one too.
  expected = 0.1 * (1 - 1 / (most - 1))
  assert np.mean(lengths[real] < most) == pytest.approx(expected, abs=0.02)
  assert lengths.min() == 2


def test_over_long_sentences_are_cut_at_both_ends():
  chunk = chunk_of([[1000, 1000, 1000], [1000, 1000]])
  for made in pairs(chunk):
    assert [stop - start for start, stop in made.segments] == [31, 30]
    for start, _ in made.segments:
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
  ("lengths", "max_tokens"),
  [
    ((40, 9), 20),
    ((9, 40), 21),
    ((25, 24), 21),
    ((24, 25), 20),
    ((30, 30), 20),
  ],
)
def test_truncation_has_the_law_of_cutting_one_by_one(lengths, max_tokens):
  a, b = range(lengths[0]), range(100, 100 + lengths[1])
  rng = random.Random(5)
  num_draws = 3000
  ours, theirs = collections.Counter(), collections.Counter()
  for _ in range(num_draws):
    bounds = packings._truncate_pair(
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
  assert {document_of(chunk, m.segments[0][0]) for m in made} == {0}
  drawn = {document_of(chunk, m.segments[1][0]) for m in made if m.label}
  assert drawn == {1, 2}


def test_a_single_document_is_an_error_that_names_the_remedy():
  with pytest.raises(ValueError, match="--packing=doc_sentences"):
    pairs(chunk_of([[5, 5]]))


def test_the_packings_are_those_that_can_be_chosen():
  assert tuple(packings.PACKINGS) == choices.PACKINGS


@pytest.mark.parametrize("packing", packings.PACKINGS.values())
def test_no_documents_give_no_instances(packing):
  assert pairs(chunk_of([]), packing=packing) == []
  assert pairs(chunk_of([[5]], num_own=0), packing=packing) == []


def ordered_pairs(chunk, **options):
  return pairs(chunk, packing=packings.sentence_order, **options)


def test_swapped_pairs_are_consecutive_the_other_way_round():
  chunk = random_chunk(seed=7)
  made = ordered_pairs(chunk)
  for (a, b), is_swapped in made:
    first, second = (b, a) if is_swapped else (a, b)
    documents = [document_of(chunk, t) for t in (first[0], second[1] - 1)]
    assert documents[0] == documents[1]
    lost = second[0] - first[1]
    longest_sentence = 30
    assert 0 <= lost <= longest_sentence
    assert first[0] < first[1] and second[0] < second[1]
  assert all(length_of(m) <= MAX_LENGTH - 3 for m in made)


@pytest.mark.parametrize("sentences", [(1, 1), (2, 6)])
def test_half_of_the_ordered_pairs_are_swapped(sentences):
  chunk = random_chunk(
    seed=8, num_documents=2000, sentences=sentences, tokens=(2, 30)
  )
  labels = [made.label for made in ordered_pairs(chunk)]
  assert len(labels) >= 2000
  assert 0.49 < np.mean(labels) < 0.51


def test_the_length_of_the_segments_does_not_give_the_order_away():
  chunk = random_chunk(seed=9, num_documents=100, sentences=(100, 200))
  made = ordered_pairs(chunk, dupes=2)
  lengths = np.array([[b - a for a, b in m.segments] for m in made])
  is_swapped = np.array([m.label for m in made], bool)
  for guess in (lengths[:, 0] > lengths[:, 1], lengths[:, 0] < lengths[:, 1]):
    assert np.mean(guess == is_swapped) < 0.55


def test_one_document_is_enough_for_ordered_pairs():
  made = ordered_pairs(chunk_of([[5] * 100]), short_seq_prob=0.0)
  assert all(abs(a[0] - b[0]) < MAX_LENGTH for (a, b), _ in made)
  assert {m.label for m in made} == {0, 1}


def test_a_sentence_without_a_next_one_is_split():
  made = ordered_pairs(chunk_of([[7], [1], [2]]), dupes=50)
  bounds = {tuple(sorted(m.segments)) for m in made}
  assert bounds == {
    *(((0, middle), (middle, 7)) for middle in range(1, 7)),
    ((8, 9), (9, 10)),  # One token cannot be split.
  }


def singles(chunk, packing, short_seq_prob=0.0, **options):
  return pairs(chunk, packing=packing, short_seq_prob=short_seq_prob, **options)


@pytest.mark.parametrize(
  "packing", [packings.doc_sentences, packings.full_sentences]
)
def test_without_pairs_every_token_is_used_once(packing):
  chunk = random_chunk(seed=6, tokens=(1, 200))
  for short_seq_prob in (0.0, 0.5):
    made = singles(chunk, packing, short_seq_prob)
    used = [t for m in made for part in m.segments for t in range(*part)]
    assert used == list(chunk.ids)
    for m in made:
      assert length_of(m) + len(m.segments) + 1 <= MAX_LENGTH
      assert all(start < stop for start, stop in m.segments)
    again = singles(chunk, packing, short_seq_prob, dupes=3)
    assert sum(map(length_of, again)) == 3 * len(chunk.ids)


def test_doc_sentences_are_whole_sentences_of_one_document():
  chunk = chunk_of([[30, 30, 30], [10], [100, 5]])
  made = singles(chunk, packings.doc_sentences)
  assert [m.segments for m in made] == [
    ((0, 60),),
    ((60, 90),),
    ((90, 100),),
    ((100, 162),),  # A long sentence goes on in the next instance.
    ((162, 205),),
  ]


def test_full_sentences_run_over_the_ends_of_documents():
  chunk = chunk_of([[30, 30, 30], [10], [15, 10], [100, 5], [61], [1], [9]])
  made = singles(chunk, packings.full_sentences)
  assert [m.segments for m in made] == [
    ((0, 60),),
    # A separator more for each document: 30 + 1 + 10 + 1 + 15 of 62.
    ((60, 90), (90, 100), (100, 115)),
    ((115, 125),),  # The long sentence is not begun in what is left.
    ((125, 187),),
    ((187, 230),),
    ((230, 291),),  # The room of a separator is left alone.
    ((291, 292), (292, 301)),
  ]


def test_documents_of_the_pool_are_not_packed():
  chunk = chunk_of([[5, 5], [6], [7]], num_own=2)
  for packing in (packings.doc_sentences, packings.full_sentences):
    assert sum(map(length_of, singles(chunk, packing))) == 16
  assert sum(map(length_of, ordered_pairs(chunk))) == 16


def texts(made, chunk, separator=-1):
  """Returns the tokens of rows of `documents`, lists of int."""
  rows = [[instance] for instance in made]
  return [*instances.sequences(chunk, rows, None, separator, has_end=False)]


def test_documents_follow_each_other_in_full_rows():
  chunk = random_chunk(seed=3)
  made = pairs(chunk, packing=packings.documents)
  rows = texts(made, chunk)
  assert {*map(len, rows[:-1])} == {MAX_LENGTH}
  assert 0 < len(rows[-1]) <= MAX_LENGTH
  stream = [token for row in rows for token in row]
  starts = chunk.sentence_splits[chunk.document_splits]
  expected = [
    token
    for start, stop in zip(starts[:-1], starts[1:], strict=True)
    for token in [*chunk.ids[start:stop], -1]
  ]
  assert stream == expected


@pytest.mark.parametrize("size", (MAX_LENGTH - 1, MAX_LENGTH, MAX_LENGTH + 1))
def test_a_document_may_end_where_a_row_does(size):
  chunk = chunk_of([[size], [10]])
  rows = texts(pairs(chunk, packing=packings.documents), chunk)
  stream = [*range(size), -1, *range(size, size + 10), -1]
  assert rows == [stream[:MAX_LENGTH], stream[MAX_LENGTH:]]


def test_rows_of_documents_begin_elsewhere_each_time():
  chunk = random_chunk(seed=3)
  made = pairs(chunk, dupes=3, packing=packings.documents)
  num_tokens = sum(map(len, texts(made, chunk)))
  assert num_tokens == 3 * (len(chunk.ids) + 60)
  assert len({m.segments[0][0] for m in made}) > 2 * len(made) / 3


def test_each_sentence_comes_with_the_next_of_its_document():
  chunk = chunk_of([[4, 70, 5], [6], [7, 8]])
  made = pairs(chunk, dupes=2, packing=packings.following_sentences)
  room = MAX_LENGTH - 2
  expected = [
    ((0, 4), (4, 4 + room)),
    ((4, 4 + room), (74, 79)),
    ((85, 92), (92, 100)),
  ]
  assert [m.segments for m in made] == 2 * expected
