"""What workers tell each other and read, without a second worker."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl.training import distribution


class TwoWorkers:
  """Stands for a strategy of two workers with a replica each."""

  num_replicas_in_sync = 2

  @staticmethod
  def distribute_datasets_from_function(dataset_of):
    return [dataset_of(tf.distribute.InputContext(2, k, 2)) for k in (0, 1)]


@pytest.mark.parametrize("is_cut_by_the_reader", [False, True])
def test_workers_read_the_parts_of_each_batch_in_order(is_cut_by_the_reader):
  rows = np.arange(24).reshape(3, 8)  # Three batches of eight.
  batches = tf.data.Dataset.from_tensor_slices({"input_ids": rows})
  if is_cut_by_the_reader:

    def batches(part, number):
      return tf.data.Dataset.from_tensor_slices(
        {"input_ids": np.split(rows, number, axis=1)[part]}
      )

  parts = distribution.distribute(TwoWorkers, batches)
  found = [
    np.concatenate([part["input_ids"] for part in step])
    for step in zip(*parts, strict=True)
  ]
  np.testing.assert_array_equal(found, rows)


@pytest.mark.parametrize("is_chief", [False, True])
def test_the_chief_alone_says_how_many_steps(monkeypatch, is_chief):
  told = []
  monkeypatch.setattr(distribution, "is_chief", lambda strategy: is_chief)
  monkeypatch.setattr(
    distribution,
    "sum_over_workers",
    lambda strategy, votes: told.append(votes) or (7, 2),
  )
  assert distribution.agree(TwoWorkers, 5, True) == (7, True)
  assert told == [[5 if is_chief else 0, True]]
