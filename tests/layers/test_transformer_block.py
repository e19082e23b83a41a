import math

import keras
import numpy as np

from keras_bert_impl import layers
from tests.layers.arrays import normalized

HIDDEN = np.random.default_rng(0).normal(size=(2, 5, 8)).astype("float32")
MASK = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])


def make(**changes):
  block = layers.TransformerBlock(
    **{
      "num_heads": 2,
      "intermediate_size": 16,
      "initializer_range": 0.5,
      "name": "layer_0",
    }
    | changes
  )
  block.build(HIDDEN.shape)
  return block


def dense(layer, x):
  return x @ np.array(layer.kernel) + np.array(layer.bias)


def test_it_is_two_sublayers_with_residual_and_normalization_after():
  block = make()
  hidden = block(HIDDEN, MASK)
  probs = block.attention_probs(HIDDEN, MASK)
  context = block.attention(HIDDEN, MASK)
  expected_probs = block.attention.attention_probs(HIDDEN, MASK)
  middle = normalized(
    HIDDEN + dense(block.attention_output.dense, np.array(context))
  )
  x = dense(block.feed_forward.dense, middle)
  gelu = x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))
  expected = normalized(
    middle + dense(block.feed_forward.output_layer.dense, gelu)
  )
  np.testing.assert_allclose(hidden, expected, atol=1e-4)
  np.testing.assert_array_equal(probs, expected_probs)


def test_pre_norm_normalizes_what_each_half_reads():
  block = make(
    options=layers.BlockConfig(
      norm_first=True, norm_bias=False, attention_bias=False
    ),
    use_attention_norm=False,
  )
  names = {weight.path.removeprefix("layer_0/") for weight in block.weights}
  assert "output/LayerNorm/gamma" in names
  assert not {"output/LayerNorm/beta", "attention/output/dense/bias"} & names
  assert not any(name.startswith("attention/output/LayerN") for name in names)
  context = np.array(block.attention(HIDDEN, MASK))
  middle = HIDDEN + context @ np.array(block.attention_output.dense.kernel)
  update = block.feed_forward.dense(normalized(middle))
  expected = middle + dense(
    block.feed_forward.output_layer.dense, np.array(update)
  )
  np.testing.assert_allclose(block(HIDDEN, MASK), expected, atol=1e-4)


def test_it_drops_only_in_training():
  block = make(dropout_rate=0.5)
  np.testing.assert_array_equal(block(HIDDEN), block(HIDDEN))
  with layers.random_seed([1, 2]):
    first = np.array(block(HIDDEN, training=True))
  with layers.random_seed([1, 3]):
    second = np.array(block(HIDDEN, training=True))
  assert (first != second).any()


def stack():
  return [
    keras.layers.Embedding(30, 8, mask_zero=True),
    layers.TransformerBlock(2, 16, initializer_range=0.5),
    layers.Dropout(0.1),
    layers.TransformerBlock(2, 16, initializer_range=0.5),
    layers.ClassificationHead(3),
  ]


def test_every_block_obeys_the_mask_of_an_embedding():
  model = keras.Sequential(stack())
  short = np.array([[4, 5, 6]])
  padded = np.array([[4, 5, 6, 0, 0]])
  np.testing.assert_allclose(
    model(padded)[:, :3], model(short), rtol=0, atol=1e-6
  )
  # A functional model and a compiled one too.
  inputs = keras.Input((None,), dtype="int32")
  functional = keras.Model(inputs, model(inputs))
  np.testing.assert_allclose(
    functional.predict(padded, verbose=0)[:, :3], model(short), atol=1e-6
  )


def test_a_pooler_ends_the_mask(recwarn):
  *blocks, head = stack()
  model = keras.Sequential([*blocks, layers.Pooler(), head])
  assert model(np.array([[4, 5, 0]])).shape == (1, 3)
  assert not [w for w in recwarn if "mask" in str(w.message)]
