"""run_few_shot.py: questions with examples in the prompt, and perplexities."""

import json

import pytest

import keras_bert_impl as kb
from tests.kinds.generation import small_models
from tests.official_tasks import scripts

pytestmark = pytest.mark.integration
WORDS = ("the", "cat", "sat", "on", "mat", "날씨가")


@pytest.fixture(name="folder", scope="module")
def fixture_folder(tmp_path_factory):
  folder = tmp_path_factory.mktemp("few_shot")
  small_models.make("gpt", folder / "gpt")
  rows = [
    {
      "q": f"{WORDS[k % 6]} {k}",
      "a": WORDS[k % 5],
      "b": "it ran",
      "label": k % 2,
    }
    for k in range(8)
  ]
  write(folder / "dev.jsonl", *rows)
  write(folder / "train.jsonl", *rows[:3])
  (folder / "reviews.tsv").write_text(
    "review\tstars\ngood cat\t1\nbad mat\t0\n", encoding="utf-8"
  )
  (folder / "text.txt").write_text("the cat sat on the mat. " * 12)
  return folder


def write(path, *rows):
  text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
  path.write_text(text, encoding="utf-8")
  return path


def run(folder, output="run", **values):
  checkpoint, output = folder / "gpt", folder / output
  return scripts.run(
    "run_few_shot", init_checkpoint=checkpoint, output_dir=output, **values
  )


def test_choices_of_columns_are_asked_after_examples(folder):
  status, out, err = run(
    folder,
    dev_file=folder / "dev.jsonl",
    train_file=folder / "train.jsonl",
    choice_columns="a,b",
    template=r"Q: {q}\nA:",
    num_fewshot="0,2",
    text_file=folder / "text.txt",
  )
  assert status == 0, err
  assert "dev_2_shot acc_norm" in out
  found = scripts.results(folder / "run")["few_shot"]
  assert found["dev_0_shot"]["num_questions"] == 8
  assert found["dev_0_shot"]["baseline"] == 0.5
  generator = kb.TextGenerator.from_checkpoint(folder / "gpt")
  rows = [json.loads(x) for x in (folder / "dev.jsonl").open(encoding="utf-8")]
  questions = [
    {
      "text": f"Q: {row['q']}\nA:",
      "choices": [row["a"], row["b"]],
      "label": row["label"],
    }
    for row in rows
  ]
  for number in (0, 2):
    expected = generator.few_shot(questions, questions[:3], number)
    name = f"dev_{number}_shot"
    assert found[name]["scores"] == pytest.approx(expected["scores"])
    lines = (folder / f"run/{name}/answers.jsonl").read_text().splitlines()
    for line, answer in zip(lines, expected["answers"], strict=True):
      assert json.loads(line)["scores"] == pytest.approx(answer.scores)
  text = (folder / "text.txt").read_text()
  expected = generator.rolling_perplexity([text])
  assert found["text"]["scores"] == pytest.approx(expected)
  assert "acc_bytes" in scripts.report(folder / "run")


def test_classes_are_asked_by_their_words(folder):
  status, _, err = run(
    folder,
    "words",
    dev_file=folder / "reviews.tsv",
    label_column="stars",
    template="{review} Good?",
    label_words="0=no,1=yes it is",
  )
  assert status == 0, err
  path = folder / "words/dev_0_shot/answers.jsonl"
  found = [json.loads(line) for line in path.read_text().splitlines()]
  assert [line["label"] for line in found] == [1, 0]
  generator = kb.TextGenerator.from_checkpoint(folder / "gpt")
  expected = generator.score("good cat Good?", [" no", " yes it is"])
  assert found[0]["scores"] == pytest.approx(expected, rel=1e-4)


def test_published_data_sets_are_known(folder):
  lines = ["o\ta dog\tsat\tran\tthe\tmat\t2\n", "o\tthe cat\ta\tb\tc\td\t0\n"]
  (folder / "dev.tsv").write_text("".join(lines))
  status, out, err = run(folder, "codah", task_name="codah", data_dir=folder)
  assert status == 0, err
  assert "0.2500" in out
  (folder / "qnli").mkdir()
  (folder / "qnli/dev.tsv").write_text(
    "index\tquestion\tsentence\tlabel\n0\tcat\tmat\tentailment\n"
  )
  status, out, err = run(
    folder, "qnli_run", task_name="QNLI", data_dir=folder / "qnli"
  )
  assert status == 0, err
  path = folder / "qnli_run/dev_0_shot/answers.jsonl"
  generator = kb.TextGenerator.from_checkpoint(folder / "gpt")
  names = [" entailment", " not_entailment"]
  scores = json.loads(path.read_text())["scores"]
  expected = generator.score("cat\nmat", names)
  assert scores == pytest.approx(expected, rel=1e-4)


def test_a_users_mistakes_are_told_in_one_line(folder):
  rows = {"dev_file": folder / "dev.jsonl", "choice_columns": "a,b"}
  examples = {"train_file": folder / "train.jsonl"}
  reviews = {"dev_file": folder / "reviews.tsv", "label_column": "stars"}
  empty = write(
    folder / "empty.jsonl", {"q": "x", "a": "y", "b": "z", "label": 0},
    {"q": "x", "a": " ", "b": "z", "label": 0},
  )  # fmt: skip
  long = write(
    folder / "long.jsonl", {"q": "x", "a": "y" * 90, "b": "z", "label": 0}
  )
  for values, message in (
    ({}, "give --task_name, --dev_file or --dev_fraction with questions, or"),
    ({"dev_file": "x"}, "--choice_columns or --label_words must be given"),
    (
      rows | {"template": "{questoin}"},
      "dev.jsonl:1 has no column 'questoin'; it has 'q', 'a', 'b', 'label':"
      " write it, or name the right one with template",
    ),
    (rows | {"num_fewshot": "1"}, "--do_train: give --train_file"),
    (
      rows | examples | {"template": "{q}", "num_fewshot": "4"},
      "num_examples (4) must be at most 3",
    ),
    (rows | {"num_fewshot": "-1"}, "num_fewshot (-1) must be an integer in"),
    (rows | {"label_words": "a,b"}, "give --choice_columns or --label_words"),
    (
      rows | {"template": "{q}", "dev_file": empty},
      "empty.jsonl:2 has an empty choice",
    ),
    (
      rows | {"template": "{q}", "dev_file": long},
      "long.jsonl:1 has a choice with more tokens than the model has room for",
    ),
    (
      reviews | {"template": "{review}", "label_words": "1=yes,2=no"},
      "reviews.tsv:3: stars ('0') must be one of 1, 2",
    ),
    (reviews | {"label_words": "1=yes"}, "must name at least two classes"),
    ({"task_name": "codah", "choice_columns": "a"}, "needs --task_name=custom"),
    ({"text_file": folder / "no.txt"}, "no.txt"),
  ):
    status, _, err = run(folder, "wrong", **values)
    assert status == 1, values
    assert message in err
    assert err.count("\n") == 1 or "Traceback" not in err
