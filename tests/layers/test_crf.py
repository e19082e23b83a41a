"""The conditional random field, against sums over all paths one by one."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl.layers.heads import crf


def score_of(path, logits, scores):
  """Returns the score of a path, added up term by term."""
  total = scores[-2, path[0]] + scores[-1, path[-1]]
  for place, tag in enumerate(path):
    total += logits[place, tag]
  for before, after in itertools.pairwise(path):
    total += scores[before, after]
  return total


def enumerate_paths(logits, scores):
  """Returns all paths of [n, C] logits and their scores."""
  paths = [*itertools.product(range(logits.shape[1]), repeat=len(logits))]
  return paths, np.array([score_of(p, logits, scores) for p in paths])


def make_cases(number, num_tags, seed):
  """Returns logits [N, 5, C], lengths from 1 to 5 and one table of scores."""
  rng = np.random.default_rng(seed)
  logits = rng.normal(0, 3, (number, 5, num_tags)).astype("float32")
  scores = rng.normal(0, 3, (num_tags + 2, num_tags)).astype("float32")
  lengths = rng.integers(1, 6, number).astype("int32")
  return logits, scores, lengths, rng.integers(0, num_tags, (number, 5))


# 9 tables, 20 rows each.
@pytest.mark.parametrize("num_tags", [2, 3, 4])
def test_small_cases_agree_with_all_their_paths(num_tags):
  for seed in range(3):
    logits, scores, lengths, labels = make_cases(20, num_tags, seed)
    totals = crf.log_partition(logits, scores, lengths)
    losses = crf.negative_log_likelihood(logits, scores, labels, lengths)
    best = np.array(crf.viterbi(logits, scores, lengths))
    shares = np.array(crf.marginals(logits, scores, lengths))
    for row, length in enumerate(lengths):
      paths, values = enumerate_paths(logits[row, :length], scores)
      total = np.logaddexp.reduce(values.astype("float64"))
      np.testing.assert_allclose(totals[row], total, rtol=1e-5)
      given = score_of(labels[row, :length], logits[row], scores)
      np.testing.assert_allclose(losses[row], total - given, atol=1e-4)
      assert tuple(best[row, :length]) == paths[np.argmax(values)]
      assert not best[row, length:].any()
      expected = np.zeros_like(shares[row])
      for path, value in zip(paths, values):
        expected[np.arange(length), path] += np.exp(value - total)
      np.testing.assert_allclose(shares[row], expected, atol=1e-5)


def test_the_gradient_is_that_of_finite_differences():
  logits, scores, lengths, labels = make_cases(4, 3, 0)
  labels[0, lengths[0] :] = 2  # Beyond the row: it must not count.

  def loss(logits, scores):
    return tf.reduce_sum(
      crf.negative_log_likelihood(logits, scores, labels, lengths)
    )

  def exact(logits, scores):
    total = 0.0
    for row, length in enumerate(lengths):
      _, values = enumerate_paths(logits[row, :length], scores)
      path = labels[row, :length]
      total += np.logaddexp.reduce(values) - score_of(path, logits[row], scores)
    return total

  arrays = tf.constant(logits), tf.constant(scores)
  with tf.GradientTape() as tape:
    tape.watch(arrays)
    value = loss(*arrays)
  gradients = tape.gradient(value, arrays)
  given = [logits.astype("float64"), scores.astype("float64")]
  for which, gradient in enumerate(gradients):
    for index in np.ndindex(*gradient.shape):
      moved = []
      for delta in (1e-4, -1e-4):
        arguments = [array.copy() for array in given]
        arguments[which][index] += delta
        moved.append(exact(*arguments))
      slope = (moved[0] - moved[1]) / 2e-4
      np.testing.assert_allclose(gradient[index], slope, atol=1e-3)


def test_rows_without_tokens_cost_nothing():
  logits, scores, _, labels = make_cases(2, 3, 0)
  lengths = np.zeros(2, "int32")
  logits = tf.constant(logits)
  with tf.GradientTape() as tape:
    tape.watch(logits)
    loss = crf.negative_log_likelihood(logits, scores, labels, lengths)
  assert not np.any(loss) and not np.any(tape.gradient(loss, logits))
  assert not np.any(crf.viterbi(logits, scores, lengths))


def test_only_labelled_places_take_part():
  logits, scores, lengths, labels = make_cases(30, 3, 1)
  rng = np.random.default_rng(1)
  wide = rng.normal(0, 9, (30, 11, 3)).astype("float32")
  spread = np.full((30, 11), -1)
  for row, length in enumerate(lengths):
    places = np.sort(rng.permutation(11)[:length])
    wide[row, places] = logits[row, :length]
    spread[row, places] = labels[row, :length]
  found, *moved = crf.to_front(spread >= 0, wide, spread)
  np.testing.assert_array_equal(found, lengths)
  np.testing.assert_allclose(
    crf.negative_log_likelihood(
      moved[0], scores, np.maximum(moved[1], 0), found
    ),
    crf.negative_log_likelihood(logits, scores, labels, lengths),
    atol=1e-4,
  )


def test_lengths_may_be_unknown_in_a_graph():
  cases = make_cases(4, 3, 0)
  spec = tf.TensorSpec([None, None, 3])
  search = tf.function(
    lambda logits: crf.viterbi(logits, *cases[1:3]), input_signature=[spec]
  )
  np.testing.assert_array_equal(search(cases[0]), crf.viterbi(*cases[:3]))


@pytest.mark.integration
@pytest.mark.xla
def test_xla_compiles_loss_gradient_and_search():
  logits, scores, lengths, labels = make_cases(8, 3, 2)

  def step(logits, scores):
    with tf.GradientTape() as tape:
      tape.watch([logits, scores])
      loss = crf.negative_log_likelihood(logits, scores, labels, lengths)
    best = crf.viterbi(logits, scores, lengths)
    return loss, *tape.gradient(loss, [logits, scores]), best

  arrays = tf.constant(logits), tf.constant(scores)
  compiled = tf.function(step, jit_compile=True)(*arrays)
  for found, expected in zip(compiled, step(*arrays), strict=True):
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_the_layer_keeps_its_tables_in_the_keras_file(tmp_path):
  inputs = keras.Input((None, 3))
  layer = crf.ConditionalRandomField(name="crf")
  model = keras.Model(inputs, layer(inputs))
  assert not np.any(model(np.ones((2, 4, 3))))
  tables = np.arange(15, dtype="float32").reshape(5, 3)
  layer.set_weights([tables[:3], tables[3], tables[4]])
  model.save(tmp_path / "model.keras")
  again = keras.models.load_model(tmp_path / "model.keras")
  scores = np.array(again(np.ones((2, 4, 3), "float32")))
  np.testing.assert_array_equal(scores, [tables, tables])
  assert [w.path for w in again.weights] == [
    "crf/transitions",
    "crf/start",
    "crf/end",
  ]
