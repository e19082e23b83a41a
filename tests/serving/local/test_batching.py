"""How the local server joins concurrent requests."""

import threading
import time

import numpy as np
import pytest

from keras_bert_impl.serving.local import batching, errors, signatures

SPEC = signatures.Spec(np.dtype(np.int32), (None, None))


class Doubling:
  """A signature that notes its batches, and fails where a 13 is in one."""

  inputs = {"x": SPEC}
  outputs = {"y": SPEC}

  def __init__(self):
    self.batches = []
    self.is_running = threading.Event()
    self.is_open = threading.Event()
    self.is_open.set()

  def run(self, inputs):
    self.is_running.set()
    self.is_open.wait(10)
    self.batches.append(inputs["x"].shape)
    if (inputs["x"] == 13).any():
      raise errors.of_model("a thirteen")
    return {"y": 2 * inputs["x"]}


class Summing(Doubling):
  """A signature whose output has no batch axis."""

  outputs = {"y": signatures.Spec(np.dtype(np.int32), ())}

  def run(self, inputs):
    self.batches.append(inputs["x"].shape)
    return {"y": inputs["x"].sum()}


@pytest.fixture
def batcher():
  made = batching.Batcher(max_batch_size=4, timeout_seconds=5, max_queue=8)
  yield made
  made.close()


def rows(*values):
  return {"x": np.array(values, np.int32).reshape(-1, 1)}


def answers(futures):
  return [future.result(10)["y"].ravel().tolist() for future in futures]


def test_requests_are_joined_up_to_the_batch_size_and_parted_again(batcher):
  signature = Doubling()
  requests = [rows(1), rows(2, 3), rows(), rows(4)]
  futures = [batcher.submit(signature, request) for request in requests]
  # Four rows are full: nobody waits for the time to run out.
  assert answers(futures) == [[2], [4, 6], [], [8]]
  assert signature.batches == [(4, 1)]


def test_no_batch_has_more_rows_than_the_batch_size(batcher):
  signature = Doubling()
  signature.is_open.clear()
  futures = [batcher.submit(signature, rows(1, 2, 3, 4))]
  assert signature.is_running.wait(10)
  futures += [
    batcher.submit(signature, rows(*some))
    for some in ([5, 6, 7], [8, 9, 10, 11])
  ]
  signature.is_open.set()
  assert answers(futures) == [[2, 4, 6, 8], [10, 12, 14], [16, 18, 20, 22]]
  assert signature.batches == [(4, 1), (3, 1), (4, 1)]


def test_a_lone_request_waits_no_longer_than_it_is_told():
  batcher = batching.Batcher(4, 0.05, 8)
  start = time.monotonic()
  assert answers([batcher.submit(Doubling(), rows(1))]) == [[2]]
  assert 0.05 <= time.monotonic() - start < 5
  batcher.close()


def test_a_request_of_more_rows_is_a_batch_of_its_own(batcher):
  signature = Doubling()
  assert answers([batcher.submit(signature, rows(*range(9)))]) == [
    list(range(0, 18, 2))
  ]
  assert signature.batches == [(9, 1)]


def test_only_what_fits_together_is_joined(batcher):
  first, second, summing = Doubling(), Doubling(), Summing()
  first.is_open.clear()
  blocker = batcher.submit(first, rows(1, 2, 3, 4))
  assert first.is_running.wait(10)
  futures = [
    batcher.submit(first, rows(5, 6)),
    batcher.submit(second, rows(7, 8)),
    batcher.submit(first, {"x": np.array([[1, 2]] * 4, np.int32)}),
    batcher.submit(summing, rows(1, 2)),
    batcher.submit(first, rows(9, 10)),
    batcher.submit(second, rows(11, 12)),
  ]
  first.is_open.set()
  blocker.result(10)
  assert answers(futures) == [
    [10, 12],
    [14, 16],
    [2, 4] * 4,
    [3],
    [18, 20],
    [22, 24],
  ]
  assert first.batches == [(4, 1), (4, 1), (4, 2)]
  assert second.batches == [(4, 1)]
  assert summing.batches == [(2, 1)]


def test_one_bad_request_does_not_fail_those_it_was_joined_with(batcher):
  signature = Doubling()
  good, bad, other = (
    batcher.submit(signature, rows(value)) for value in (1, 13, 2)
  )
  last = batcher.submit(signature, rows(3))
  assert answers([good, other, last]) == [[2], [4], [6]]
  with pytest.raises(errors.RequestError, match="a thirteen") as caught:
    bad.result(10)
  assert caught.value.status == 400
  assert answers([batcher.submit(signature, rows(*range(4)))]) == [[0, 2, 4, 6]]


def test_a_full_queue_refuses_and_goes_on(batcher):
  signature = Doubling()
  signature.is_open.clear()
  futures = [batcher.submit(signature, rows(1, 2, 3, 4))]
  assert signature.is_running.wait(10)
  futures += [batcher.submit(signature, rows(1, 2, 3, 4)) for _ in range(8)]
  with pytest.raises(errors.RequestError, match="8 requests .*--max_queue") as (
    caught
  ):
    batcher.submit(signature, rows(1))
  assert caught.value.status == 503
  signature.is_open.set()
  assert answers(futures) == [[2, 4, 6, 8]] * 9
  assert signature.batches == [(4, 1)] * 9


def test_closing_answers_what_waits_and_takes_no_more():
  batcher = batching.Batcher(4, 60, 8)
  future = batcher.submit(Doubling(), rows(1))
  batcher.close()
  assert answers([future]) == [[2]]
  with pytest.raises(errors.RequestError, match="shutting down") as caught:
    batcher.submit(Doubling(), rows(1))
  assert caught.value.status == 503


def test_several_batches_run_at_once():
  signature = Doubling()
  signature.is_open.clear()
  batcher = batching.Batcher(
    max_batch_size=4, timeout_seconds=0, max_queue=8, num_threads=2
  )
  futures = []
  try:
    for value in (1, 2):
      signature.is_running.clear()
      futures.append(batcher.submit(signature, rows(value)))
      assert signature.is_running.wait(10)  # The one before has not ended.
    futures += [batcher.submit(signature, rows(x)) for x in (3, 4)]
    signature.is_open.set()
    assert answers(futures) == [[2], [4], [6], [8]]
  finally:
    signature.is_open.set()
    batcher.close()
  # What waits while the threads are busy is one batch.
  assert sorted(signature.batches) == [(1, 1), (1, 1), (2, 1)]
