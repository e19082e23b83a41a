import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import layers
from keras_bert_impl.layers.attention import rotary
from keras_bert_impl.layers.basics import kernels

RNG = np.random.default_rng(0)
HIDDEN = RNG.normal(size=(2, 5, 8)).astype("float32")


def turned(projections, angles, training):
  return kernels.arrange(rotary.turned_heads, projections, (angles,), training)


def test_the_angles_are_those_of_the_paper():
  angles = layers.RotaryEmbedding(4, base=100.0)(HIDDEN)
  place = np.arange(5)[:, None]
  expected = place * np.array([1.0, 0.1])  # 100 ** (-2 i / 4)
  assert angles.shape == (1, 5, 1, 8)
  table = np.array(angles)[0, :, 0, :4] + np.array(angles)[0, :, 0, 4:]
  np.testing.assert_allclose(table[:, :2], np.cos(expected), atol=1e-6)
  np.testing.assert_allclose(table[:, 2:], np.sin(expected), atol=1e-6)


def test_scores_depend_on_the_distance_of_two_positions():
  layer = layers.SelfAttention(2, initializer_range=0.5)
  layer.build((None, None, 8))
  same = np.broadcast_to(HIDDEN[:1, :1], (1, 5, 8))
  embedding = layers.RotaryEmbedding(4, base=10.0)
  positions = np.arange(5)[None]
  first, moved = (
    layer.attention_probs(same, positions={"rotary": embedding(same, places)})
    for places in (positions, positions + 300)
  )
  np.testing.assert_allclose(first, moved, atol=1e-4)
  scores = np.log(np.array(first)[0, 0])
  scores -= np.diagonal(scores)[:, None]
  for offset in (-2, -1, 1, 2):
    diagonal = np.diagonal(scores, offset)
    np.testing.assert_allclose(diagonal, diagonal[0], atol=1e-4)
    assert abs(diagonal[0]) > 1e-3


def test_angles_stay_exact_in_bfloat16():
  layer = layers.RotaryEmbedding(8, dtype="mixed_bfloat16")
  position_ids = np.array([[8190, 8191]])
  angles = layer(HIDDEN[:1, :2], position_ids)
  assert angles.dtype == "float32"
  expected = np.cos(position_ids[0].astype("float64"))
  for dtype in ("float32", "bfloat16"):
    given = np.array(keras.ops.cast(angles, dtype)).astype("float32")
    cosine = given[0, :, 0, 0] + given[0, :, 0, 8]
    np.testing.assert_allclose(cosine, expected, atol=1e-5)
  x = keras.ops.ones((1, 2, 3, 8), "bfloat16")
  for training in (False, True):
    heads = turned(3 * (x,), angles, training)
    assert [head.dtype for head in heads] == 3 * ["bfloat16"]


def test_the_compiled_program_and_its_gradient_are_those_of_plain_ops():
  projections = tuple(tf.constant(RNG.normal(size=(3, 2, 5, 3, 8)), "float32"))
  upstream = RNG.normal(size=(3, 2, 3, 5, 8))
  angles = layers.RotaryEmbedding(8)(HIDDEN, RNG.integers(0, 99, (2, 5)))
  found = []
  for training in (False, True):
    with tf.GradientTape() as tape:
      tape.watch(projections)
      heads = turned(projections, angles, training)
      loss = tf.reduce_sum(tf.stack(heads) * upstream)
    found.append((*heads, *tape.gradient(loss, projections)))
  for plain, compiled in zip(*found, strict=True):
    np.testing.assert_allclose(plain, compiled, atol=1e-6)


@pytest.mark.parametrize("window", [None, 2])
def test_angles_of_another_head_size_are_refused(window):
  kind = window and layers.LocalAttention(window)
  layer = layers.SelfAttention(2, kind=kind)
  with pytest.raises(ValueError, match="head_size .2. of .* must be .* .4."):
    layer(HIDDEN, positions={"rotary": layers.RotaryEmbedding(2)(HIDDEN)})


def test_an_odd_head_is_refused():
  with pytest.raises(ValueError, match="head_size .7. of .* must be even"):
    layers.RotaryEmbedding(7)
