"""Noise that a decoder undoes: the text can be read back, and shares hold."""

import math

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl.tasks.masking import denoising, masking
from keras_bert_impl.tokenizers.formats import vocabularies

NUM_SENTINELS = 30
SENTINELS = [f"<extra_id_{k}>" for k in range(NUM_SENTINELS)]
WORDS = [*(f"w{k}" for k in range(40)), ".", "!"]
PIECES = [f"##p{k}" for k in range(20)]
VOCABULARY = vocabularies.Vocabulary(
  (*vocabularies.SPECIAL_TOKENS, *WORDS, *PIECES, *reversed(SENTINELS))
)
CLS, SEP, MASK = VOCABULARY.cls_id, VOCABULARY.sep_id, VOCABULARY.mask_id
FIRST = len(vocabularies.SPECIAL_TOKENS)
LAST = VOCABULARY.size - NUM_SENTINELS
IDS = {VOCABULARY.ids[name]: k for k, name in enumerate(SENTINELS)}
INFILLING = ("infilling", "permuted_infilling")
LENGTH, NUM_ROWS = 128, 1000


def rows_of(lengths, low=FIRST, high=LAST):
  """Returns rows [CLS] A [SEP] of tokens drawn at random, lists of int."""
  rng = np.random.default_rng(0)
  return [[CLS, *rng.integers(low, high, n).tolist(), SEP] for n in lengths]


def noise_of(policy, length=LENGTH, share=None, **others):
  share = share or (0.3 if policy in INFILLING else 0.15)
  return masking.make(
    VOCABULARY,
    length,
    masking_policy=policy,
    masked_lm_prob=share,
    **others,
  )


def run(noise, rows, seed=(1, 2)):
  """Returns (read, written), lists of rows, in a graph as in tf.data."""
  made = tf.function(noise, autograph=False)(
    {"input_ids": tf.ragged.constant(rows, tf.int64, ragged_rank=1)},
    tf.constant(seed),
  )
  return made["input_ids"].to_list(), made["target_ids"].to_list()


def spans(written):
  """Returns the tokens of each sentinel in what T5 writes."""
  found = {}
  for token in written[:-1]:
    if token in IDS:
      current = found[IDS[token]] = []
    else:
      current.append(token)
  return found


def words(text):
  """Returns the words of a text, tuples of its tokens."""
  found = []
  for token in text:
    is_new = not found or found[-1] == (MASK,)
    if not is_new and VOCABULARY.is_continuation[token]:
      found[-1] += (token,)
    else:
      found.append((token,))
  return found


def mixed():
  lengths = np.random.default_rng(1).integers(0, LENGTH - 1, NUM_ROWS)
  lengths[:4] = 0, 1, 2, LENGTH - 2
  return rows_of(lengths)


@pytest.mark.parametrize("policy", ("span_corruption", "prefix_lm"))
def test_a_thousand_rows_are_read_back_from_the_spans(policy):
  rows, noise = mixed(), noise_of(policy)
  for row, read, written in zip(rows, *run(noise, rows), strict=True):
    found = spans(written)
    assert list(found) == list(range(len(found)))
    assert read[-1] == written[-1] == SEP
    text = []
    for token in read[:-1]:
      text += found.pop(IDS[token]) if token in IDS else [token]
    assert text == row[1:-1]
    assert not found
    for tokens, most in zip((read, written), noise.lengths, strict=True):
      assert len(tokens) <= most


@pytest.mark.parametrize("policy", INFILLING)
def test_a_thousand_rows_are_written_as_they_were(policy):
  rows = mixed()
  read, written = run(noise_of(policy), rows)
  assert written == rows
  for row, found in zip(rows, read, strict=True):
    assert (found[0], found[-1], len(found) <= len(row)) == (CLS, SEP, True)
    if policy == "infilling":  # Else a piece may begin a sentence.
      of_row = words(row[1:-1])
      kept = [word for word in words(found[1:-1]) if word != (MASK,)]
      assert len(kept) == len(of_row) - math.ceil(0.3 * len(of_row))
      left = iter(of_row)  # In their order, each of them once.
      assert all(word in left for word in kept)


def test_shares_and_lengths_of_t5_are_those_of_its_law():
  assert denoising.span_lengths(568) == (512, 114)
  assert noise_of("prefix_lm").lengths == (128 - 32 + 2, 32 + 2)
  rows = rows_of([LENGTH - 2] * NUM_ROWS)
  read, written = run(noise_of("span_corruption"), rows)
  found = [spans(row) for row in written]
  sizes = [len(span) for row in found for span in row.values()]
  assert sum(sizes) / (NUM_ROWS * (LENGTH - 2)) == pytest.approx(0.15, abs=1e-3)
  assert np.mean(sizes) == pytest.approx(3.0, abs=0.2)  # Of 19 tokens, six.
  assert {len(row) for row in read} == {LENGTH - 2 - 19 + 6 + 1}
  assert min(sizes) == 1
  assert max(sizes) > 8


def test_infilled_spans_have_a_poisson_distribution_and_do_not_touch():
  rows = [[CLS, *range(5, 5 + 300), SEP] for _ in range(NUM_ROWS)]
  vocabulary = vocabularies.Vocabulary(
    (*vocabularies.SPECIAL_TOKENS, *(f"w{k}" for k in range(300)))
  )
  noise = denoising.Infilling(vocabulary, 302, 0.3, permutes=False)
  sizes = []
  for row in run(noise, rows)[0]:
    before = 4
    for token, after in zip(row[1:-1], [*row[2:-1], 305], strict=True):
      if token == MASK:
        assert after != MASK
        sizes.append(after - before - 1)
      else:
        before = token
  assert sum(sizes) == NUM_ROWS * 90
  # The last one of a row, of about thirty, is cut.
  assert np.mean(sizes) == pytest.approx(3.0, abs=0.1)
  for size in range(6):
    share = np.exp(-3) * 3**size / math.factorial(size)
    assert np.mean(np.array(sizes) == size) == pytest.approx(share, abs=0.02)


def test_sentences_change_places_as_wholes():
  end = VOCABULARY.ids["."]
  sentences = [[FIRST + 4 * k + n for n in range(3)] + [end] for k in range(8)]
  row = [CLS, *sum(sentences, []), SEP]
  orders = set()
  # One word of all is left out.
  for read in run(denoising.Infilling(VOCABULARY, LENGTH, 1e-9), [row] * 50)[0]:
    parts = [[]]
    for token in read[1:-1]:
      parts[-1].append(token)
      if token == end:
        parts.append([])
    whole = [part for part in parts if part in sentences]
    assert len(whole) >= 6
    orders.add(tuple(part[0] for part in whole))
  assert len(orders) > 40


@pytest.mark.parametrize("policy", (*INFILLING, "span_corruption", "prefix_lm"))
def test_noise_is_a_function_of_batch_and_seed(policy):
  rows = rows_of([30, 60, 90])
  noise = noise_of(policy)
  assert run(noise, rows) == run(noise, rows)
  if policy != "prefix_lm":  # It draws nothing.
    assert run(noise, rows) != run(noise, rows, (1, 3))


def test_an_empty_row_stays_empty():
  for policy in ("infilling", "span_corruption"):
    assert run(noise_of(policy), [[], *rows_of([5])])[0][0] == []


def test_special_tokens_inside_a_row_are_no_text():
  row = [5, 6, SEP, 7, 8, SEP, 9]  # As `--packing=documents` cuts them.
  read, [written] = run(noise_of("span_corruption", 7), [row])
  assert written[-1] == SEP
  assert written.count(SEP) == 1
  _, [written] = run(noise_of("infilling", 7), [row])
  assert written == [5, 6, 7, 8, 9, SEP]


def test_missing_sentinels_are_named():
  plain = vocabularies.Vocabulary((*vocabularies.SPECIAL_TOKENS, *WORDS))
  message = (
    "vocabulary has 0 of the 6 sentinels <extra_id_0> to <extra_id_5> that"
    " rows of 128 tokens need"
  )
  with pytest.raises(ValueError, match=message):
    denoising.SpanCorruption(plain, LENGTH, 0.15)


def test_spans_are_replaced_by_one_token_alone():
  with pytest.raises(ValueError, match="mask_token_prob .0.8. and random"):
    noise_of("infilling", mask_token_prob=0.8, random_token_prob=0.1)
