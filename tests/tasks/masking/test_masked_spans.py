"""The policies that mask spans of words: "ngram" and "span".

Every maximal run of predictions is one span, so the spans can be read back.
"""

import collections

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl.tasks.masking import masked_spans, masking
from tests.tasks.masking import test_masking as rows_of

CLS, SEP, MASK = rows_of.CLS, rows_of.SEP, rows_of.MASK
WORD, PIECE = rows_of.FIRST_WORD, rows_of.FIRST_PIECE

SPAN_POLICIES = pytest.mark.parametrize("policy", ("ngram", "span"))


def runs(masked):
  """Yields (row, start, stop) of every maximal run of predictions."""
  for row, positions in enumerate(rows_of.chosen(masked)):
    for start in sorted(positions):
      if start - 1 not in positions:
        stop = start
        while stop in positions:
          stop += 1
        yield row, start, stop


def assert_follows(counts, shares):
  """Asserts that numbers of words 1, 2, ... have the shares of `shares`."""
  total = sum(counts.values())
  assert set(counts) <= set(range(1, len(shares) + 1))
  for length, share in enumerate(shares, start=1):
    deviation = np.sqrt(share * (1 - share) / total)
    assert abs(counts[length] / total - share) < 4.5 * deviation


def test_ngrams_are_short_and_spans_3_8_words_long_on_average():
  shares = masked_spans.ngram_shares()
  np.testing.assert_allclose(shares, [6 / 11, 3 / 11, 2 / 11])
  shares = masked_spans.geometric_shares()
  ratio = shares[1:] / shares[:-1]
  np.testing.assert_allclose(ratio, 0.8)
  assert shares.sum() == pytest.approx(1.0)
  assert shares @ np.arange(1, 11) == pytest.approx(3.8, abs=0.01)


NGRAM, GEOMETRIC = (
  masked_spans.ngram_shares(),
  masked_spans.geometric_shares(),
)
SHARES = pytest.mark.parametrize(
  "shares", [NGRAM, GEOMETRIC], ids=("ngram", "span")
)


def choose(word_lengths, budget, shares, count=1, seed=(3, 4), **options):
  """Returns bool [count, L]: `masked_spans.choose` on rows of words.

  Args:
    word_lengths: list of int, pieces of each word.
    budget: int.
    shares: as of `masked_spans.choose`.
    count: int, number of rows, all alike.
    seed: as of `masked_spans.choose`.
    **options: max_spans; default: budget.
  """
  begins = [1, *([1] + [0] * (n - 1) for n in word_lengths), 1]
  begins = np.array(np.hstack(begins), bool)
  is_ordinary = np.ones(len(begins), bool)
  is_ordinary[[0, -1]] = False
  return masked_spans.choose(
    tf.tile(begins[np.newaxis], [count, 1]),
    tf.tile(is_ordinary[np.newaxis], [count, 1]),
    tf.fill([count], budget),
    shares,
    **{"max_spans": budget, "seed": tf.constant(seed)} | options,
  ).numpy()


def test_a_span_begins_wherever_it_has_room_with_equal_chances():
  three_words = [0.0, 0.0, 1.0]
  chosen = choose([1] * 10, 3, three_words, count=10_000)
  starts = collections.Counter(chosen.argmax(axis=1).tolist())
  assert_follows(starts, [1 / 8] * 8)


def test_the_last_span_gets_what_has_room_and_another_the_rest():
  ten_words = [0.0] * 9 + [1.0]
  chosen = choose([3, 1, 1, 1, 3, 2], 3, ten_words, count=50)
  only = [0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0]
  assert chosen.astype(int).tolist() == [only] * 50
  one_word = [1.0]
  chosen = choose([2, 4, 1, 4, 4], 3, one_word, count=50)
  only = [0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]
  assert chosen.astype(int).tolist() == [only] * 50


@SHARES
def test_spans_never_touch_even_where_all_tokens_are_wanted(shares):
  chosen = choose([1] * 40, 40, shares, count=500)
  assert 0.5 < chosen.mean() < 0.95
  # Every token left out lies beside a span: there was no room for more.
  left_out = ~chosen[:, 1:-1]
  beside = chosen[:, :-2] | chosen[:, 2:]
  assert (beside | ~left_out).all()


def expected_spans(budget, shares):
  """Returns float [N], the mean numbers of spans of 1, ..., N words per row.

  Lengths are drawn until the budget is used up, the last one is cut.
  """
  means = [np.zeros(len(shares))]
  for left in range(1, budget + 1):
    mean = np.zeros(len(shares))
    for length, share in enumerate(shares, start=1):
      kept = min(length, left)
      mean[kept - 1] += share
      mean += share * means[left - kept]
    means.append(mean)
  return means[budget]


@pytest.mark.parametrize(
  ("policy", "shares"),
  [("ngram", NGRAM), ("span", GEOMETRIC)],
)
def test_spans_of_a_record_have_the_right_shares_of_lengths(policy, shares):
  masked = rows_of.mask(
    [[CLS] + [WORD] * 62 + [SEP]] * 3000, masking_policy=policy
  )
  counts = collections.Counter(stop - start for _, start, stop in runs(masked))
  expected = expected_spans(10, shares)  # 15 % of 64
  assert sum(counts.values()) / 3000 == pytest.approx(expected.sum(), rel=0.01)
  assert_follows(counts, expected / expected.sum())


@SPAN_POLICIES
@pytest.mark.parametrize("prob,most", [(0.15, 20), (0.3, 40), (0.5, 3)])
def test_spans_are_whole_words_of_one_segment(policy, prob, most):
  rows = rows_of.instances(300)
  masked = rows_of.mask(
    rows,
    masking_policy=policy,
    masked_lm_prob=prob,
    max_predictions_per_seq=most,
  )
  words = [rows_of.words_of(row) for row in rows]
  budgets = [min(most, max(1, round(prob * len(row)))) for row in rows]
  longest = 3 if policy == "ngram" else 10
  for row, start, stop in runs(masked):
    if min(map(len, words[row])) > budgets[row]:
      continue  # Pieces of a word.
    inside = [w for w in words[row] if start <= w[0] < stop]
    assert [p for w in inside for p in w] == list(range(start, stop))
    assert len(inside) <= longest
    assert not {CLS, SEP} & set(rows[row][start:stop])
  for positions, budget in zip(rows_of.chosen(masked), budgets, strict=True):
    assert 1 <= len(positions) <= budget


def fates(masked):
  """Yields (found ids, labels) of every span."""
  labels = np.array(rows_of.unmasked(masked))
  for row, start, stop in runs(masked):
    yield masked["input_ids"][row, start:stop], labels[row, start:stop]


def test_a_span_becomes_masks_random_tokens_or_stays_as_a_whole():
  masked = rows_of.mask(rows_of.instances(4000, 64), masking_policy="span")
  long = [pair for pair in fates(masked) if len(pair[0]) >= 3]
  is_mask = [(found == MASK).all() for found, _ in long]
  is_kept = [(found == labels).all() for found, labels in long]
  assert np.mean(is_mask) == pytest.approx(0.8, abs=0.015)
  assert np.mean(is_kept) == pytest.approx(0.1, abs=0.015)
  others = [pair for pair, a, b in zip(long, is_mask, is_kept) if not (a or b)]
  found = np.concatenate([found for found, _ in others])
  labels = np.concatenate([labels for _, labels in others])
  by_chance = 1 / rows_of.VOCABULARY.size
  assert np.mean(found == MASK) == pytest.approx(by_chance, abs=0.01)
  assert np.mean(found == labels) == pytest.approx(by_chance, abs=0.01)
  # Its random tokens are drawn one by one.
  equal = np.mean([found[0] == found[1] for found, _ in others])
  assert equal == pytest.approx(by_chance, abs=0.02)


def test_the_tokens_of_an_ngram_share_no_fate():
  masked = rows_of.mask(rows_of.instances(4000, 64), masking_policy="ngram")
  pairs = [found[:2] == MASK for found, _ in fates(masked) if len(found) > 1]
  shares = collections.Counter(map(tuple, pairs))
  share = 0.8 + 0.1 / rows_of.VOCABULARY.size
  both = shares[True, True] / len(pairs)
  assert both == pytest.approx(share**2, abs=0.015)


def test_boundaries_are_the_tokens_around_the_run():
  positions = tf.constant([[2, 3, 4, 7, 9, 0, 0], [1, 0, 0, 0, 0, 0, 0]])
  weights = tf.constant([[1.0] * 5 + [0.0] * 2, [1.0] + [0.0] * 6])
  expected = [
    [[1, 5], [1, 5], [1, 5], [6, 8], [8, 10], [0, 0], [0, 0]],
    [[0, 2]] + [[0, 0]] * 6,
  ]
  for dtype in ("int32", "int64"):
    found = masking.span_boundaries(tf.cast(positions, dtype), weights)
    assert found.dtype == tf.int32
    assert found.numpy().tolist() == expected
