import keras
import numpy as np
import pytest

from keras_bert_impl import layers

RNG = np.random.default_rng(0)
HIDDEN = RNG.normal(size=(2, 5, 8)).astype("float32")
TABLE = RNG.normal(size=(11, 4)).astype("float32")
POSITIONS = np.array([[3, 1, 0], [4, 4, 2]])


def test_the_pooler_is_a_tanh_layer_on_the_first_position():
  pooler = layers.Pooler()
  pooled = pooler(HIDDEN)
  expected = np.tanh(HIDDEN[:, 0] @ np.array(pooler.dense.kernel))
  np.testing.assert_allclose(pooled, expected, atol=1e-6)


def test_masked_positions_are_scored_against_the_tied_table():
  head = layers.MaskedLanguageModelHead(activation="linear")
  logits = head(HIDDEN, POSITIONS, TABLE)
  head.output_bias.assign(np.arange(11.0))
  logits = head(HIDDEN, POSITIONS, TABLE)
  x = np.take_along_axis(HIDDEN, POSITIONS[..., None], axis=1)
  x = x @ np.array(head.dense.kernel)
  x = (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)
  assert logits.shape == (2, 3, 11) and logits.dtype == "float32"
  np.testing.assert_allclose(logits, x @ TABLE.T + np.arange(11), atol=1e-4)


def test_the_masked_lm_head_owns_no_output_matrix():
  head = layers.MaskedLanguageModelHead(name="predictions")
  head(HIDDEN, POSITIONS, TABLE)
  shapes = {weight.path: tuple(weight.shape) for weight in head.weights}
  assert shapes == {
    "predictions/transform/dense/kernel": (8, 4),
    "predictions/transform/dense/bias": (4,),
    "predictions/transform/LayerNorm/gamma": (4,),
    "predictions/transform/LayerNorm/beta": (4,),
    "predictions/output_bias": (11,),
  }


def test_positions_may_come_as_floats():
  head = layers.MaskedLanguageModelHead()
  np.testing.assert_array_equal(
    head(HIDDEN, POSITIONS.astype("float32"), TABLE),
    head(HIDDEN, POSITIONS, TABLE),
  )


def test_large_positions_keep_their_value_in_a_mixed_model():
  head = layers.MaskedLanguageModelHead(dtype="mixed_bfloat16")
  hidden = RNG.normal(size=(1, 400, 8)).astype("float32")
  np.testing.assert_array_equal(
    head(hidden, np.array([[399.0]], "float32"), TABLE),
    head(hidden, np.array([[399]]), TABLE),
  )


def test_the_next_sentence_head_is_a_linear_layer():
  head = layers.NextSentenceHead()
  pooled = HIDDEN[:, 0]
  logits = head(pooled)
  assert logits.shape == (2, 2) and logits.dtype == "float32"
  expected = pooled @ np.array(head.output_weights).T
  np.testing.assert_allclose(logits, expected, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_they_work_and_reload_in_any_model(tmp_path, dtype):
  hidden = keras.Input((None, 8))
  positions = keras.Input((None,), dtype="int32")
  table = keras.Input(batch_shape=(11, 4))
  logits = layers.MaskedLanguageModelHead(dtype=dtype)(hidden, positions, table)
  pooled = layers.Pooler(dtype=dtype)(hidden)
  scores = layers.NextSentenceHead(dtype=dtype)(pooled)
  model = keras.Model([hidden, positions, table], [logits, scores])
  model.save(tmp_path / "model.keras")
  again = keras.models.load_model(tmp_path / "model.keras")
  inputs = [HIDDEN, POSITIONS, TABLE]
  for new, old in zip(again(inputs), model(inputs), strict=True):
    assert new.dtype == "float32"
    np.testing.assert_array_equal(new, old)
