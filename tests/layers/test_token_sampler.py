import numpy as np
import tensorflow as tf

from keras_bert_impl import layers

IDS = np.array([[1, 9, 9, 4, 5], [1, 9, 3, 4, 0]])
POSITIONS = np.array([[1, 2], [1, 0]])
ORIGINALS = np.array([[2, 3], [2, 0]])
WEIGHTS = np.array([[1, 1], [1, 0]], "float32")


def certain_logits(tokens, vocab_size=10):
  """Logits of a generator that is sure of `tokens`, [B, P]."""
  return np.eye(vocab_size, dtype="float32")[tokens] * 100.0


def sample(logits, seed=(1, 2)):
  with layers.random_seed(seed):
    ids, is_replaced = layers.TokenSampler(name="sampler")(
      IDS, POSITIONS, ORIGINALS, WEIGHTS, logits
    )
  assert ids.dtype == is_replaced.dtype == "int32"
  return ids.numpy(), is_replaced.numpy()


def test_drawn_tokens_take_the_place_of_the_masks():
  ids, is_replaced = sample(certain_logits([[7, 8], [6, 7]]))
  np.testing.assert_array_equal(ids, [[1, 7, 8, 4, 5], [1, 6, 3, 4, 0]])
  np.testing.assert_array_equal(is_replaced, [[0, 1, 1, 0, 0], [0, 1, 0, 0, 0]])


def test_a_token_drawn_equal_to_the_original_counts_as_original():
  ids, is_replaced = sample(certain_logits([[2, 8], [2, 7]]))
  np.testing.assert_array_equal(ids, [[1, 2, 8, 4, 5], [1, 2, 3, 4, 0]])
  np.testing.assert_array_equal(is_replaced, [[0, 0, 1, 0, 0], [0, 0, 0, 0, 0]])


def test_tokens_are_drawn_with_the_probabilities_of_the_generator():
  probabilities = np.array([0.5, 0.3, 0.15, 0.05], "float32")
  batch, predictions = 400, 50
  logits = np.broadcast_to(np.log(probabilities), (batch, predictions, 4))
  positions = np.broadcast_to(np.arange(predictions), (batch, predictions))
  zeros, ones = np.zeros_like(positions), np.ones(positions.shape, "float32")
  with layers.random_seed([3, 4]):
    ids, _ = layers.TokenSampler()(zeros, positions, zeros, ones, logits)
  shares = np.bincount(ids.numpy().ravel(), minlength=4) / ids.numpy().size
  # Standard error of a share of 20,000: at most 0.0036.
  np.testing.assert_allclose(shares, probabilities, atol=0.015)


def test_the_seed_decides_the_draw():
  logits = np.zeros((2, 2, 1000), "float32")
  first = sample(logits)[0]
  np.testing.assert_array_equal(sample(logits)[0], first)
  assert (sample(logits, (1, 3))[0] != first).any()


def test_no_gradient_flows_to_the_generator():
  logits = tf.Variable(certain_logits([[7, 8], [6, 7]]))
  with layers.random_seed([1, 2]), tf.GradientTape() as tape:
    ids, _ = layers.TokenSampler()(IDS, POSITIONS, ORIGINALS, WEIGHTS, logits)
    loss = tf.reduce_sum(tf.cast(ids, "float32"))
  assert tape.gradient(loss, logits) is None
