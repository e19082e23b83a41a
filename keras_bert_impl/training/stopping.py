"""Handles SIGINT (Ctrl-C) and SIGTERM: an early end of a run.

Standard library only, because scripts use it before TensorFlow is imported.
"""

import contextlib
import multiprocessing.connection
import os
import signal
import sys
import threading

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StoppedError(Exception):
  """A run was stopped before its last step; the same command continues it.

  Attributes:
    exit_status: int, that of a process that it ends: EX_TEMPFAIL of sysexits.h,
      which schedulers can tell from an error.
  """

  exit_status = 75


@contextlib.contextmanager
def interruptible():
  """Raises KeyboardInterrupt, with the signal's name, on either signal.

  What has been begun is cleared away on the way out; a second signal kills.
  """

  def interrupt(number, unused_frame):
    _kill_next_time()
    raise KeyboardInterrupt(signal.Signals(number).name)

  def interrupt_again(lost):
    # Python drops what is raised in a callback of the garbage collector.
    if not issubclass(lost.exc_type, KeyboardInterrupt):
      hook_before(lost)
      return
    number = signal.Signals[str(lost.exc_value)]
    signal.signal(number, interrupt)
    threading.Timer(0.1, os.kill, [os.getpid(), number]).start()

  hook_before = sys.unraisablehook
  with _handled_by(interrupt):
    sys.unraisablehook = interrupt_again
    try:
      yield
    finally:
      sys.unraisablehook = hook_before


class StopFlag:
  """Records a signal instead of ending the process, inside a `with` block.

  A second signal kills.

  Attributes:
    name: str, the signal that came; None as long as none did.
  """

  name = None

  def __enter__(self):
    self._handlers = _handled_by(self._note)
    self._handlers.__enter__()
    return self

  def __exit__(self, *error):
    return self._handlers.__exit__(*error)

  def _note(self, number, unused_frame):
    _kill_next_time()
    self.name = signal.Signals(number).name


@contextlib.contextmanager
def postponed():
  """Lets a signal take effect only when the `with` block ends.

  A second signal kills.
  """
  with StopFlag() as stop:
    yield
  if stop.name:
    signal.raise_signal(signal.Signals[stop.name])


def end_with_parent():
  """Lets this process end when the one that started it has, however it did."""
  parent = multiprocessing.parent_process().sentinel

  def wait():
    multiprocessing.connection.wait([parent])
    os._exit(1)

  threading.Thread(target=wait, daemon=True).start()


def _kill_next_time():
  for number in SIGNALS:
    signal.signal(number, signal.SIG_DFL)


@contextlib.contextmanager
def _handled_by(handler):
  """Installs a handler of the signals inside a `with` block.

  In the main thread: Python handles signals in no other.
  """
  if threading.current_thread() is not threading.main_thread():
    yield
    return
  previous = {number: signal.signal(number, handler) for number in SIGNALS}
  try:
    yield
  finally:
    for number, handler_before in previous.items():
      signal.signal(number, handler_before)
