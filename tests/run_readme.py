"""Runs the commands of a README in order, as a newcomer would.

    python tests/run_readme.py README.md [--steps=20]

copies the checkout into an empty folder and runs every block of `sh` and
`python` there, in one shell, until one fails. The page makes its own virtual
environment; nothing of this one is used. With --steps the runs of pre-training
are made short and the tests are only collected, by flags of these commands. At
the end each fine-tuning must have scored more than the best constant answer.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[1]
_BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.M | re.S)
# Variables of the caller that a newcomer has too.
_VARIABLES = ("HOME", "LANG", "PATH", "TERM", "TMPDIR")
_PREFIXES = ("PIP_", "SSL_", "REQUESTS_", "HTTP", "http", "NO_PROXY")


def shell_program(page, steps=None):
  """Returns the shell program that does what a page says, str.

  Blocks of Python go on from the ones before, so each runs these again. One
  before all commands shows what will be possible: it runs with the next one.

  Args:
    page: str, Markdown.
    steps: int, for short runs, or None.
  """
  parts, python = ["set -euo pipefail"], ""
  for language, code in _BLOCK.findall(page):
    if language == "python":
      python += code
      if len(parts) == 1:
        continue
      code = f"python - << 'END_OF_BLOCK'\n{python}END_OF_BLOCK\n"
    elif steps is not None:
      code = _shorter(code, steps)
    parts.append(code.rstrip())
  return "\n".join([*parts, "echo 'All commands of the page ran.'", ""])


def _shorter(code, steps):
  """Returns a block whose runs take `steps` steps."""
  code = re.sub(r"--num_train_steps=\d+", f"--num_train_steps={steps}", code)
  code = re.sub(
    r"--num_warmup_steps=\d+", f"--num_warmup_steps={steps // 10}", code
  )
  code = re.sub(
    r"(run_pretraining\.py)$",
    rf"\1 --num_train_steps={steps}",
    code,
    flags=re.M,
  )
  return re.sub(r"(-m pytest)\b", r"\1 --collect-only -q", code)


def _copy_checkout(folder):
  """Copies what git has or would add, so that nothing that was made is used."""
  names = subprocess.run(
    ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
    cwd=ROOT,
    check=True,
    capture_output=True,
  ).stdout
  archive = subprocess.run(
    ["tar", "-c", "--null", "-T", "-"],
    cwd=ROOT,
    check=True,
    capture_output=True,
    input=names,
  ).stdout
  subprocess.run(["tar", "-x"], cwd=folder, check=True, input=archive)


def unlearned(folder):
  """Returns a line for each score of a fine-tuning that is a constant's.

  Args:
    folder: str, with the output_dirs of runs, whose results.json tell.
  """
  lines = []
  for path in sorted(pathlib.Path(folder).rglob("results.json")):
    splits = json.loads(path.read_text(encoding="utf-8")).get("eval") or {}
    for split, result in splits.items():
      if not isinstance(result, dict) or "baseline" not in result:
        continue  # Of a pre-training, or without labels.
      name = [*result["shown"], *result["scores"]][0]
      score, baseline = result["scores"][name], result["baseline"]
      if score <= baseline:
        lines.append(
          f"{path}: {split} {name} {score:.4f} is not above {baseline:.4f},"
          " that of the best constant answer."
        )
  return lines


def main():
  """Runs a page; ends with its status, or 1 if a run has learned nothing."""
  parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
  parser.add_argument("page", help="README.md or README.ko.md")
  parser.add_argument("--steps", type=int, help="of short pre-trainings")
  arguments = parser.parse_args()
  page = (ROOT / arguments.page).read_text(encoding="utf-8")
  environment = {
    name: value
    for name, value in os.environ.items()
    if name in _VARIABLES or name.startswith(_PREFIXES)
  }
  with tempfile.TemporaryDirectory(prefix="readme_") as folder:
    _copy_checkout(folder)
    program = shell_program(page, arguments.steps)
    shell = subprocess.Popen(
      ["bash", "-xc", program],
      cwd=folder,
      env=environment,
      start_new_session=True,
    )
    try:
      status = shell.wait()
    finally:
      with contextlib.suppress(ProcessLookupError):
        os.killpg(shell.pid, signal.SIGTERM)  # A server that it left.
    lines = unlearned(folder)
    if lines and not status:
      print(*lines, sep="\n", file=sys.stderr)
      status = 1
  sys.exit(status)


if __name__ == "__main__":
  main()
