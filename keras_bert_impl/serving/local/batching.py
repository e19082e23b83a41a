"""Joins concurrent requests into batches."""

import concurrent.futures
import dataclasses
import http
import threading
import time
from typing import Any

import numpy as np

from keras_bert_impl.serving.local import errors


@dataclasses.dataclass(frozen=True, eq=False)
class _Request:
  signature: Any
  inputs: dict
  future: concurrent.futures.Future
  key: Any  # Requests with the same one may be joined; None: with no other.
  num_rows: int
  deadline: float  # When it is run even if its batch is not full.


class Batcher:
  """Runs requests in threads and joins those that can be a batch.

  Requests of one signature whose inputs agree in all but the first axis are
  joined along it, and their outputs parted again; as in TF Serving, an output
  can then be padded to the longest of the whole batch.

  Args:
    max_batch_size: int, rows of a joined batch. A request of more rows is a
      batch of its own.
    timeout_seconds: float, how long a request may wait for others.
    max_queue: int, requests that may wait; further ones are refused.
    num_threads: int, batches that run at once.
  """

  def __init__(self, max_batch_size, timeout_seconds, max_queue, num_threads=1):
    self._max_batch_size = max_batch_size
    self._timeout = timeout_seconds
    self._max_queue = max_queue
    self._queue = []
    self._changed = threading.Condition()
    self._is_closed = False
    self._threads = [
      threading.Thread(target=self._work, name="batches")
      for _ in range(num_threads)
    ]
    for thread in self._threads:
      thread.start()

  def submit(self, signature, inputs):
    """Queues a request.

    Args:
      signature: `signatures.Signature`.
      inputs: {name: array}.

    Returns:
      Future of {output name: array}; raises RequestError if the model fails.

    Raises:
      RequestError: if too many requests are waiting, or the server ends.
    """
    future = concurrent.futures.Future()
    deadline = time.monotonic() + self._timeout
    request = _Request(
      signature, inputs, future, *_joining_key(signature, inputs), deadline
    )
    with self._changed:
      if self._is_closed:
        raise _unavailable("The server is shutting down.")
      if len(self._queue) >= self._max_queue:
        raise _unavailable(
          f"{self._max_queue} requests are waiting already (--max_queue); try "
          "again later."
        )
      self._queue.append(request)
      self._changed.notify()
    return future

  def close(self):
    """Answers the queued requests, then ends."""
    with self._changed:
      self._is_closed = True
      self._changed.notify_all()
    for thread in self._threads:
      thread.join()

  def _work(self):
    while batch := self._next_batch():
      _answer([r for r in batch if r.future.set_running_or_notify_cancel()])

  def _next_batch(self):
    """Waits for the oldest request and those to join it; [] at the end."""
    with self._changed:
      while True:
        self._changed.wait_for(lambda: self._queue or self._is_closed)
        if not self._queue:
          return []
        batch, is_full = self._joined()
        seconds = self._queue[0].deadline - time.monotonic()
        if is_full or self._is_closed or seconds <= 0:
          taken = {*batch}
          self._queue = [r for r in self._queue if r not in taken]
          return batch
        self._changed.wait(seconds)  # Another thread may take it.

  def _joined(self):
    """Returns the requests that run with the oldest one, and if they do now."""
    oldest = self._queue[0]
    if oldest.key is None:
      return [oldest], True
    alike = [r for r in self._queue if r.key == oldest.key]
    ends = np.cumsum([r.num_rows for r in alike])
    num_joined = max(1, np.sum(ends <= self._max_batch_size))
    return alike[:num_joined], ends[-1] >= self._max_batch_size


def _joining_key(signature, inputs):
  """Returns the key that requests of a batch share, and the number of rows."""
  specs = [*signature.inputs.values(), *signature.outputs.values()]
  has_batch_axis = all(spec.has_batch_axis for spec in specs)
  num_rows = {array.shape[0] for array in inputs.values() if array.ndim}
  if not has_batch_axis or len(num_rows) != 1:
    return None, 0
  shapes = tuple((name, inputs[name].shape[1:]) for name in sorted(inputs))
  return (id(signature), shapes), num_rows.pop()


def _answer(batch):
  """Answers the requests of a batch."""
  try:
    answers = _run(batch)
  except Exception as error:  # The thread must go on for the others.
    if len(batch) == 1:
      batch[0].future.set_exception(error)
      return
    for request in batch:  # Whose fault it is, each one's own run tells.
      _answer([request])
  else:
    for request, answer in zip(batch, answers, strict=True):
      request.future.set_result(answer)


def _run(batch):
  """Returns the outputs of each request of a batch."""
  if len(batch) < 2:
    return [request.signature.run(request.inputs) for request in batch]
  inputs = {
    name: np.concatenate([request.inputs[name] for request in batch])
    for name in batch[0].inputs
  }
  outputs = batch[0].signature.run(inputs)
  ends = np.cumsum([request.num_rows for request in batch])
  if any(len(array) != ends[-1] for array in outputs.values()):
    raise ValueError("The outputs have another batch size than the inputs.")
  parts = {name: np.split(array, ends[:-1]) for name, array in outputs.items()}
  return [
    dict(zip(parts, one, strict=True))
    for one in zip(*parts.values(), strict=True)
  ]


def _unavailable(message):
  return errors.RequestError(message, http.HTTPStatus.SERVICE_UNAVAILABLE)
