import numpy as np

from keras_bert_impl import layers


def test_the_mix_is_the_mean_at_first_and_follows_its_softmax():
  layer = layers.ScalarMix()
  tensors = [np.full((1, 2), value, "float32") for value in (1.0, 2.0, 6.0)]
  np.testing.assert_allclose(layer(tensors), [[3.0, 3.0]], rtol=1e-6)
  layer.mix_logits.assign(np.log([1.0, 2.0, 1.0]))
  # 1/4 * 1 + 2/4 * 2 + 1/4 * 6
  np.testing.assert_allclose(layer(tensors), [[2.75, 2.75]], rtol=1e-6)
