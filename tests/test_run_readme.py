"""The parts of a README that are run, and its small data."""

import os
import pathlib
import subprocess
import sys

import pytest

from tests import run_readme, small_data

ROOT = pathlib.Path(__file__).parents[1]
PAGES = ("README.md", "README.ko.md")
PAGE = """
```sh
python official_tasks/run_pretraining.py
python -m pytest tests
run --num_train_steps=1500 --num_warmup_steps=150
```
```python
value = 1
```
```json
{"not": "run"}
```
```python
print(value)
```
"""


def test_blocks_are_run_in_order():
  program = run_readme.shell_program(PAGE, steps=20)
  assert "run_pretraining.py --num_train_steps=20\n" in program
  assert "-m pytest --collect-only -q tests" in program
  assert "run --num_train_steps=20 --num_warmup_steps=2\n" in program
  assert "value = 1\nprint(value)\nEND_OF_BLOCK" in program
  assert "not" not in program


@pytest.mark.parametrize("page", PAGES)
def test_the_shell_understands_a_readme(page):
  program = run_readme.shell_program((ROOT / page).read_text("utf-8"), 20)
  subprocess.run(["bash", "-n", "-c", program], check=True)


def test_small_data_is_written_once(tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  small_data.main()
  own = tmp_path / "QNLI" / "dev.tsv"
  assert len(own.read_text().splitlines()) == 201
  own.write_text("mine")
  small_data.main()
  assert own.read_text() == "mine"


@pytest.mark.acceptance
@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_readme_runs(page):
  command = [sys.executable, run_readme.__file__, page, "--steps=20"]
  result = subprocess.run(
    command, capture_output=True, text=True, env=os.environ
  )
  assert result.returncode == 0, result.stdout[-5000:] + result.stderr[-5000:]
