"""ALiBi against the formula of its paper."""

import keras
import numpy as np
import pytest

from keras_bert_impl import configs, layers, models
from tests import architectures

CONFIG = architectures.tiny(
  vocab_size=30, num_hidden_layers=2, position_embedding_type="alibi"
)


@pytest.mark.parametrize(
  ("num_heads", "slopes"),
  [
    (1, [2**-8]),
    (8, [2.0**-n for n in range(1, 9)]),
    # As the released code of Press et al. 2022 makes them for other numbers.
    (3, [2**-4, 2**-8, 2**-2]),
    (6, [2**-2, 2**-4, 2**-6, 2**-8, 2**-1, 2**-3]),
  ],
)
def test_the_bias_is_minus_slope_times_distance(num_heads, slopes):
  hidden = np.zeros((2, 5, 8), "float32")
  bias = layers.LinearPositionBias(num_heads)(hidden)
  place = np.arange(5)
  distance = np.abs(place[:, None] - place)
  expected = -np.array(slopes)[:, None, None] * distance
  np.testing.assert_allclose(bias[0], expected, rtol=1e-6)


def test_it_is_added_to_the_scores_of_an_encoder():
  keras.utils.set_random_seed(0)
  encoder = models.TransformerEncoder(CONFIG)
  assert not any("position" in weight.path for weight in encoder.weights)
  ids = np.array([[4, 4, 4, 4]])
  inputs = {"input_ids": ids, "input_mask": 1 + 0 * ids, "segment_ids": 0 * ids}
  probs = keras.Model(encoder.input, encoder.attention_probs[0])(inputs)
  # All tokens are alike: only the distance tells them apart.
  place = np.arange(4)
  distance = np.abs(place[:, None] - place)
  for head, slope in enumerate((2**-4, 2**-8)):
    expected = np.exp(-slope * distance)
    expected /= expected.sum(-1, keepdims=True)
    np.testing.assert_allclose(probs[0, head], expected, atol=1e-6)


def test_positions_begin_anew_in_every_text_of_a_row():
  keras.utils.set_random_seed(0)
  encoder = models.TransformerEncoder(
    CONFIG, use_pooler=False, use_sequence_ids=True
  )
  ids = np.array([[5, 6, 7, 8, 9, 10]])
  ones = 1 + 0 * ids
  inputs = {"input_ids": ids, "input_mask": ones, "segment_ids": 0 * ids}
  packed = encoder(inputs | {"sequence_ids": np.array([[1, 1, 1, 2, 2, 2]])})
  alone = encoder({name: x[:, 3:] for name, x in inputs.items()})
  np.testing.assert_allclose(
    packed["sequence_output"][:, 3:], alone["sequence_output"], atol=1e-5
  )


def test_rows_may_be_longer_than_in_training():
  assert CONFIG.longest_input is None
  encoder = models.TransformerEncoder(CONFIG)
  ids = np.full((1, CONFIG.max_position_embeddings + 10), 4)
  assert encoder({"input_ids": ids})["sequence_output"].shape[1] == ids.size


@pytest.mark.parametrize(
  "changes",
  [{"attention_window": 8}, {"relative_attention_num_buckets": 8}],
)
def test_another_mechanism_of_distances_is_refused(changes):
  with pytest.raises(ValueError, match="must be 0 with .*'alibi'"):
    configs.EncoderConfig(
      vocab_size=9, position_embedding_type="alibi", **changes
    )
