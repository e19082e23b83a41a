"""Rows of a batch count, and its padding rows do not."""

import numpy as np
import pytest

from keras_bert_impl.tasks.basics import cross_entropy, fine_tuning
from tests.tfrecords.labelled import test_length_batches as rows_of
from tfrecords.labelled import length_batches

COLUMNS = {
  name: fine_tuning.Column() for name in ("input_ids", "segment_ids")
} | {"label_ids": fine_tuning.Column("int32", ())}


@pytest.mark.parametrize("pads_left", [False, True])
def test_short_rows_count_on_whichever_side_their_padding_is(pads_left):
  rows = rows_of.make_rows(np.array([3, 5, 8]), COLUMNS)
  batches, _ = length_batches.evaluation_batches(rows, 4, (8,), pads_left)
  [batch] = batches
  weights = cross_entropy.row_weights(batch).numpy()
  np.testing.assert_array_equal(weights, [1, 1, 1, 0])


def test_a_row_of_choices_counts_if_one_has_a_token():
  mask = np.zeros((3, 2, 4), np.int32)
  mask[0, :, 1:], mask[1, 1, 3] = 1, 1
  weights = cross_entropy.row_weights({"input_mask": mask})
  np.testing.assert_array_equal(weights, [1, 1, 0])
