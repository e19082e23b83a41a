"""Attention a chunk of positions at a time: the same, in less memory."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import configs, layers, models
from keras_bert_impl.layers.attention import scores
from tests.layers.arrays import assert_close

LENGTH = 37
RNG = np.random.default_rng(0)
HIDDEN = RNG.normal(size=(2, LENGTH, 8)).astype("float32")
TEXTS = np.cumsum(RNG.random((2, LENGTH)) < 0.1, axis=1)
MASKS = {
  "none": None,
  "padding": np.arange(LENGTH) < np.array([[32], [LENGTH]]),
  "packed": TEXTS[:, :, None] == TEXTS[:, None, :],
  "texts": TEXTS[:, :, None],
}
BIAS = RNG.normal(size=(1, 2, LENGTH, LENGTH)).astype("float32")


@pytest.fixture(name="no_score_is_few", autouse=True, scope="module")
def fixture_no_score_is_few():
  with pytest.MonkeyPatch.context() as patch:
    patch.setattr(scores, "FEW_SCORES", 0)
    yield


def make(chunk_size, dropout_rate=0.0, causal_direction=None):
  keras.utils.set_random_seed(0)
  kind = layers.FullAttention(causal_direction, chunk_size)
  layer = layers.SelfAttention(2, dropout_rate, kind, initializer_range=0.5)
  layer.build((None, None, 8))
  return layer


def run(
  layer, hidden=HIDDEN, mask=None, bias=None, length=None, jit_compile=False
):
  """Returns the context and the gradients of bias, input and weights."""
  bias = np.zeros_like(BIAS) if bias is None else bias

  @tf.function(
    input_signature=[tf.TensorSpec([2, length, 8])], jit_compile=jit_compile
  )
  def call(hidden):
    position_bias = tf.constant(bias)
    with layers.random_seed([1, 2]), tf.GradientTape() as tape:
      tape.watch([hidden, position_bias])
      context = layer(
        hidden, mask, positions={"bias": position_bias}, training=True
      )
      loss = tf.reduce_sum(context**2)
    weights = [variable.value for variable in layer.trainable_variables]
    return context, *tape.gradient(loss, [position_bias, hidden, *weights])

  return [np.array(x) for x in call(hidden)]


WHOLE = run(make(None), length=LENGTH)


@pytest.mark.parametrize("chunk_size", [1, 18])
def test_chunks_of_any_size_change_nothing(chunk_size):
  assert_close(run(make(chunk_size), length=LENGTH), WHOLE)


@pytest.mark.integration
@pytest.mark.xla
def test_chunks_are_compiled_by_xla():
  assert_close(run(make(8), length=LENGTH, jit_compile=True), WHOLE)


def test_the_length_need_not_be_known():
  assert_close(run(make(8)), WHOLE)
  assert_close(run(make(64)), WHOLE)


@pytest.mark.parametrize(
  ("mask", "direction"),
  [
    ("packed", None),
    ("padding", "left_to_right"),
    ("texts", "right_to_left"),
  ],
)
def test_chunks_obey_masks_and_biases(mask, direction):
  layer, whole = (make(size, causal_direction=direction) for size in (8, None))
  expected = "packed" if mask == "texts" else mask
  assert_close(
    run(layer, mask=MASKS[mask], bias=BIAS),
    run(whole, mask=MASKS[expected], bias=BIAS),
  )


def test_every_chunk_has_a_dropout_mask_of_its_own():
  """Where all values are 1, a context is the kept share of probabilities."""
  layer = make(8, dropout_rate=0.5)
  layer.value.kernel.assign(np.zeros((8, 8)))
  layer.value.bias.assign(np.ones(8))
  hidden, bias = HIDDEN[:, :32], BIAS[..., :32, :32]
  context, again = (run(layer, hidden, bias=bias)[0] for _ in range(2))
  np.testing.assert_array_equal(context, again)
  kept = context[:, :, ::4].reshape(2, 4, 8, 2)  # [B, chunks, size, N]
  assert (np.abs(kept[:, :1] - kept[:, 1:]).max(axis=(0, 2, 3)) > 0.1).all()


@pytest.mark.integration
def test_the_gradient_is_that_of_the_same_dropout_mask():
  layer = make(8, dropout_rate=0.5)
  gradient = run(layer)[-1]  # of the bias of value
  step = 1e-2
  losses = []
  for sign in (1, -2):
    layer.value.bias.assign_add(sign * step * np.eye(8)[3])
    losses.append((run(layer)[0].astype("float64") ** 2).sum())
  change = (losses[0] - losses[1]) / (2 * step)
  np.testing.assert_allclose(change, gradient[3], rtol=1e-3)


def test_probabilities_are_returned_for_all_positions():
  layer, whole = make(8), make(None)
  np.testing.assert_array_equal(
    layer.attention_probs(HIDDEN), whole.attention_probs(HIDDEN)
  )


def test_an_encoder_of_long_rows_has_chunks():
  sizes = {"hidden_size": 8, "num_attention_heads": 2, "vocab_size": 9}
  sizes |= {"num_hidden_layers": 1, "intermediate_size": 8}
  for positions, size in ((1024, None), (1025, 512)):
    config = configs.EncoderConfig(**sizes, max_position_embeddings=positions)
    encoder = models.TransformerEncoder(config)
    assert encoder.get_layer("layer_0").kind.chunk_size == size


def test_few_scores_are_kept_whole(monkeypatch):
  layer = make(1)
  for num_scores, is_whole in ((2 * 2 * LENGTH**2, True), (5000, False)):
    monkeypatch.setattr(scores, "FEW_SCORES", num_scores)
    call = tf.function(lambda hidden: layer(hidden, training=True))
    graph = call.get_concrete_function(HIDDEN).graph.as_graph_def()
    names = {node.op for node in graph.node}
    assert ("StatelessWhile" in names or "While" in names) != is_whole


def test_few_scores_are_dropped_alike_and_not_computed_again(monkeypatch):
  layer, calls, seen = make(8, dropout_rate=0.5), [], scores.what_is_seen
  monkeypatch.setattr(
    scores, "what_is_seen", lambda *x: calls.append(x) or seen(*x)
  )
  many = run(layer, length=LENGTH)
  assert len(calls) == 2  # For the output, and again for the gradient.
  monkeypatch.setattr(scores, "FEW_SCORES", 2**26)
  assert_close(run(layer, length=LENGTH), many)
  assert len(calls) == 3
