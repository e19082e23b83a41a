"""Representations of spans."""

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from keras_bert_impl.layers.heads import spans


def test_a_span_is_a_dense_layer_of_start_end_head_and_width():
  layer = spans.SpanRepresentation(5, max_span_width=4, initializer_range=0.5)
  rng = np.random.default_rng(0)
  first, last = rng.normal(size=(2, 2, 7, 3)).astype(np.float32)
  found = np.asarray(layer(first, last))
  assert found.shape == (2, 7, 4, 5)
  kernel, bias = map(np.asarray, layer.of_first.weights)
  (of_last,) = map(np.asarray, layer.of_last.weights)
  scores = first @ np.asarray(layer.attention.weights[0])
  for text, start, width in ((0, 0, 1), (0, 2, 3), (1, 3, 4), (1, 6, 1)):
    words = slice(start, start + width)
    share = np.exp(scores[text, words])
    head = np.sum(share / share.sum() * first[text, words], axis=0)
    expected = first[text, start] @ kernel[:, :5] + bias[:5]
    expected += last[text, start + width - 1] @ of_last
    expected += head @ kernel[:, 5:] + bias[5:]
    expected += np.asarray(layer.widths)[width - 1]
    np.testing.assert_allclose(
      found[text, start, width - 1], expected, atol=1e-5
    )
  starts = np.array([[0, 2, 6], [3, 3, 0]], np.int32)
  ends = np.array([[3, 3, 6], [4, 6, 0]], np.int32)
  some = layer.at(layer.project(first, last), starts, ends)
  rows = np.array([[0], [1]])
  np.testing.assert_allclose(
    some, found[rows, starts, ends - starts], atol=1e-5
  )


def test_a_graph_gives_the_same_bits_each_time():
  layer = spans.SpanRepresentation(64)
  rng = np.random.default_rng(0)
  words = tf.constant(rng.normal(size=(1, 600, 16)), tf.float32)
  starts = tf.range(590)[tf.newaxis]
  layer(words, words)

  @tf.function
  def run():
    with tf.GradientTape() as tape:
      projected = layer.project(words, words)
      found = layer.map_spans(projected, tf.nn.relu, 64)
      some = layer.at(projected, starts, starts + 5)
      loss = tf.reduce_sum(found) + tf.reduce_sum(some**2)
    return found, some, tape.gradient(loss, layer.trainable_variables)

  first, *others = (
    [x.numpy() for x in tf.nest.flatten(run())] for _ in range(20)
  )
  for other in others:
    for ours, theirs in zip(other, first, strict=True):
      np.testing.assert_array_equal(ours, theirs)


def test_words_after_a_span_do_not_change_it():
  layer = spans.SpanRepresentation(5, max_span_width=3)
  rng = np.random.default_rng(0)
  words = rng.normal(size=(1, 6, 3)).astype(np.float32)
  before = np.asarray(layer(words, words))
  words[:, 5] = 100.0
  after = np.asarray(layer(words, words))
  np.testing.assert_allclose(before[:, :3], after[:, :3], atol=1e-6)


def test_scores_far_apart_have_a_gradient_of_numbers():
  layer = spans.SpanRepresentation(2, max_span_width=3)
  words = np.zeros((1, 4, 3), np.float32)
  layer(words, words)
  layer.attention.kernel.assign(ops.ones((3, 1)))
  words[0, 1], words[0, 2] = 300.0, -300.0
  assert np.all(np.isfinite(np.asarray(layer(words, words))))


def test_a_layer_is_saved(tmp_path):
  inputs = keras.Input((None, 3))
  layer = spans.SpanRepresentation(5, max_span_width=2)
  model = keras.Model(inputs, layer(inputs, inputs))
  model.save(tmp_path / "spans.keras")
  words = np.ones((1, 4, 3), np.float32)
  again = keras.models.load_model(tmp_path / "spans.keras")
  np.testing.assert_array_equal(model(words), again(words))
