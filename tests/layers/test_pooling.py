import keras
import numpy as np
import pytest

from keras_bert_impl import choices, layers
from keras_bert_impl.layers.heads import pooling
from keras_bert_impl.models.heads import embedding_model

# Three tokens and padding; one token; none.
HIDDEN = np.array(
  [
    [[1, 4], [2, -8], [6, 1], [99, 99]],
    [[3, 5], [99, 99], [99, 99], [99, 99]],
    [[99, 99]] * 4,
  ],
  "float32",
)
MASK = np.array([[1, 1, 1, 0], [1, 0, 0, 0], [0] * 4], "int32")
VECTORS = {
  "cls": [[1, 4], [3, 5]],
  "mean": [[3, -1], [3, 5]],
  "mean_sqrt_len_tokens": [[9 / 3**0.5, -3 / 3**0.5], [3, 5]],
  # (1 * 1 + 2 * 2 + 3 * 6) / 6
  "weightedmean": [[23 / 6, -9 / 6], [3, 5]],
  "lasttoken": [[6, 1], [3, 5]],
  "max": [[6, 4], [3, 5]],
}


@pytest.mark.parametrize("mode", VECTORS)
def test_every_mode_pools_the_tokens_only(mode):
  vectors = keras.ops.convert_to_numpy(layers.Pooling(mode)(HIDDEN, MASK))
  np.testing.assert_allclose(vectors[:2], VECTORS[mode], rtol=1e-6)
  assert np.isfinite(vectors[2]).all()


def test_without_the_first_tokens_the_others_keep_their_positions():
  mask = np.array([[0, 1, 1, 0]], "int32")
  modes = ("cls", "weightedmean", "lasttoken")
  vectors = layers.Pooling(modes)(HIDDEN[:1], mask)
  # (2 * 2 + 3 * 6) / 5, (2 * -8 + 3 * 1) / 5
  expected = [[2, -8, 22 / 5, -13 / 5, 6, 1]]
  np.testing.assert_allclose(vectors, expected, rtol=1e-6)


def test_the_last_token_of_a_long_row_is_found_in_bfloat16():
  hidden = np.arange(700.0)[None, :, None] % 256
  mask = (np.arange(700) < 601)[None].astype("int32")
  layer = layers.Pooling("lasttoken", dtype="mixed_bfloat16")
  assert float(layer(hidden, mask)[0, 0]) == 600 % 256


def test_the_vectors_of_several_modes_are_joined_in_their_order(tmp_path):
  inputs = [keras.Input((None, 2)), keras.Input((None,), dtype="int32")]
  model = keras.Model(inputs, layers.Pooling(["max", "cls"])(*inputs))
  assert model.output.shape == (None, 4)
  model.save(tmp_path / "model.keras")
  again = keras.models.load_model(tmp_path / "model.keras")
  vectors = again([HIDDEN[:2], MASK[:2]])
  np.testing.assert_array_equal(vectors, [[6, 4, 1, 4], [3, 5, 3, 5]])


def test_all_modes_can_be_chosen_and_no_others():
  chosen = (*pooling.MODES, embedding_model.POOLER)
  assert choices.POOLINGS == chosen
  with pytest.raises(ValueError, match=r"pooling \('median'\) must be .*mean"):
    layers.Pooling(("cls", "median"))
