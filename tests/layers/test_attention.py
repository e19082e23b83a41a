import keras
import numpy as np
import pytest

from keras_bert_impl import layers

RNG = np.random.default_rng(0)
HIDDEN = RNG.normal(size=(2, 5, 8)).astype("float32")


def make(hidden=HIDDEN, **changes):
  layer = layers.SelfAttention(
    **{"num_heads": 2, "initializer_range": 0.5} | changes
  )
  layer.build(hidden.shape)
  return layer


def both(layer, hidden=HIDDEN, mask=None):
  """Returns the context and the attention probabilities."""
  return layer(hidden, mask), layer.attention_probs(hidden, mask)


def directed(direction):
  return layers.FullAttention(direction)


def softmax(x):
  e = np.exp(x - x.max(-1, keepdims=True))
  return e / e.sum(-1, keepdims=True)


def test_it_computes_the_formula_of_the_paper():
  layer = make()
  context, probs = both(layer)
  for head in range(2):
    columns = slice(4 * head, 4 * head + 4)
    query, key, value = (
      (HIDDEN @ np.array(dense.kernel) + np.array(dense.bias))[..., columns]
      for dense in (layer.query, layer.key, layer.value)
    )
    expected = softmax(query @ key.transpose(0, 2, 1) / np.sqrt(4))
    np.testing.assert_allclose(probs[:, head], expected, atol=1e-5)
    np.testing.assert_allclose(
      context[..., columns], expected @ value, atol=1e-5
    )


def test_the_three_projections_differ_at_first():
  layer = make()
  query, key, value = (
    np.array(dense.kernel) for dense in (layer.query, layer.key, layer.value)
  )
  assert not np.allclose(query, key) and not np.allclose(query, value)


def test_padding_is_not_seen():
  mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
  context, probs = make_call(mask)
  assert (probs[0, :, :, 3:] == 0).all() and (probs[1] > 0).all()
  np.testing.assert_allclose(probs.sum(-1), 1, rtol=1e-5)


def make_call(mask, **changes):
  keras.utils.set_random_seed(0)
  context, probs = both(make(**changes), HIDDEN, mask)
  return np.array(context), np.array(probs)


def test_what_is_masked_does_not_influence_the_rest():
  layer = make()
  mask = np.array([[1, 1, 1, 0, 0]] * 2)
  other = HIDDEN.copy()
  other[:, 3:] = RNG.normal(size=(2, 2, 8))
  first, second = layer(HIDDEN, mask), layer(other, mask)
  np.testing.assert_array_equal(first[:, :3], second[:, :3])


def test_it_takes_the_mask_of_keras_where_none_is_given():
  layer = make()
  mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], bool)
  masked = keras.layers.Masking().call(HIDDEN * mask[:, :, None])
  np.testing.assert_allclose(
    layer(masked), layer(HIDDEN * mask[:, :, None], mask)
  )
  np.testing.assert_array_equal(
    layer(masked, np.ones((2, 5))), layer(HIDDEN * mask[:, :, None])
  )


def test_a_causal_layer_sees_only_what_precedes_or_follows():
  before = np.tri(5, dtype=bool)
  for direction, sees in (
    ("left_to_right", before),
    ("right_to_left", before.T),
  ):
    _, probs = make_call(None, kind=directed(direction))
    seen = np.broadcast_to(sees, probs.shape)
    np.testing.assert_array_equal(probs > 0, seen)


def test_causal_and_padding_masks_combine():
  mask = np.array([[1, 1, 1, 0, 0], [1, 1, 0, 1, 1]])
  _, probs = make_call(mask, kind=directed("left_to_right"))
  seen = np.tri(5, dtype=bool)[None] & mask[:, None, :].astype(bool)
  np.testing.assert_array_equal(
    probs > 0, np.broadcast_to(seen[:, None], probs.shape)
  )


@pytest.mark.parametrize("dtype", ["bool", "int32", "float32"])
def test_any_mask_from_each_position_to_each_is_obeyed(dtype):
  mask = RNG.random((2, 5, 5)) < 0.5
  mask |= np.eye(5, dtype=bool)
  _, probs = make_call(mask.astype(dtype))
  np.testing.assert_array_equal(
    probs > 0, np.broadcast_to(mask[:, None], probs.shape)
  )


def test_a_position_that_sees_nothing_gives_no_nan():
  context, _ = make_call(np.zeros((2, 5), int))
  assert np.isfinite(context).all()


def test_the_probabilities_are_those_before_dropout():
  layer = make(dropout_rate=0.5)
  probs = layer.attention_probs(HIDDEN)
  with layers.random_seed([1, 2]):
    context = layer(HIDDEN, training=True)
  np.testing.assert_allclose(np.array(probs).sum(-1), 1, rtol=1e-5)
  assert (np.array(context) != np.array(layer(HIDDEN))).any()


def test_heads_that_do_not_divide_the_hidden_size_are_refused():
  with pytest.raises(ValueError, match=r"\(8\).*num_heads \(3\)"):
    make(num_heads=3)


def test_an_unknown_direction_is_refused():
  with pytest.raises(ValueError, match=r"'up'\).*left_to_right, right_to_left"):
    directed("up")
