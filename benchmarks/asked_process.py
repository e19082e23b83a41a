"""A process that measures something each time that it is asked.

It lives in an environment of its own, so this module needs Python alone.
"""

import subprocess


class AskedProcess:
  """A process that prints ANSWER and numbers, first once it is ready.

  Args:
    command: list of str.
    environment: {name: value} of its environment.

  Attributes:
    first: list of float, what it answers once it is ready.
  """

  def __init__(self, command, environment):
    self._process = subprocess.Popen(
      command,
      stdin=subprocess.PIPE,
      stdout=subprocess.PIPE,
      stderr=subprocess.DEVNULL,
      text=True,
      env=environment,
    )
    self.first = self._answer()

  def ask(self, line=""):
    """Returns the numbers, list of float, that answer a line."""
    self._process.stdin.write(f"{line}\n")
    self._process.stdin.flush()
    return self._answer()

  def _answer(self):
    for line in self._process.stdout:
      if line.startswith("ANSWER "):
        return [float(x) for x in line.split()[1:]]
    command = " ".join(map(repr, self._process.args))
    raise SystemExit(f"The process ended; run it by hand: {command}")

  def stop(self):
    """Ends the process."""
    self._process.stdin.close()
    self._process.wait()
