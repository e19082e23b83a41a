"""The parts of a README that are run, and its small data."""

import json
import os
import pathlib
import random
import subprocess
import sys

import pytest

from tests import run_readme, small_data

ROOT = pathlib.Path(__file__).parents[1]
PAGES = ("README.md", "README.ko.md")
PAGE = """
```python
first = 1
```
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
  start, _, rest = program.partition("python official_tasks")
  assert "first" not in start and "'\nfirst = 1\nvalue = 1\nEND" in rest
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
  assert len(own.read_text().splitlines()) == 1001
  own.write_text("mine")
  small_data.main()
  assert own.read_text() == "mine"


def words_of(lines):
  return {word.strip(".") for line in lines for word in line.split()}


def test_the_reviews_have_the_words_of_the_corpus():
  corpus = words_of(small_data.korean_documents(random.Random(0), 1000))
  reviews = small_data.review_rows(random.Random(1), 400)[1:]
  texts = [review.split("\t")[1] for review in reviews]
  assert words_of(texts) <= corpus


def test_scores_of_a_constant_are_found(tmp_path):
  def write(name, results):
    (tmp_path / name).mkdir()
    (tmp_path / name / "results.json").write_text(json.dumps(results))

  scored = {"scores": {"accuracy": 0.6}, "shown": ["accuracy"]}
  write("learned", {"eval": {"dev": scored | {"baseline": 0.5}}})
  write("pretrained", {"eval": {"masked_lm_accuracy": 0.1}})
  write("predicted", {"eval": {"test": {"scores": {}, "shown": []}}})
  assert not run_readme.unlearned(tmp_path)
  write("nothing", {"eval": {"dev": scored | {"baseline": 0.6}}})
  [line] = run_readme.unlearned(tmp_path)
  assert "nothing/results.json: dev accuracy 0.6000 is not above" in line


@pytest.mark.acceptance
@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_readme_runs(page):
  command = [sys.executable, run_readme.__file__, page, "--steps=20"]
  result = subprocess.run(
    command, capture_output=True, text=True, env=os.environ
  )
  assert result.returncode == 0, result.stdout[-5000:] + result.stderr[-5000:]
