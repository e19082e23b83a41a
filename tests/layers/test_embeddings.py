import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import layers
from keras_bert_impl.layers.basics import layer
from keras_bert_impl.layers.blocks import embeddings
from tests.layers.arrays import normalized

IDS = np.array([[1, 2, 3], [4, 0, 0]])
SEGMENTS = np.array([[0, 0, 1], [0, 0, 0]])


def make(**changes):
  return layers.Embeddings(
    **{"vocab_size": 5, "embedding_size": 4, "max_position_embeddings": 6}
    | changes
  )


@pytest.mark.parametrize("position_embedding_type", ["learned", "sinusoidal"])
def test_the_output_is_the_normalized_sum_of_three_embeddings(
  position_embedding_type,
):
  layer = make(position_embedding_type=position_embedding_type)
  hidden, table = layer(IDS, SEGMENTS)
  positions = np.array(layer.position_embeddings)
  expected = (
    np.array(layer.word_embeddings)[IDS]
    + np.array(layer.token_type_embeddings)[SEGMENTS]
    + positions[:3]
  )
  np.testing.assert_allclose(hidden, normalized(expected), atol=1e-5)
  np.testing.assert_array_equal(table, layer.word_embeddings)


def test_without_segments_there_is_no_table_of_them():
  layer = make(type_vocab_size=0, name="embeddings")
  hidden, _ = layer(IDS, SEGMENTS)
  paths = [weight.path for weight in layer.weights]
  assert "embeddings/token_type_embeddings" not in paths
  expected = np.array(layer.word_embeddings)[IDS]
  expected += np.array(layer.position_embeddings)[:3]
  np.testing.assert_allclose(hidden, normalized(expected), atol=1e-5)


def test_sinusoidal_positions_are_those_of_the_paper():
  table = embeddings.sinusoidal(3, 4)
  assert table.shape == (3, 4)
  np.testing.assert_allclose(table[0], [0, 1, 0, 1])
  np.testing.assert_allclose(
    table[2], [np.sin(2), np.cos(2), np.sin(0.02), np.cos(0.02)], rtol=1e-6
  )


def test_large_ids_keep_their_value_in_a_mixed_model():
  layer = make(vocab_size=1000, dtype="mixed_bfloat16")
  first, _ = layer(np.array([[999.0]], "float32"), np.zeros((1, 1)))
  second, _ = layer(np.array([[999]]), np.zeros((1, 1), int))
  np.testing.assert_array_equal(first, second)


def test_a_sequence_longer_than_the_positions_is_refused():
  with pytest.raises(ValueError, match=r"\(7\).*max_position_embeddings \(6\)"):
    make()(np.zeros((1, 7), int), np.zeros((1, 7), int))


def test_with_an_offset_positions_count_tokens_and_padding_has_its_own_row():
  layer = make(position_offset=2, max_position_embeddings=8)
  mask = np.array([[1, 1, 1], [1, 0, 0]])
  hidden, _ = layer(IDS, SEGMENTS, mask)
  rows = np.array([[2, 3, 4], [2, 1, 1]])
  expected = (
    np.array(layer.word_embeddings)[IDS]
    + np.array(layer.token_type_embeddings)[SEGMENTS]
    + np.array(layer.position_embeddings)[rows]
  )
  np.testing.assert_allclose(hidden, normalized(expected), atol=1e-5)
  without_mask, _ = layer(IDS, SEGMENTS)
  np.testing.assert_array_equal(without_mask[0], hidden[0])


def test_an_offset_takes_its_rows_from_the_longest_sequence():
  layer = make(position_offset=4)
  with pytest.raises(ValueError, match=r"length \(3\) must be at most 2"):
    layer(IDS, SEGMENTS)


def test_without_a_table_of_positions_rows_have_any_length():
  layer = make(position_embedding_type="none", max_position_embeddings=1)
  assert layer(IDS, SEGMENTS)[0].shape == (*IDS.shape, 4)


def test_with_one_segment_the_segment_ids_do_not_matter():
  layer = make(type_vocab_size=1)
  np.testing.assert_array_equal(
    layer(IDS, SEGMENTS)[0], layer(IDS, SEGMENTS + 7)[0]
  )
  segment = np.array(layer.token_type_embeddings)[0]
  layer.token_type_embeddings.assign([segment + [1.0, 0.0, 0.0, 0.0]])
  assert (np.array(layer(IDS, SEGMENTS)[0]) != 0).any()


@pytest.mark.parametrize("kind", [np.array, tf.constant])
@pytest.mark.parametrize(
  ("ids", "segments", "message"),
  [
    ([[1, -1]], [[0, 0]], r"input_ids \(-1\) must be from 0 to 4"),
    ([[1, 5]], [[0, 0]], r"input_ids \(5\) must be from 0 to 4"),
    ([[1, 4]], [[0, -2]], r"segment_ids \(-2\) must be from 0 to 1"),
    ([[1, 4]], [[0, 2]], r"segment_ids \(2\) must be from 0 to 1"),
  ],
)
def test_ids_out_of_range_are_refused_where_they_have_values(
  kind, ids, segments, message
):
  with pytest.raises(ValueError, match=message):
    make()(kind(ids), kind(segments))


def test_checking_ids_adds_nothing_to_a_traced_step(monkeypatch):
  def operations():
    layer = make()
    layer.build(IDS.shape)
    graph = tf.function(layer).get_concrete_function(
      tf.TensorSpec((2, 3), tf.int32), tf.TensorSpec((2, 3), tf.int32)
    )
    return [operation.type for operation in graph.graph.get_operations()]

  checked = operations()
  monkeypatch.setattr(layer, "check_ids", lambda *_: None)
  assert checked == operations()
