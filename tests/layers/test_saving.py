"""Every layer works in any Keras model, and comes back from its file."""

import keras
import numpy as np
import pytest

from keras_bert_impl import layers

RNG = np.random.default_rng(0)
HIDDEN = RNG.normal(size=(2, 5, 8)).astype("float32")
IDS = np.array([[1, 2, 3, 4, 0], [4, 3, 0, 0, 0]])
MASK = (IDS > 0).astype("int32")
PLACES = np.array([[3, 1, 0], [4, 4, 2]])
TABLE = RNG.normal(size=(11, 4)).astype("float32")

# {name: function of symbolic inputs, arrays of these}.
CASES = {
  "embeddings": (
    lambda ids, segments: layers.Embeddings(
      5, 4, 6, position_embedding_type="sinusoidal"
    )(ids, segments)[0],
    (IDS, MASK),
  ),
  "attention": (
    lambda hidden, mask: layers.SelfAttention(
      2, kind=layers.FullAttention("left_to_right")
    )(hidden, mask),
    (HIDDEN, MASK),
  ),
  "block": (
    lambda hidden, mask: layers.TransformerBlock(
      2, 16, activation="relu", kind=layers.FullAttention(chunk_size=8)
    )(hidden, mask),
    (HIDDEN, MASK),
  ),
  "mixed block": (
    lambda hidden, mask: layers.TransformerBlock(2, 16, dtype="mixed_bfloat16")(
      hidden, mask
    ),
    (HIDDEN, MASK),
  ),
  "feed-forward": (
    lambda hidden: layers.FeedForward(6)(
      layers.FeedForward(
        6, options=layers.BlockConfig(gated_feed_forward=True)
      )(hidden)
    ),
    (HIDDEN,),
  ),
  "rotary": (
    lambda hidden: layers.SelfAttention(2, kind=layers.LocalAttention(4))(
      hidden,
      positions={"rotary": layers.RotaryEmbedding(4, base=50.0)(hidden)},
    ),
    (HIDDEN,),
  ),
  "buckets": (
    lambda hidden: layers.TransformerBlock(2, 16)(
      hidden, positions={"bias": layers.RelativePositionBias(2, 8)(hidden)}
    ),
    (HIDDEN,),
  ),
  "disentangled": (
    lambda hidden, mask: layers.SelfAttention(
      2, kind=layers.DisentangledBias(name="disentangled")
    )(
      hidden,
      mask,
      positions={"distances": layers.RelativeEmbeddings(3)(hidden)},
    ),
    (HIDDEN, MASK),
  ),
  "convolution": (
    lambda hidden, mask: layers.TokenConvolution()(hidden, hidden, mask),
    (HIDDEN, MASK),
  ),
  "masked LM head": (
    lambda hidden, places, table: layers.MaskedLanguageModelHead()(
      hidden, places, table
    ),
    (HIDDEN, PLACES, TABLE),
  ),
  "pooler and classifier": (
    lambda hidden: layers.ClassificationHead(2)(layers.Pooler()(hidden)),
    (HIDDEN,),
  ),
  "pooling": (
    lambda hidden, mask: layers.Pooling(["max", "cls"])(hidden, mask),
    (HIDDEN, MASK),
  ),
  "mix": (
    lambda hidden: layers.ScalarMix()([hidden, keras.ops.tanh(hidden)]),
    (HIDDEN,),
  ),
  "BiLSTM": (
    lambda hidden, mask: layers.BiLSTM(2)(hidden, mask),
    (HIDDEN, MASK),
  ),
  "random field": (
    lambda hidden: layers.ConditionalRandomField()(hidden),
    (HIDDEN,),
  ),
}


@pytest.mark.parametrize("name", CASES)
def test_it_works_and_reloads_in_any_model(tmp_path, name):
  function, arrays = CASES[name]
  inputs = [
    # The rows of a table are no batch.
    keras.Input(batch_shape=x.shape)
    if x is TABLE
    else keras.Input((None, *x.shape[2:]), dtype=x.dtype.name)
    for x in arrays
  ]
  model = keras.Model(inputs, function(*inputs))
  for weight in model.trainable_weights:
    weight.assign_add(0.1 * RNG.normal(size=weight.shape))
  model.save(tmp_path / "model.keras")
  model.save_weights(tmp_path / "model.weights.h5")
  again = keras.models.load_model(tmp_path / "model.keras")
  clone = keras.models.clone_model(model)
  clone.load_weights(tmp_path / "model.weights.h5")
  expected = model(arrays)
  # The shape that Keras infers is that of the output.
  for known, size in zip(model.output.shape, expected.shape, strict=True):
    assert known in (None, size)
  for other in (again, clone):
    assert [w.path for w in other.weights] == [w.path for w in model.weights]
    assert len({w.path for w in other.weights}) == len(other.weights)
    assert other.output.dtype == expected.dtype == other(arrays).dtype
    np.testing.assert_array_equal(other(arrays), expected)
