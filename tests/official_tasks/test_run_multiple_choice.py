import functools
import json
import random

import pytest

from tests.official_tasks import scripts

pytestmark = pytest.mark.integration


@pytest.fixture(name="folder", scope="module")
def fixture_folder(tmp_path_factory):
  folder = tmp_path_factory.mktemp("choice")
  scripts.write_model_files(folder)
  return folder


def test_choices_are_learned_scored_and_predicted(folder):
  rng = random.Random(0)
  words = [word for word in scripts.WORDS if word != "cat"]
  lines = []
  for index in range(120):
    choices = [" ".join(rng.choices(words, k=2)) for _ in range(4)]
    choices[index % 4] = "the cat"
    lines.append("\t".join(("o", "a dog", *choices, str(index % 4))) + "\n")
  data = folder / "codah"
  data.mkdir()
  for name, part in (("train", lines[:100]), ("dev", lines[100:])):
    (data / f"{name}.tsv").write_text("".join(part), encoding="utf-8")
  status, out, err = scripts.run(
    "run_multiple_choice",
    **scripts.fine_tuning(
      folder,
      "run",
      learning_rate=5e-3,
      do_train=True,
      task_name="codah",
      data_dir=data,
      do_eval=True,
      num_train_epochs=8,
    ),
  )
  assert status == 0, err
  result = scripts.results(folder / "run")["eval"]["dev"]
  assert result["baseline"] == 0.25
  assert result["scores"]["accuracy"] > 0.9
  assert "dev accuracy" in out
  assert "<dt>true</dt><dd>the cat</dd>" in scripts.report(folder / "run")
  with open(folder / "run/dev/predictions.tsv", encoding="utf-8") as file:
    header, *rows = [line.split() for line in file]
  assert header == ["id", "label", "0", "1", "2", "3"]
  assert len(rows) == 20
  assert all(sum(map(float, row[2:])) == pytest.approx(1) for row in rows)


def test_a_users_mistakes_are_told_in_one_line(folder):
  def write(name, *rows):
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)

  row = {"text": "a", "c": ["x", "y", "z"], "label": 0}
  ok = write("ok.jsonl", row, row)
  two = write("two.jsonl", row | {"c": ["x", "y"]})
  beyond = write("beyond.jsonl", row, row | {"label": 3})
  cases = [
    ({"train_file": ok}, "--choice_columns must be given, or --task_name"),
    ({"task_name": "race"}, "must be one of SWAG, CODAH, JCommonsenseQA, or"),
    (
      {"task_name": "swag", "choice_columns": "a"},
      "--choice_columns needs --task_name=custom",
    ),
    (
      {
        "train_file": ok,
        "dev_file": two,
        "do_eval": True,
        "choice_columns": "c",
      },
      "two.jsonl:1 has 2 choices, but",
    ),
    (
      {"train_file": beyond, "choice_columns": "c"},
      "beyond.jsonl:2 has the label '3', which must be the number of a",
    ),
    (
      {"train_file": ok, "choice_columns": "d,e"},
      "ok.jsonl:1 has no column 'd'; it has 'text', 'c.0'",
    ),
  ]
  scripts.check_mistakes(
    "run_multiple_choice",
    cases,
    functools.partial(scripts.fine_tuning, folder, "none", do_train=True),
  )
