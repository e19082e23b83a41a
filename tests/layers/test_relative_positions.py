import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import layers, models
from keras_bert_impl.layers import random_seed, rematerialize
from tests import architectures


def bias_of(length, num_buckets=32):
  """Returns the layer and its biases [N, L, L]."""
  layer = layers.RelativePositionBias(3, num_buckets)
  return layer, np.asarray(layer(np.zeros((2, length, 8), "float32")))[0]


def test_a_distance_has_one_bias_of_each_head():
  _, biases = bias_of(200)
  assert biases.shape == (3, 200, 200)
  for distance in (-199, -40, -1, 0, 1, 7, 150):
    diagonal = np.diagonal(biases, distance, 1, 2)
    np.testing.assert_array_equal(
      diagonal, diagonal[:, :1].repeat(diagonal.shape[1], 1)
    )
  # Before and after are told apart.
  assert (biases[:, 0, 1] != biases[:, 1, 0]).all()


def test_buckets_widen_with_the_distance():
  layer, biases = bias_of(300)
  rows = np.asarray(layer.embeddings)
  # Song et al. 2020 take those of T5: 16 of each direction, 8 of one distance.
  after = [
    np.flatnonzero((rows == biases[:, 0, k]).all(1))[0] for k in range(300)
  ]
  assert after[1:9] == [*range(17, 25)]
  starts = [k for k in range(9, 300) if after[k] != after[k - 1]]
  assert starts == [12, 16, 23, 32, 46, 64, 91]
  assert after[91:] == [31] * 209
  before = [
    np.flatnonzero((rows == biases[:, k, 0]).all(1))[0] for k in range(300)
  ]
  assert before[1:] == [index - 16 for index in after[1:]]
  assert before[0] == 0


@pytest.mark.parametrize("num_buckets", [4, 6, 256])
def test_every_bucket_is_that_of_some_distance_or_beyond_the_last(num_buckets):
  layer, biases = bias_of(300, num_buckets)
  rows = {tuple(row) for row in np.asarray(layer.embeddings)}
  found = {tuple(row) for row in biases[:, 0].T}
  # All of those after, and the one of distance 0.
  assert found <= rows
  assert num_buckets // 4 < len(found) <= num_buckets // 2


@pytest.mark.parametrize("num_buckets", [0, 2, 5, 258, 8.5, np.ones(2)])
def test_another_number_of_buckets_is_refused(num_buckets):
  with pytest.raises(ValueError, match="must be an even number from 4 to 256"):
    layers.RelativePositionBias(2, num_buckets)


def gradients(is_on):
  config = architectures.tiny(
    vocab_size=30, num_hidden_layers=2, relative_attention_num_buckets=8
  )
  keras.utils.set_random_seed(1)
  encoder = models.TransformerEncoder(config, use_pooler=False)
  ids = np.random.default_rng(0).integers(0, 30, (2, 6))
  with tf.GradientTape() as tape, random_seed([1, 2]), rematerialize(is_on):
    outputs = encoder(
      {"input_ids": ids, "input_mask": ids > 3, "segment_ids": 0 * ids},
      training=True,
    )
    loss = tf.reduce_sum(tf.square(outputs["sequence_output"])[..., 0])
  weights = {v.path: v.value for v in encoder.trainable_variables}
  return tape.gradient(loss, weights)


def test_it_learns_where_blocks_are_computed_again():
  plain, again = gradients(False), gradients(True)
  path = "bert/encoder/relative_attention_bias/distance_embeddings"
  assert np.abs(plain[path]).max() > 1e-4
  for name, gradient in plain.items():
    np.testing.assert_allclose(
      tf.convert_to_tensor(gradient),
      tf.convert_to_tensor(again[name]),
      atol=1e-5,
      err_msg=name,
    )
