"""Windows with global tokens, against each score computed by itself."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import layers
from keras_bert_impl.layers.attention import global_tokens
from keras_bert_impl.layers.heads import pooling

SIZE, HEADS, WINDOW = 8, 2, 4
RNG = np.random.default_rng(0)
HIDDEN = RNG.normal(size=(3, 30, SIZE)).astype("float32")
# No global token, a few of them, and many; the ends are padding.
MASK = np.ones((3, 30), "int32")
MASK[1, [0, 7, 8]] = MASK[2, ::2] = 2
MASK[1, 25:] = MASK[2, 19:] = 0


def attention(**options):
  layer = layers.SelfAttention(
    HEADS,
    dropout_rate=0.0,
    kind=layers.GlobalAttention(WINDOW, SIZE, **options),
    initializer_range=0.5,
  )
  layer.build(HIDDEN.shape)
  rng = np.random.default_rng(1)
  for weight in layer.weights:
    weight.assign(rng.normal(size=weight.shape) / 2)
  return layer


def dense(layer, x):
  return x @ np.asarray(layer.kernel) + np.asarray(layer.bias)


def reference(layer, hidden, mask):
  """Returns the context of each token, and its probabilities, one by one."""
  kind = layer.kind
  near = [dense(x, hidden) for x in (layer.query, layer.key, layer.value)]
  far = [
    dense(x, hidden)
    for x in (kind.query_global, kind.key_global, kind.value_global)
  ]
  batch, length, size = hidden.shape
  context = np.zeros(hidden.shape)
  probs = np.zeros((batch, HEADS, length, length))
  width = size // HEADS
  for row, place in itertools.product(range(batch), range(length)):
    is_near = np.abs(np.arange(length) - place) <= WINDOW // 2
    sees = (mask[row] > 0) & (is_near | (mask[row] > 1))
    query, key, value = near
    if mask[row, place] > 1:
      (query, key, value), sees = far, mask[row] > 0
    for head in range(HEADS if mask[row, place] else 0):
      part = slice(head * width, (head + 1) * width)
      scores = key[row, sees, part] @ query[row, place, part] / width**0.5
      share = np.exp(scores - scores.max())
      share /= share.sum()
      probs[row, head, place, sees] = share
      context[row, place, part] = share @ value[row, sees, part]
  return context, probs


@pytest.mark.parametrize("slots", [128, 15, 3, 2])
@pytest.mark.parametrize("chunk_size", [None, 4])
def test_each_way_computes_the_same(slots, chunk_size, monkeypatch):
  monkeypatch.setattr(global_tokens, "NUM_SLOTS", slots)
  layer = attention(chunk_size=chunk_size)
  expected, _ = reference(layer, HIDDEN, MASK)
  for rows in ([0, 1, 2], [0, 1], [0]):
    found = layer(HIDDEN[rows], MASK[rows])
    np.testing.assert_allclose(found, expected[rows], atol=1e-5)


def test_short_rows_are_one_block(monkeypatch):
  monkeypatch.setattr(global_tokens, "NUM_SLOTS", 5)
  layer = attention()
  hidden, mask = HIDDEN[:, :7], MASK[:, :7]
  expected, _ = reference(layer, hidden, mask)
  np.testing.assert_allclose(layer(hidden, mask), expected, atol=1e-5)


def test_probabilities_are_those_of_the_context():
  layer = attention()
  _, expected = reference(layer, HIDDEN, MASK)
  is_token = (MASK > 0)[:, None, :, None]
  found = np.where(is_token, layer.attention_probs(HIDDEN, MASK), 0.0)
  np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("length", [None, 30])
def test_gradients_do_not_depend_on_the_way(length, monkeypatch):
  layer = attention(chunk_size=4)
  shape = [None, length, SIZE]

  def gradients(slots):
    monkeypatch.setattr(global_tokens, "NUM_SLOTS", slots)

    @tf.function(input_signature=[tf.TensorSpec(shape)])
    def compute(hidden):
      with tf.GradientTape() as tape:
        found = layer(hidden, MASK, training=True)
        loss = tf.reduce_sum(tf.sin(found))
      return tape.gradient(loss, [x.value for x in layer.trainable_weights])

    return compute(HIDDEN)

  for few, many in zip(gradients(15), gradients(2), strict=True):
    np.testing.assert_allclose(few, many, atol=1e-4)


def test_a_batch_may_have_no_rows(monkeypatch):
  monkeypatch.setattr(global_tokens, "NUM_SLOTS", 15)
  found = attention()(HIDDEN[:0], MASK[:0])
  assert found.shape == (0, 30, SIZE)


def test_a_packed_row_has_no_global_tokens():
  layer = attention()
  texts = np.repeat([[1] * 12 + [2] * 18], 3, axis=0)[..., None]
  local = layers.SelfAttention(
    HEADS, dropout_rate=0.0, kind=layers.LocalAttention(WINDOW)
  )
  local.build(HIDDEN.shape)
  for name in ("query", "key", "value"):
    getattr(local, name).set_weights(getattr(layer, name).get_weights())
  np.testing.assert_array_equal(layer(HIDDEN, texts), local(HIDDEN, texts))


def test_other_positions_are_refused():
  layer = attention()
  rotary = layers.RotaryEmbedding(SIZE // HEADS)(HIDDEN)
  with pytest.raises(ValueError, match="Positions by rotary.* global"):
    layer(HIDDEN, MASK, positions={"rotary": rotary})


IDS = np.array([[0, 5, 6, 2, 2, 7, 8, 2, 1], [0, 5, 2, 2, 7, 8, 9, 9, 2]])
REAL = (IDS != 1).astype("int32")


@pytest.mark.parametrize(
  ("default", "expected"),
  [
    (None, [[], []]),
    ("first", [[0], [0]]),
    ("question", [[0, 1, 2], [0, 1]]),
    ("choice", [[5, 6, 7], [4, 5, 6, 7, 8]]),
  ],
)
def test_a_head_says_which_tokens_are_global(default, expected):
  marks = layers.GlobalTokens(default)(IDS, REAL)
  np.testing.assert_array_equal(np.asarray(marks) > 0, REAL)
  found = [np.flatnonzero(row > 1).tolist() for row in np.asarray(marks)]
  assert found == expected


def test_a_row_that_marks_tokens_keeps_its_own():
  mask = REAL.copy()
  mask[1, 4] = 2
  found = np.asarray(layers.GlobalTokens("first")(IDS, mask))
  np.testing.assert_array_equal(found[1], mask[1])
  assert np.flatnonzero(found[0] > 1).tolist() == [0]


def test_a_mask_of_other_values_is_refused():
  message = "input_mask .3. must be from 0 to 2: 0 is padding, 1 a token and 2"
  with pytest.raises(ValueError, match=message):
    layers.GlobalTokens()(IDS, 3 * REAL)


@pytest.mark.parametrize("mode", pooling.MODES)
def test_global_tokens_count_as_others_do_in_a_pool(mode):
  pool = layers.Pooling(mode)
  np.testing.assert_array_equal(
    pool(HIDDEN, MASK), pool(HIDDEN, np.minimum(MASK, 1))
  )


def test_it_is_saved_and_loaded(tmp_path):
  hidden = keras.Input((None, SIZE))
  mask = keras.Input((None,), dtype="int32")
  model = keras.Model([hidden, mask], attention(chunk_size=4)(hidden, mask))
  model.save(tmp_path / "model.keras")
  again = keras.models.load_model(tmp_path / "model.keras")
  np.testing.assert_array_equal(model([HIDDEN, MASK]), again([HIDDEN, MASK]))
