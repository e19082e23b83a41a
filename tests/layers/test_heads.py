import numpy as np
import pytest

from keras_bert_impl import layers

RNG = np.random.default_rng(0)
HIDDEN = RNG.normal(size=(2, 5, 8)).astype("float32")
TABLE = RNG.normal(size=(11, 4)).astype("float32")
POSITIONS = np.array([[3, 1, 0], [4, 4, 2]])


@pytest.mark.parametrize(
  ("options", "function"),
  [({}, np.tanh), ({"activation": "linear"}, np.asarray)],
)
def test_the_pooler_is_a_layer_on_the_first_position(options, function):
  pooler = layers.Pooler(**options)
  pooled = pooler(HIDDEN)
  expected = function(HIDDEN[:, 0] @ np.array(pooler.dense.kernel))
  np.testing.assert_allclose(pooled, expected, atol=1e-6)


def test_masked_positions_are_scored_against_the_tied_table():
  head = layers.MaskedLanguageModelHead(activation="linear")
  logits = head(HIDDEN, POSITIONS, TABLE)
  head.output_bias.assign(np.arange(11.0))
  logits = head(HIDDEN, POSITIONS, TABLE)
  x = np.take_along_axis(HIDDEN, POSITIONS[..., None], axis=1)
  x = x @ np.array(head.transform.dense.kernel)
  x = (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)
  assert logits.shape == (2, 3, 11) and logits.dtype == "float32"
  np.testing.assert_allclose(logits, x @ TABLE.T + np.arange(11), atol=1e-4)


def test_large_positions_keep_their_value_in_a_mixed_model():
  head = layers.MaskedLanguageModelHead(dtype="mixed_bfloat16")
  hidden = RNG.normal(size=(1, 400, 8)).astype("float32")
  np.testing.assert_array_equal(
    head(hidden, np.array([[399.0]], "float32"), TABLE),
    head(hidden, np.array([[399]]), TABLE),
  )


def test_the_classification_head_is_a_linear_layer():
  head = layers.ClassificationHead(2)
  pooled = HIDDEN[:, 0]
  logits = head(pooled)
  assert logits.shape == (2, 2) and logits.dtype == "float32"
  expected = pooled @ np.array(head.output_weights).T
  np.testing.assert_allclose(logits, expected, atol=1e-6)


def test_the_boundary_head_sees_the_outer_tokens_and_the_place_only():
  head = layers.SpanBoundaryHead(max_span_length=3, position_embedding_size=2)
  positions = np.array([[1, 2, 3], [2, 3, 0]])  # of the spans 1..3 and 2..3
  boundaries = np.array([[[0, 4]] * 3, [[1, 4], [1, 4], [0, 0]]])
  logits = head(HIDDEN, positions, boundaries, TABLE)
  assert logits.shape == (2, 3, 11) and logits.dtype == "float32"
  inner_dense, inner_norm, outer_dense, outer_norm = head.transforms
  place = np.array(head.position_embeddings)[1]  # second token of the span
  x = np.concatenate([HIDDEN[1, 1], HIDDEN[1, 4], place])[None]
  x = outer_norm(outer_dense(inner_norm(inner_dense(x))))
  expected = np.array(x)[0] @ TABLE.T
  np.testing.assert_allclose(logits[1, 1], expected, atol=1e-5)
  inside = HIDDEN.copy()
  inside[:, 2:4] += 1.0  # what is masked is not looked at
  again = head(inside, positions, boundaries, TABLE)
  np.testing.assert_array_equal(again[1, :2], logits[1, :2])


def test_places_beyond_the_table_share_its_last_row():
  head = layers.SpanBoundaryHead(max_span_length=2, position_embedding_size=2)
  positions = np.array([[1, 2, 3]] * 2)
  boundaries = np.array([[[0, 4]] * 3] * 2)
  logits = np.array(head(HIDDEN, positions, boundaries, TABLE))
  np.testing.assert_array_equal(logits[:, 1], logits[:, 2])
  assert (logits[:, 0] != logits[:, 1]).any()


def test_the_discriminator_scores_each_token_by_itself():
  head = layers.DiscriminatorHead(activation="linear")
  logits = head(HIDDEN)
  assert logits.shape == (2, 5) and logits.dtype == "float32"
  kernels = [np.array(w) for w in head.weights if "kernel" in w.path]
  expected = HIDDEN @ kernels[0] @ kernels[1]
  np.testing.assert_allclose(logits, expected[..., 0], atol=1e-6)
