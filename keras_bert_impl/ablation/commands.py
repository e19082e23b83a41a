"""Runs scripts one after the other; what is finished is not repeated."""

import dataclasses
import os
import pathlib
import subprocess
import sys
import time

from keras_bert_impl import files, progress
from keras_bert_impl.training import stopping

_FINISHED = "command.json"
_LOG = "log.txt"
_POLL_SECONDS = 0.1


@dataclasses.dataclass(frozen=True)
class Command:
  """A script with its flags, and the folder that it writes into.

  Attributes:
    title: str, what is done, for the progress line.
    script: str, name of the script.
    folder: str.
    flags: {name: value}; None leaves a flag out. Values become text when the
      script is started.
    prepare: callable without arguments, done before the script is started; or
      None.
  """

  title: str
  script: str
  folder: str
  flags: dict
  prepare: object = dataclasses.field(default=None, compare=False)

  def arguments(self):
    """Returns the argument list of the process, list of str."""
    flags = self._record()["flags"].items()
    return [
      sys.executable,
      "-m",
      f"official_tasks.{self.script}",
      *(f"--{name}={value}" for name, value in flags),
    ]

  def is_finished(self):
    """Returns whether the command has been run to its end.

    Raises:
      ValueError: with other flags.
    """
    path = os.path.join(self.folder, _FINISHED)
    found = files.find_json(path, types={"flags": dict})
    if found is None:
      return False
    before, now = found["flags"], self._record()["flags"]
    names = [k for k in before | now if before.get(k) != now.get(k)]
    if names:
      raise ValueError(
        f"{self.folder} was made with other values of {', '.join(names)}:"
        " choose another --model_dir."
      )
    return True

  def _record(self):
    given = {k: str(v) for k, v in self.flags.items() if v is not None}
    return {"script": self.script, "flags": given}

  def run(self):
    """Runs the script; its output goes into log.txt of the folder.

    Raises:
      ValueError: it failed; the message ends with its last line.
      KeyboardInterrupt: SIGINT or SIGTERM came; the script has ended, too.
    """
    os.makedirs(self.folder, exist_ok=True)
    if self.prepare:
      self.prepare()
    log = os.path.join(self.folder, _LOG)
    with open(log, "ab") as output:
      status = _run(self.arguments(), output)
    if status:
      raise ValueError(
        f"{self.script} failed ({self.title}): {_last_line(log)} All of its"
        f" output is in {log}."
      )
    files.write_json(os.path.join(self.folder, _FINISHED), self._record())


def run_all(commands, description):
  """Runs the commands that are not finished, with one line of progress.

  Args:
    commands: list of `Command`, in order; repeated ones are run once.
    description: str, for the progress line.

  Raises:
    As `Command.is_finished` and `Command.run`.
  """
  commands = list({command.folder: command for command in commands}.values())
  open_ones = [command for command in commands if not command.is_finished()]
  done = len(commands) - len(open_ones)
  with progress.bar(
    description, total=len(commands), initial=done, unit="run"
  ) as bar:
    for command in open_ones:
      bar.set_postfix_str(command.title, refresh=True)
      command.run()
      bar.update()


def _run(arguments, output):
  """Returns the exit status of a process, to which it passes signals on.

  It gets its signals from here only: a terminal would send it Ctrl-C too, and
  a second signal kills a script.
  """
  with stopping.StopFlag() as stop:
    process = subprocess.Popen(
      arguments,
      stdin=subprocess.DEVNULL,
      stdout=output,
      stderr=subprocess.STDOUT,
      start_new_session=True,
    )
    try:
      while process.poll() is None and not stop.name:
        time.sleep(_POLL_SECONDS)
      if stop.name:
        process.terminate()
      status = process.wait()
    finally:
      process.kill()
  if stop.name:
    raise KeyboardInterrupt(stop.name)
  return status


def _last_line(path):
  """Returns the last line of a text file that is not empty, or ""."""
  text = pathlib.Path(path).read_text(encoding="utf-8", errors="replace")
  lines = [line.strip() for line in text.splitlines() if line.strip()]
  return lines[-1] if lines else ""
