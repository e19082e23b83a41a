"""Word vectors from counts of what stands beside what."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import configs, models
from keras_bert_impl.training import cooccurrences, word_vectors
from tests import architectures

VOCAB_SIZE = 12


def rows_of(number=400, seed=0):
  """Rows of 2 to 9 tokens of 0 to 9; even ones stand beside even ones."""
  random = np.random.default_rng(seed)
  rows = []
  for _ in range(number):
    length, parity = random.integers(2, 10), random.integers(0, 2)
    rows.append(2 * random.integers(0, 5, length) + parity)
  return tf.ragged.constant([row.tolist() for row in rows], dtype=tf.int64)


def information(rows):
  """Information of the weighted counts, one pair after the other, [V, 2V]."""
  counts = np.zeros((VOCAB_SIZE, 2 * VOCAB_SIZE))
  for row in rows.to_list():
    for i, first in enumerate(row):
      for j, second in enumerate(row):
        if 0 < abs(i - j) <= 4:
          counts[first, second + VOCAB_SIZE * (j < i)] += 1 / abs(i - j)
  sums = counts.sum(1, keepdims=True)
  contexts = counts.sum(0) ** 0.75
  with np.errstate(divide="ignore", invalid="ignore"):
    logs = np.log(counts / (sums * contexts / contexts.sum()))
  return np.where(counts > 0, np.maximum(logs, 0), 0)


@pytest.mark.parametrize("size", [1, 3, 10, 30])
def test_vectors_are_the_principal_directions(size):
  rows = rows_of()
  found, vectors = cooccurrences.vectors(rows, VOCAB_SIZE, size)
  assert found.tolist() == list(range(10))
  left, values, _ = np.linalg.svd(information(rows)[:10])
  expected = (left * np.sqrt(values))[:, :size]
  expected -= expected.mean(0)
  # Each up to its sign.
  np.testing.assert_allclose(
    vectors @ vectors.T, expected @ expected.T, atol=1e-4
  )
  assert vectors.shape == (10, size) and vectors.dtype == np.float32


def test_what_is_used_alike_has_like_vectors():
  _, vectors = cooccurrences.vectors(rows_of(), VOCAB_SIZE, 2)
  products = vectors @ vectors.T
  is_alike = np.arange(10)[:, None] % 2 == np.arange(10) % 2
  assert products[is_alike].min() > products[~is_alike].max()


def test_tokens_outside_of_the_vocabulary_count_nothing():
  rows, damaged = rows_of(5).to_list(), [[-1, 3, 99], [12]]
  expected, found = (
    cooccurrences.vectors(tf.ragged.constant(each, tf.int64), VOCAB_SIZE, 3)
    for each in (rows, rows + damaged)
  )
  np.testing.assert_array_equal(found[1], expected[1])
  logs = cooccurrences.log_shares(tf.ragged.constant(damaged), VOCAB_SIZE)
  assert logs.argmax() == 3


def test_tables_and_biases_start_from_counts():
  keras.utils.set_random_seed(0)
  config = configs.EncoderConfig(
    **architectures.SMALL | {"initializer_range": 0.05}
  )
  model = models.PretrainingModel(config)
  rows = rows_of()
  before = {w.path: w.numpy() for w in model.weights}
  word_vectors.assign_counted(rows, model.weights, config.initializer_range)
  changed = {
    w.path: w.numpy()
    for w in model.weights
    if not np.array_equal(w.numpy(), before[w.path])
  }
  [table] = [v for path, v in changed.items() if "word_embed" in path]
  [bias] = [v for path, v in changed.items() if "output_bias" in path]
  assert len(changed) == 2
  assert table[:10].std() == pytest.approx(0.05, rel=1e-5)
  [old] = [v for path, v in before.items() if "word_embed" in path]
  np.testing.assert_array_equal(table[10:], old[10:])
  counts = np.bincount(rows.flat_values, minlength=len(bias)) + 1
  shares = np.exp(bias) / np.exp(bias).sum()
  np.testing.assert_allclose(shares, counts / counts.sum(), rtol=1e-5)
