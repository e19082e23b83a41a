"""Disentangled attention against sums written out pair by pair."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import layers
from keras_bert_impl.layers.attention import (
  disentangled,
  relative_attention,
)
from keras_bert_impl.layers.attention import scores as scores_lib
from tests.layers.arrays import assert_close

HIDDEN = 8
HEADS = 2
OPTIONS = {
  "pos_att_type": "c2p|p2c",
  "share_att_key": False,
  "use_key_bias": True,
  "position_buckets": -1,
  "max_relative_positions": 3,
  "dropout_rate": 0.0,
}


def make(
  num_distances=3,
  use_layer_norm=False,
  chunk_size=None,
  causal_direction=None,
  **options,
):
  """Returns the table of positions and an attention, with random weights."""
  table = layers.RelativeEmbeddings(
    num_distances, use_layer_norm, initializer_range=0.5
  )
  kind = layers.DisentangledBias(
    **OPTIONS | options,
    initializer_range=0.5,
    causal_direction=causal_direction,
    chunk_size=chunk_size,
    name="disentangled",
  )
  attention = layers.SelfAttention(HEADS, 0.0, kind, initializer_range=0.5)
  table.build((None, None, HIDDEN))
  attention.build((None, None, HIDDEN))
  rng = np.random.default_rng(1)
  for weight in (*table.weights, *attention.weights):
    weight.assign(rng.normal(0, 0.5, weight.shape))
  return table, attention


def expected_scores(hidden, mask, rows, attention, row_of):
  """Returns [B, N, L, L], a pair at a time; `row_of` of a distance."""
  positions = attention.kind
  share, kinds = positions.share_att_key, positions.pos_att_type
  to_key = attention.key if share else positions.pos_key
  to_query = attention.query if share else positions.pos_query

  def heads(dense, x):
    out = np.asarray(dense(keras.ops.convert_to_tensor(x)))
    return out.reshape(*out.shape[:-1], HEADS, -1)

  query, key = heads(attention.query, hidden), heads(attention.key, hidden)
  batch, length = mask.shape
  scores = np.zeros((batch, HEADS, length, length))
  for b, n, i, j in np.ndindex(*scores.shape):
    row = row_of(i - j)
    score = query[b, i, n] @ key[b, j, n]
    if "c2p" in kinds:
      score += query[b, i, n] @ heads(to_key, rows)[row, n]
    if "p2c" in kinds:
      score += key[b, j, n] @ heads(to_query, rows)[row, n]
    scores[b, n, i, j] = score
  num_kinds = 1 + len(kinds.split("|"))
  return scores / np.sqrt(HIDDEN // HEADS * num_kinds)


def softmax(scores, mask):
  seen = (mask[:, :, None] * mask[:, None, :])[:, None] > 0
  scores = np.where(seen, scores, -1e30)
  scores = np.exp(scores - scores.max(-1, keepdims=True))
  return scores / scores.sum(-1, keepdims=True)


@pytest.mark.parametrize(
  ("pos_att_type", "share_att_key", "length"),
  [
    ("c2p|p2c", False, 7),
    ("c2p|p2c", True, 2),
    ("c2p", False, 7),
    ("p2c", True, 7),
    ("p2c", False, 1),
  ],
)
def test_scores_are_sums_over_contents_and_positions(
  pos_att_type, share_att_key, length
):
  table, attention = make(
    pos_att_type=pos_att_type, share_att_key=share_att_key
  )
  rng = np.random.default_rng(0)
  hidden = rng.normal(size=(2, length, HIDDEN)).astype("float32")
  mask = np.ones((2, length), "int32")
  mask[1, length // 2 + 1 :] = 0
  probs = attention.attention_probs(hidden, mask, {"distances": table(hidden)})
  rows = np.asarray(table.rel_embeddings)
  scores = expected_scores(
    hidden, mask, rows, attention, lambda d: np.clip(d, -3, 2) + 3
  )
  np.testing.assert_allclose(probs, softmax(scores, mask), atol=1e-5)


def test_padding_sees_all_alike_and_is_not_seen():
  table, attention = make()
  hidden = np.random.default_rng(0).normal(size=(1, 5, HIDDEN))
  mask = np.array([[1, 1, 1, 0, 0]])
  probs = attention.attention_probs(hidden, mask, {"distances": table(hidden)})
  np.testing.assert_allclose(probs[:, :, 3:], 0.2, atol=1e-6)
  np.testing.assert_array_equal(probs[:, :, :3, 3:], 0.0)


def test_a_row_needs_no_more_rows_of_the_table_than_it_has_distances():
  table, _ = make(num_distances=30)
  for length, rows in ((5, 10), (29, 58), (40, 60)):
    assert table(np.zeros((1, length, HIDDEN))).shape == (rows, HIDDEN)
  middle = np.asarray(table.rel_embeddings)[25:35]
  np.testing.assert_array_equal(table(np.zeros((1, 5, HIDDEN))), middle)


def test_buckets_are_those_of_the_released_code():
  # By make_log_bucket_position(distance, 8, 20) of transformers 5.23.
  positive = [1, 2, 3, 4, 5, 5, 6, 6, 6, 6, 6, 7, 7, 7, 7, 7, 7, 7, 7, 8]
  buckets = disentangled._buckets(8, 20, 20)
  np.testing.assert_array_equal(buckets[21:], positive)
  np.testing.assert_array_equal(buckets, -buckets[::-1])


@pytest.mark.parametrize("sizes", [(8, 20), (4, 8), (5, 30), (256, 512)])
def test_what_is_far_is_in_the_last_bucket_however_far(sizes):
  furthest = disentangled._furthest(*sizes)
  buckets = disentangled._buckets(*sizes, 4 * furthest)[4 * furthest :]
  assert (buckets[furthest:] >= sizes[0]).all()


def test_the_convolution_is_that_of_each_window():
  layer = layers.TokenConvolution(3, groups=2, activation="relu")
  rng = np.random.default_rng(0)
  hidden, output = rng.normal(size=(2, 1, 5, 4)).astype("float32")
  mask = np.array([[1, 1, 1, 1, 0]])
  layer.build(hidden.shape)
  layer.kernel.assign(rng.normal(size=(3, 2, 4)))
  layer.bias.assign(rng.normal(size=4))
  kernel, bias = np.asarray(layer.kernel), np.asarray(layer.bias)
  padded = np.pad(hidden[0], [[1, 1], [0, 0]])
  found = np.zeros((5, 4))
  for place, channel in np.ndindex(5, 4):
    first = 2 * (channel // 2)
    window = padded[place : place + 3, first : first + 2]
    found[place, channel] = np.sum(window * kernel[:, :, channel])
  found = np.maximum((found + bias) * mask[0][:, None], 0) + output[0]
  found -= found.mean(-1, keepdims=True)
  found /= np.sqrt(found.var(-1, keepdims=True) + 1e-7)
  expected = found * mask[0][:, None]
  np.testing.assert_allclose(
    layer(hidden, output, mask)[0], expected, atol=1e-5
  )


@pytest.mark.parametrize("length", [8, 11])
def test_blocks_of_tokens_score_as_all_at_once(length, monkeypatch):
  table, attention = make(position_buckets=4, max_relative_positions=8)
  rng = np.random.default_rng(0)
  hidden = rng.normal(size=(2, length, HIDDEN)).astype("float32")
  mask = np.arange(length) < [[length], [length - 3]]
  found = []
  for size in (length, 4):
    monkeypatch.setattr(disentangled, "_BLOCK_SIZE", size)
    found.append(
      attention(hidden, mask, positions={"distances": table(hidden)})
    )
  np.testing.assert_allclose(*found, atol=1e-5)


LENGTH = 37
RNG = np.random.default_rng(0)
STATES = RNG.normal(size=(2, LENGTH, HIDDEN)).astype("float32")
TEXTS = np.cumsum(RNG.random((2, LENGTH)) < 0.1, axis=1)
MASKS = {
  "none": None,
  "padding": np.arange(LENGTH) < [[LENGTH - 5], [LENGTH]],
  "packed": TEXTS[:, :, None] == TEXTS[:, None, :],
  "texts": TEXTS[:, :, None],
}


def run(chunk_size, mask, length=LENGTH, **options):
  """Returns the context, and gradients of states, table and weights."""
  options |= {"position_buckets": 4, "max_relative_positions": 8}
  table, attention = make(chunk_size=chunk_size, **options)

  @tf.function(input_signature=[tf.TensorSpec([2, length, HIDDEN])])
  def call(hidden):
    with tf.GradientTape() as tape:
      tape.watch(hidden)
      context = attention(
        hidden, mask, positions={"distances": table(hidden)}, training=True
      )
      loss = tf.reduce_sum(context**2)
    weights = [w.value for w in (*table.weights, *attention.trainable_weights)]
    return context, *tape.gradient(loss, [hidden, *weights])

  return [np.array(x) for x in call(STATES)]


@pytest.mark.integration
def test_blocks_of_a_row_attend_as_the_whole_does(monkeypatch):
  expected = run(None, MASKS["padding"])
  monkeypatch.setattr(scores_lib, "FEW_SCORES", 0)
  assert_close(run(8, MASKS["padding"], length=None), expected)


def test_a_causal_direction_hides_the_other(monkeypatch):
  expected = run(None, np.tril(MASKS["packed"]))
  monkeypatch.setattr(scores_lib, "FEW_SCORES", 0)
  found = run(8, MASKS["texts"], causal_direction="left_to_right")
  assert_close(found, expected)


def test_no_scores_of_positions_are_of_all_pairs(monkeypatch):
  sizes, shift = [], relative_attention.shift

  def recorded(scores, num_tokens):
    sizes.append(np.prod(scores.shape))
    return shift(scores, num_tokens)

  monkeypatch.setattr(relative_attention, "shift", recorded)
  monkeypatch.setattr(scores_lib, "FEW_SCORES", 0)
  monkeypatch.setattr(disentangled, "_BLOCK_SIZE", 4)
  run(8, None)
  # Rows of 8 by 37 tokens, each with 4 distances more in any 4 of them.
  assert max(sizes) <= 2 * HEADS * 40 * (8 + 4)
