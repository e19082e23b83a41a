import collections
import itertools

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import choices, features
from keras_bert_impl.tasks.masking import masking
from keras_bert_impl.tokenizers.formats import vocabularies

LENGTH = 64
NUM_WORDS, NUM_PIECES = 60, 35
VOCABULARY = vocabularies.Vocabulary(
  (
    *vocabularies.SPECIAL_TOKENS,
    *(f"w{k}" for k in range(NUM_WORDS)),
    *(f"##p{k}" for k in range(NUM_PIECES)),
  )
)
CLS, SEP, MASK = VOCABULARY.cls_id, VOCABULARY.sep_id, VOCABULARY.mask_id
FIRST_WORD = len(vocabularies.SPECIAL_TOKENS)
FIRST_PIECE = FIRST_WORD + NUM_WORDS


def instances(count, length=None, seed=0):
  """Rows [CLS] A [SEP] B [SEP]; A and B each begin with a word."""
  rng = np.random.default_rng(seed)
  rows = []
  for _ in range(count):
    n = length or int(rng.integers(5, LENGTH + 1))
    row = rng.integers(FIRST_WORD, VOCABULARY.size, n)
    middle = int(rng.integers(2, n - 2)) if n > 5 else 2
    row[[1, middle + 1]] = FIRST_WORD
    row[0], row[middle], row[-1] = CLS, SEP, SEP
    rows.append(row.tolist())
  return rows


def ragged(rows, dtype="int64", splits=tf.int64):
  """As tf.ragged.constant, which takes minutes for many rows."""
  return tf.RaggedTensor.from_row_lengths(
    np.concatenate([np.array(row, dtype) for row in rows]),
    tf.constant([len(row) for row in rows], splits),
  )


def mask(rows, seed=(1, 2), labels=None, max_seq_length=LENGTH, **options):
  """Returns the masked rows as arrays."""
  batch = {"input_ids": ragged(rows)}
  if labels is not None:
    batch["next_sentence_labels"] = tf.constant(labels, tf.int64)
  masked = masking.Masking(VOCABULARY, max_seq_length, **options)(
    batch, tf.constant(seed, tf.int32)
  )
  return {name: tensor.numpy() for name, tensor in masked.items()}


def unmasked(masked):
  """Returns the rows before they were masked, from the labels."""
  ids = masked["input_ids"].copy()
  for row, *predictions in zip(
    ids,
    masked["masked_lm_positions"],
    masked["masked_lm_ids"],
    masked["masked_lm_weights"],
    strict=True,
  ):
    for position, label, weight in zip(*predictions, strict=True):
      if weight:
        row[position] = label
  lengths = masked["input_mask"].sum(axis=1)
  return [row[:n].tolist() for row, n in zip(ids, lengths, strict=True)]


def chosen(masked):
  """Returns the set of chosen positions of each row."""
  return [
    set(positions[weights > 0].tolist())
    for positions, weights in zip(
      masked["masked_lm_positions"], masked["masked_lm_weights"], strict=True
    )
  ]


def words_of(row):
  """Returns the words of a row as lists of positions."""
  words = []
  for position, token in enumerate(row):
    if token in (CLS, SEP):
      continue
    begins = token < FIRST_PIECE or row[position - 1] in (CLS, SEP)
    if begins:
      words.append([])
    words[-1].append(position)
  return words


POLICIES = pytest.mark.parametrize("policy", choices.MASKING_POLICIES)
# Spans do not touch: the words at the ends of a segment are chosen less often,
# and a large share of the tokens cannot be chosen.
SINGLE_POLICIES = pytest.mark.parametrize("policy", ("token", "whole_word"))


@POLICIES
def test_a_masked_batch_has_the_features_of_a_masked_record(policy):
  rows = instances(50)
  labels = [[0]] * 49 + [[1]]
  masked = mask(rows, labels=labels, masking_policy=policy)
  expected = features.masked_record(LENGTH, 20)
  assert masked.keys() == expected.keys()
  for name, feature in expected.items():
    assert masked[name].shape == (50, *feature.shape)
    assert masked[name].dtype == feature.dtype.replace("int64", "int32")
  assert masked["next_sentence_labels"].tolist() == labels
  assert unmasked(masked) == rows
  for row, positions, ids, weights in zip(
    rows,
    masked["masked_lm_positions"],
    masked["masked_lm_ids"],
    masked["masked_lm_weights"],
    strict=True,
  ):
    count = int(weights.sum())
    assert count >= 1
    assert weights.tolist() == [1.0] * count + [0.0] * (20 - count)
    assert (np.diff(positions[:count]) > 0).all()
    assert ids[:count].tolist() == [row[p] for p in positions[:count]]
    assert not {CLS, SEP} & set(ids[:count].tolist())
    assert not positions[count:].any() and not ids[count:].any()


def test_segments_and_mask_by_hand():
  w = FIRST_WORD
  masked = mask(
    [[CLS, w, SEP, w, w, SEP], [CLS, w, SEP]],
    max_seq_length=8,
    labels=[[1], [0]],
  )
  assert masked["segment_ids"].tolist() == [
    [0, 0, 0, 1, 1, 1, 0, 0],
    [0] * 8,
  ]
  # Without pairs the documents of a record are one segment.
  alone = mask([[CLS, w, SEP, w, w, SEP]], max_seq_length=8)
  assert features.NEXT_SENTENCE_LABELS not in alone
  assert not alone["segment_ids"].any()
  assert masked["input_mask"].tolist() == [
    [1, 1, 1, 1, 1, 1, 0, 0],
    [1, 1, 1, 0, 0, 0, 0, 0],
  ]
  assert masked["input_ids"][:, 6:].tolist() == [[0, 0], [0, 0]]


def test_padding_is_the_vocabularys():
  special = vocabularies.SPECIAL_TOKENS
  vocabulary = vocabularies.Vocabulary(("w", *special))  # [PAD] is 1
  row = [vocabulary.cls_id, 0, vocabulary.sep_id]
  masked = masking.Masking(vocabulary, 5)(
    {"input_ids": ragged([row])}, tf.constant([1, 2])
  )
  assert masked["input_ids"][0, 3:].numpy().tolist() == [1, 1]


@pytest.mark.parametrize(
  ("policy", "prob", "most"),
  [
    *((policy, 0.15, 20) for policy in choices.MASKING_POLICIES),
    ("token", 0.15, 5),
    ("span", 0.3, 40),
  ],
)
def test_number_of_predictions_is_that_of_the_original(policy, prob, most):
  rows = [[CLS] + [FIRST_WORD] * (n - 2) + [SEP] for n in range(3, LENGTH + 1)]
  masked = mask(
    rows,
    masking_policy=policy,
    masked_lm_prob=prob,
    max_predictions_per_seq=most,
  )
  expected = [min(most, max(1, round(len(row) * prob))) for row in rows]
  # The original would go on to mask [CLS] where only special tokens are left.
  expected = [min(k, len(row) - 2) for k, row in zip(expected, rows)]
  assert masked["masked_lm_weights"].sum(axis=1).tolist() == expected


@pytest.mark.parametrize(
  ("options", "masks", "kept"),
  [
    ({}, 0.8, 0.1),
    ({"mask_token_prob": 0.6, "random_token_prob": 0.3}, 0.6, 0.1),
    ({"mask_token_prob": 1.0, "random_token_prob": 0.0}, 1.0, 0.0),
  ],
)
def test_chosen_tokens_become_mask_random_or_stay(options, masks, kept):
  masked = mask(instances(3000, LENGTH), **options)
  weights = masked["masked_lm_weights"] > 0
  assert weights.sum() / weights.shape[0] == 10  # 15 % of 64
  found = np.take_along_axis(
    masked["input_ids"], masked["masked_lm_positions"], axis=1
  )[weights]
  labels = masked["masked_lm_ids"][weights]
  # [MASK] or the label drawn as random.
  by_chance = (1 - masks - kept) / VOCABULARY.size
  assert np.mean(found == MASK) == pytest.approx(masks + by_chance, abs=0.01)
  assert np.mean(found == labels) == pytest.approx(kept + by_chance, abs=0.01)
  # The whole vocabulary is drawn from, special tokens included.
  random = found[(found != MASK) & (found != labels)]
  if masks == 0.6:
    counts = np.bincount(random, minlength=VOCABULARY.size)
    others = np.delete(counts, MASK)
    assert others.min() > 0.6 * others.mean()
    assert others.max() < 1.4 * others.mean()


def test_all_sets_of_tokens_are_chosen_alike():
  row = [CLS] + [FIRST_WORD] * 6 + [SEP]
  count = 20_000
  masked = mask([row] * count, masked_lm_prob=0.5, max_predictions_per_seq=3)
  sets = collections.Counter(map(frozenset, chosen(masked)))
  assert len(sets) == 20  # 3 of 6
  assert all(abs(n / count - 1 / 20) < 0.008 for n in sets.values())


@pytest.mark.parametrize("prob,most", [(0.15, 20), (0.5, 3), (0.5, 1)])
def test_words_are_masked_whole(prob, most):
  rows = instances(300)
  masked = mask(
    rows,
    masking_policy="whole_word",
    masked_lm_prob=prob,
    max_predictions_per_seq=most,
  )
  for row, positions in zip(rows, chosen(masked), strict=True):
    words = words_of(row)
    budget = min(most, max(1, round(prob * len(row))))
    left = budget - len(positions)
    assert positions and left >= 0
    for word in words:
      taken = positions & set(word)
      if taken and min(map(len, words)) <= budget:
        assert taken == set(word)
      # As many words as fit: none that would still fit is left out.
      assert taken or len(word) > left


def test_words_are_taken_in_an_order_of_equal_chances():
  w, p = FIRST_WORD, FIRST_PIECE
  row = [CLS, w, p, w, w, p, w, SEP]
  words = [(1, 2), (3,), (4, 5), (6,)]
  # What the original's loop takes in each of the 24 orders, with a budget of 3.
  expected = collections.Counter()
  for order in itertools.permutations(words):
    taken = []
    for word in order:
      if len(taken) + len(word) <= 3:
        taken += word
    expected[frozenset(taken)] += 1 / 24
  count = 20_000
  masked = mask(
    [row] * count, masking_policy="whole_word", masked_lm_prob=3 / 8
  )
  found = collections.Counter(map(frozenset, chosen(masked)))
  assert found.keys() == expected.keys()
  for positions, share in expected.items():
    assert found[positions] / count == pytest.approx(share, abs=0.015)


@pytest.mark.parametrize("policy", ("whole_word", "ngram", "span"))
def test_word_longer_than_the_budget_gives_its_leading_pieces(policy):
  row = [CLS, FIRST_WORD] + [FIRST_PIECE] * 30 + [SEP]
  masked = mask([row], masking_policy=policy)
  assert chosen(masked) == [{1, 2, 3, 4, 5}]  # round(0.15 * 33)


@pytest.mark.parametrize("policy", ("whole_word", "ngram", "span"))
def test_word_does_not_reach_over_a_separator(policy):
  row = [CLS, FIRST_WORD, SEP, FIRST_PIECE, FIRST_PIECE, SEP]
  masked = mask([row] * 20, masking_policy=policy, masked_lm_prob=0.34)
  for positions in chosen(masked):
    assert positions in ({1}, {3, 4})


@POLICIES
def test_masks_are_those_of_the_seed_in_a_graph_too(policy):
  rows = instances(20)
  expected = mask(rows, masking_policy=policy)
  other = mask(rows, (1, 3), masking_policy=policy)
  assert (other["masked_lm_positions"] != expected["masked_lm_positions"]).any()
  mask_batch = tf.function(
    masking.Masking(VOCABULARY, LENGTH, masking_policy=policy), autograph=False
  )
  # `mask` gives int64 with int64.
  ids = ragged(rows, "int32", tf.int32)
  masked = mask_batch({"input_ids": ids}, tf.constant([1, 2]))
  for name, array in expected.items():
    assert (masked[name].numpy() == array).all()


@POLICIES
def test_rows_with_nothing_to_predict_have_no_prediction(policy):
  rows = [*instances(3), [CLS, SEP, SEP], [], []]
  masked = mask(rows, masking_policy=policy)
  assert masked["masked_lm_weights"][:3].any(axis=1).all()
  assert masked["input_ids"][3, :3].tolist() == [CLS, SEP, SEP]
  assert not masked["masked_lm_weights"][3:].any()
  for array in masked.values():
    assert not array[4:].any()
  for array in mask([[], []], masking_policy=policy).values():
    assert not array.any()


@SINGLE_POLICIES
def test_more_predictions_than_tokens_are_padded(policy):
  row = [CLS, FIRST_WORD, FIRST_WORD, SEP]
  masked = mask(
    [row],
    masking_policy=policy,
    max_seq_length=4,
    max_predictions_per_seq=6,
    masked_lm_prob=1.0,
  )
  assert masked["masked_lm_positions"].tolist() == [[1, 2, 0, 0, 0, 0]]
  assert masked["masked_lm_weights"].tolist() == [[1, 1, 0, 0, 0, 0]]


def test_row_longer_than_max_seq_length_is_an_error():
  with pytest.raises(tf.errors.InvalidArgumentError, match="max_seq_length"):
    mask([[CLS] + [FIRST_WORD] * 8 + [SEP]], max_seq_length=9)
