"""Runs tasks in several processes of this machine, one core each."""

import concurrent.futures
import contextlib
import multiprocessing
import signal

from keras_bert_impl.training import stopping
from tfrecords.writing import shards

_POLL_SECONDS = 0.5


def run(function, tasks, num_workers, on_progress):
  """Calls a function for each task, in processes that end with this one.

  Args:
    function: callable (task, advance) that can be pickled; it calls
      advance(int) as its work goes on.
    tasks: sequence, in the order of their start.
    num_workers: int, processes.
    on_progress: callable (sum of what was advanced).

  Raises:
    OSError: a process was killed; and what the function raises.
  """
  # Spawned, not forked: TensorFlow's threads do not survive a fork.
  context = multiprocessing.get_context("spawn")
  done = context.Value("q", 0)
  executor = concurrent.futures.ProcessPoolExecutor(
    num_workers, context, _start_worker, (done,)
  )
  try:
    with _starting_workers():
      waiting = {executor.submit(_call, function, task) for task in tasks}
    while waiting:
      finished, waiting = concurrent.futures.wait(
        waiting, _POLL_SECONDS, concurrent.futures.FIRST_COMPLETED
      )
      for future in finished:
        future.result()
      on_progress(done.value)
  except KeyboardInterrupt:
    for worker in multiprocessing.active_children():
      worker.kill()
    raise
  except concurrent.futures.process.BrokenProcessPool as error:
    raise OSError(
      "a worker process was killed, perhaps for lack of memory: lower "
      f"num_workers ({num_workers}) and run the same command again. Finished "
      "shards are kept."
    ) from error
  finally:
    executor.shutdown(cancel_futures=True)


@contextlib.contextmanager
def _starting_workers():
  """Lets only this process handle signals, and only when the block ends.

  Ctrl-C reaches all processes of a terminal, but never those that start inside.
  One whose start its parent breaks off would print a traceback.
  """
  before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
  try:
    with stopping.postponed():
      yield
  finally:
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


_worker_progress = None


def _start_worker(done):
  """Prepares a worker process: one core, no GPU; it ends with its parent."""
  global _worker_progress
  _worker_progress = done
  shards.prepare_worker()
  stopping.end_with_parent()


def _call(function, task):
  def advance(amount):
    with _worker_progress.get_lock():
      _worker_progress.value += amount

  function(task, advance)
