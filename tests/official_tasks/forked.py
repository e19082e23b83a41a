"""Processes of scripts that find TensorFlow and Keras imported already.

Importing both takes half the processor time of a script on a few sentences.
Here one process imports them, and modules that most scripts need, and is forked
for every script.
"""

import multiprocessing
import os
import pathlib
import runpy
import subprocess
import sys
import tempfile
from multiprocessing import forkserver

_ROOT = pathlib.Path(__file__).parents[2]
_CONTEXT = multiprocessing.get_context("forkserver")
# Tests read what the script itself writes.
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3"}
_CONTEXT.set_forkserver_preload(["tests.official_tasks.preloaded"])


class Process:
  """A script that runs, with the part of `subprocess.Popen` that tests use.

  Args:
    arguments: list of str: path of the script, flags.
    before: callable without arguments, what the process does first; importable.
    **environment: str, variables that the process has beside those of this one.
  """

  def __init__(self, arguments, before=None, **environment):
    variables = os.environ | QUIET | environment
    self._folder = tempfile.TemporaryDirectory()
    self._paths = [os.path.join(self._folder.name, n) for n in ("out", "err")]
    self._process = _CONTEXT.Process(
      target=_run,
      args=(arguments, variables, os.getcwd(), self._paths, before),
    )
    _start_server()
    self._process.start()

  @property
  def returncode(self):
    """int, or None while it runs; minus the number of the signal it died of."""
    return self._process.exitcode

  @property
  def pid(self):
    """int, its number."""
    return self._process.pid

  def poll(self):
    """Returns `returncode`."""
    return self._process.exitcode

  def communicate(self, timeout=None):
    """Waits for its end; returns what it wrote, (stdout, stderr)."""
    self._process.join(timeout)
    if self._process.exitcode is None:
      raise subprocess.TimeoutExpired(str(self._process), timeout)
    texts = []
    for path in self._paths:
      with open(path, encoding="utf-8") as file:
        texts.append(file.read())
    self._folder.cleanup()
    return tuple(texts)

  def send_signal(self, number):
    """Sends it a signal."""
    os.kill(self._process.pid, number)

  def kill(self):
    """Kills it."""
    self._process.kill()


def _start_server():
  """Starts the process that is forked, unless it runs.

  It imports from the folder it starts in, where `tests` must be this package
  and not one of that name that something else has installed.
  """
  folder = os.getcwd()
  os.chdir(_ROOT)
  try:
    forkserver.ensure_running()
  finally:
    os.chdir(folder)


def _run(arguments, environment, folder, paths, before):
  """Becomes the process of `python <arguments>`."""
  for descriptor, path in enumerate(paths, start=1):
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(opened, descriptor)
    os.close(opened)
  os.environ.clear()
  os.environ.update(environment)
  os.chdir(folder)
  sys.argv = list(arguments)
  sys.path.insert(0, os.path.dirname(arguments[0]))
  if before:
    before()
  runpy.run_path(arguments[0], run_name="__main__")
