import numpy as np

from keras_bert_impl.layers.attention import scores


def test_a_token_sees_its_own_text_and_positions_start_again():
  ids = np.array([[1, 1, 2, 2, 2, 0], [1, 2, 3, 3, 0, 0]], "int32")
  seen, positions = scores.structure(np.ones_like(ids), ids)
  np.testing.assert_array_equal(
    scores.whole_mask(seen), ids[:, :, None] == ids[:, None, :]
  )
  np.testing.assert_array_equal(
    positions, [[0, 1, 0, 1, 2, 0], [0, 0, 0, 1, 0, 1]]
  )


def test_what_is_masked_out_is_padding_of_a_packed_row_too():
  ids, mask = np.array([[1, 1, 2, 2]], "int32"), np.array([[1, 1, 1, 0]])
  seen, positions = scores.structure(mask, ids)
  np.testing.assert_array_equal(seen[:, :, 0], [[1, 1, 2, 0]])
  np.testing.assert_array_equal(positions, [[0, 1, 0, 1]])


def test_without_sequence_ids_a_row_is_one_text():
  mask = np.array([[1, 1, 0]], "int32")
  seen, positions = scores.structure(mask)
  assert seen is mask and positions is None
