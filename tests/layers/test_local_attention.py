"""Attention within a window: what a mask would give, in less time."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import layers
from tests.layers.arrays import assert_close

LENGTH = 37
WINDOW = 8
RNG = np.random.default_rng(0)
HIDDEN = RNG.normal(size=(2, LENGTH, 8)).astype("float32")
PLACE = np.arange(LENGTH)
NEAR = np.abs(PLACE[:, None] - PLACE) <= WINDOW // 2
PADDING = np.array([[LENGTH - 3], [LENGTH]]) > PLACE
TEXTS = np.cumsum(RNG.random((2, LENGTH)) < 0.1, axis=1)
PACKED = TEXTS[:, :, None] == TEXTS[:, None, :]


def make(window=WINDOW, dropout_rate=0.0, causal_direction=None):
  keras.utils.set_random_seed(0)
  kind = layers.FullAttention(causal_direction)
  if window:
    kind = layers.LocalAttention(window, causal_direction)
  layer = layers.SelfAttention(2, dropout_rate, kind, initializer_range=0.5)
  layer.build((None, None, 8))
  return layer


def run(layer, mask, length=LENGTH, jit_compile=False, positions=None):
  """Returns the context and the gradients of input and weights."""

  @tf.function(
    input_signature=[tf.TensorSpec([2, length, 8])], jit_compile=jit_compile
  )
  def call(hidden):
    with tf.GradientTape() as tape:
      tape.watch(hidden)
      context = layer(hidden, mask, positions=positions, training=True)
      loss = tf.reduce_sum(context**2)
    weights = [variable.value for variable in layer.trainable_variables]
    return context, *tape.gradient(loss, [hidden, *weights])

  return [np.array(x) for x in call(HIDDEN)]


@pytest.mark.parametrize(
  ("mask", "seen", "direction"),
  [
    (None, NEAR[None], None),
    (PADDING, NEAR & PADDING[:, None], "left_to_right"),
    (PADDING, NEAR & PADDING[:, None], "right_to_left"),
    (PACKED, NEAR & PACKED, None),
    (TEXTS[:, :, None], NEAR & PACKED, "right_to_left"),
  ],
  ids=["all", "before", "after", "packed", "texts"],
)
def test_it_is_what_a_mask_of_the_window_gives(mask, seen, direction):
  if mask is PADDING and direction == "right_to_left":
    # Behind all tokens it would see nothing, which is not defined.
    mask, seen = mask[:, ::-1], seen[:, ::-1, ::-1]
  expected = run(make(None, causal_direction=direction), seen)
  assert_close(run(make(causal_direction=direction), mask), expected)


def test_queries_and_keys_are_turned():
  positions = {"rotary": layers.RotaryEmbedding(4)(HIDDEN)}
  expected = run(make(None), NEAR[None], positions=positions)
  assert_close(run(make(), None, positions=positions), expected)
  assert np.abs(expected[0] - run(make(), None)[0]).max() > 0.1


@pytest.mark.parametrize("mask", [PADDING, PACKED, TEXTS[:, :, None]])
def test_the_length_need_not_be_known(mask):
  layer, columns = make(), None if mask is PACKED else mask.shape[-1]
  shapes = [2, None, 8], [2, None, columns][: mask.ndim]
  dtypes = "float32", mask.dtype

  @tf.function(input_signature=[*map(tf.TensorSpec, shapes, dtypes)])
  def call(hidden, mask):
    with tf.GradientTape() as tape:
      tape.watch(hidden)
      context = layer(hidden, mask, training=True)
      loss = tf.reduce_sum(context**2)
    weights = [variable.value for variable in layer.trainable_variables]
    return context, *tape.gradient(loss, [hidden, *weights])

  for length in (1, 2, 7, 8, 9, 16, LENGTH):
    here = mask[:, :length, :length] if mask is PACKED else mask[:, :length]
    inputs = tf.constant(HIDDEN[:, :length]), tf.constant(here)
    assert_close(call(*inputs), call.python_function(*inputs))


@pytest.mark.parametrize(
  ("length", "scores"), [(3, (4, 4)), (7, (8, 8)), (9, (8, 16)), (20, (8, 16))]
)
def test_blocks_are_no_longer_than_the_row(length, scores):
  kind = layers.LocalAttention(WINDOW)

  @tf.function(input_signature=[tf.TensorSpec([1, None, 2, 4])])
  def probs(x):
    options = {"whole": False, "training": False}
    return kind.attend(x, x, x, None, {}, lambda x, _: x, **options)[1]

  assert probs(tf.ones([1, length, 2, 4])).shape[2:] == scores


@pytest.mark.integration
@pytest.mark.xla
def test_it_is_compiled_by_xla():
  assert_close(run(make(), PADDING, jit_compile=True), run(make(), PADDING))


@pytest.mark.parametrize("length", [15, 16, 17])
def test_short_rows_give_the_same_as_long_ones(length):
  """The tokens of a row that is padded far beyond two windows."""
  layer = make()
  mask = np.broadcast_to(PLACE < length, (2, LENGTH))
  short = layer(HIDDEN[:, :length])
  np.testing.assert_allclose(
    layer(HIDDEN, mask)[:, :length], short, rtol=0, atol=1e-5
  )


def test_what_sees_nothing_gets_the_mean_of_the_row():
  layer = make()
  mask = np.broadcast_to(PLACE < 9, (2, LENGTH))
  context = np.array(layer(HIDDEN, mask))
  mean = np.array(layer.value(HIDDEN)).mean(axis=1)
  np.testing.assert_allclose(
    context[:, 13:],
    np.broadcast_to(mean[:, None], context[:, 13:].shape),
    atol=1e-5,
  )
  # As do rows of up to two windows.
  context = np.array(layer(HIDDEN[:, :16], mask[:, :16]))
  mean = np.array(layer.value(HIDDEN[:, :16])).mean(axis=1)
  np.testing.assert_allclose(context[:, 15], mean, atol=1e-5)


def test_probabilities_are_returned_for_all_positions():
  probs = make().attention_probs(HIDDEN)
  assert probs.shape == (2, 2, LENGTH, LENGTH)
  np.testing.assert_array_equal(
    np.array(probs) > 0, np.broadcast_to(NEAR, probs.shape)
  )


@pytest.mark.parametrize("texts", [False, True])
def test_no_tensor_has_the_square_of_the_length(texts):
  layer, length = make(), 4096
  mask = np.arange(length)[None, :, None] // 300 if texts else None

  @tf.function(input_signature=[tf.TensorSpec([1, length, 8])])
  def gradient(hidden):
    with tf.GradientTape() as tape:
      tape.watch(hidden)
      loss = tf.reduce_sum(layer(hidden, mask, training=True) ** 2)
    return tape.gradient(loss, hidden)

  sizes = [
    tensor.shape.num_elements() or 0
    for op in gradient.get_concrete_function().graph.get_operations()
    for tensor in op.outputs
    if tensor.shape.rank is not None
  ]
  # Scores of N heads, with 2 W keys.
  assert max(sizes) == length * 2 * 2 * WINDOW


def test_a_batch_may_be_empty():
  layer = make()
  mask = np.ones((0, LENGTH), "int32")

  @tf.function(input_signature=[tf.TensorSpec([None, None, 8])])
  def call(hidden):
    return layer(hidden, mask)

  assert call(HIDDEN[:0]).shape == (0, LENGTH, 8)


@pytest.mark.parametrize("window", [1, 0, -2, 2.0, True])
def test_a_window_of_no_neighbours_is_refused(window):
  with pytest.raises(ValueError, match=f"window .{window}. of .* at least 2"):
    layers.LocalAttention(window)


def test_other_scores_are_refused():
  bias = np.zeros((1, 2, LENGTH, LENGTH), "float32")
  with pytest.raises(ValueError, match="bias .* does not go .* window .8. of"):
    make()(HIDDEN, positions={"bias": bias})


def test_every_block_has_a_dropout_mask_of_its_own():
  layer = make(dropout_rate=0.5)
  layer.value.kernel.assign(np.zeros((8, 8)))
  layer.value.bias.assign(np.ones(8))
  with layers.random_seed([1, 2]):
    context = np.array(layer(HIDDEN, training=True))
  kept = context[:, :32, ::4].reshape(2, 4, 8, 2)  # [B, blocks, W, N]
  assert (np.abs(kept[:, :1] - kept[:, 1:]).max(axis=(0, 2, 3)) > 0.1).all()
