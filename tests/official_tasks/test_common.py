import subprocess
import sys

import pytest

from tests.official_tasks import scripts

_SCRIPT = """
import dataclasses, errno
from official_tasks import common

@dataclasses.dataclass
class Config:
  kind: str = dataclasses.field(metadata={"help": "What happens."})
  size: int = dataclasses.field(default=3, metadata={"help": "A number."})

def main():
  config = common.from_flags(Config)
  if config.kind == "value":
    raise ValueError("size (3) must be\\n  even.")
  if config.kind == "file":
    raise FileNotFoundError(errno.ENOENT, "No such file", "a.txt")
  if config.kind == "bug":
    raise KeyError("bug")
  print(config.size)

common.define_flags(Config)
common.run(main)
"""


def _run(*arguments):
  return subprocess.run(
    [sys.executable, "-c", _SCRIPT, *arguments],
    capture_output=True,
    text=True,
  )


def test_flags_come_from_the_fields():
  result = _run("--kind=none", "--size=5")
  assert (result.returncode, result.stdout) == (0, "5\n")


@pytest.mark.parametrize(
  "kind, line",
  [
    ("value", "Error: size (3) must be even.\n"),
    ("file", "Error: [Errno 2] No such file: 'a.txt'\n"),
  ],
)
def test_a_mistake_of_the_user_gives_one_line_and_status_1(kind, line):
  result = _run(f"--kind={kind}")
  assert (result.returncode, result.stderr) == (1, line)


def test_debugging_shows_the_traceback():
  assert "Traceback" in _run("--kind=value", "--verbosity=1").stderr


def test_a_bug_shows_its_traceback():
  result = _run("--kind=bug")
  assert result.returncode == 1
  assert "Traceback" in result.stderr


@pytest.mark.parametrize(
  "arguments, message",
  [
    (["--kind=none", "--sise=5"], "'sise'. Did you mean: size ?"),
    (["--kind=none", "--size=many"], "--size=many"),
    (["--kind=none", "extra"], "unexpected argument 'extra'"),
    ([], "--kind"),
  ],
)
def test_a_wrong_flag_gives_one_line_and_status_2(arguments, message):
  result = _run(*arguments)
  assert result.returncode == 2
  assert message in result.stderr
  assert result.stderr.count("\n") == 1


def test_help_lists_the_flags_of_the_script():
  text = _run("--help").stdout
  assert "--kind: What happens." in text
  assert "--size: A number." in text


def test_help_lists_what_the_fine_tuning_scripts_share():
  result = subprocess.run(
    scripts.command("run_squad", help=True), capture_output=True, text=True
  )
  assert "--num_restarts: Runs from" in result.stdout
  assert "--[no]version_2_with_negative: " in result.stdout
  assert "run_squad.py \\\n" in result.stdout
