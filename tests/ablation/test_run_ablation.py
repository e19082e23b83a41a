"""run_ablation.py: from a corpus to a table, at once or with interruptions."""

import functools
import sys

import pytest

from keras_bert_impl.ablation import (
  commands,
  default_tasks,
  table_report,
  tables,
)
from tests.ablation import small
from tests.official_tasks import scripts


class Quick(commands.Command):
  """A command whose script notes that it was run, or fails without a size."""

  def arguments(self):
    code = "import sys; print(open(sys.argv[1], 'a').write(sys.argv[2]))"
    path = f"{self.folder}/runs.txt"
    return [sys.executable, "-c", code, path, *self.flags.get("size", "")]


def quick(folder, **flags):
  return Quick("a size", "quick", str(folder), {"unset": None, **flags})


def test_a_finished_command_is_not_run_again(tmp_path):
  for _ in range(2):
    commands.run_all([quick(tmp_path, size="3")] * 2, "Sizes")
  assert (tmp_path / "runs.txt").read_text() == "3"
  assert (tmp_path / "log.txt").read_text() == "1\n"
  with pytest.raises(ValueError, match="other values of size: choose another"):
    commands.run_all([quick(tmp_path, size="4")], "Sizes")


def test_what_a_script_says_of_a_mistake_is_repeated(tmp_path):
  wrong = quick(tmp_path)
  with pytest.raises(ValueError, match=r"quick failed \(a size\): Index"):
    commands.run_all([wrong], "Sizes")
  assert not wrong.is_finished()


def test_default_tasks_are_made_of_any_text(tmp_path):
  small.write_corpus(tmp_path / "corpus.txt")
  order, punctuation = default_tasks.write(
    str(tmp_path), [str(tmp_path / "corpus.txt")]
  )
  rows = open(order.flags["train_file"], encoding="utf-8").read().splitlines()
  assert rows[0] == "text\tlabel"
  labels = [row.split("\t")[1] for row in rows[1:]]
  assert labels.count("swapped") == len(labels) // 2
  for row, label in zip(rows[1:], labels):
    words = row.split("\t")[0].split()
    is_whole = (
      words[0] == "여기,"
      and words[-1] == "앉았다."
      and (words[1], words[3], words[5]) == ("고양이", "마리가", "번")
    )
    assert is_whole == (label == "as it was"), row
  text = open(punctuation.flags["train_file"], encoding="utf-8").read()
  sentence = text.partition("\n\n")[0].splitlines()
  assert sentence[0] == "여기 B-COMMA"
  assert sentence[6].split() == ["앉았다", "B-END"]
  assert len(sentence) == 13  # Without the last word, which all would know.


def test_too_little_text_is_refused(tmp_path):
  small.write_corpus(tmp_path / "corpus.txt", 2)
  with pytest.raises(ValueError, match="10 pairs of sentences"):
    default_tasks.write(str(tmp_path), [str(tmp_path / "corpus.txt")])


def test_a_table_shows_ours_beside_the_papers(tmp_path, capsys):
  rows = [
    {
      "name": "BERT & co",
      "scores": {"MNLI": {"mean": 61.23, "sd": 0.75, "n": 3}},
      "paper": {"MNLI": 84.4, "QNLI": 88.4},
    },
    {"name": "other", "scores": {}, "paper": {}},
  ]
  text = table_report.as_text(rows)
  assert "61.2 (0.8, 3) | 84.4" in text
  assert "QNLI" not in text
  trained = tmp_path / "fine_tuning/BERT"
  trained.mkdir(parents=True)
  (trained / "report.html").write_text("")
  table_report.write(
    tables.TABLES["5"],
    rows,
    str(tmp_path / "table_5"),
    {"scale": "tiny"},
    {"BERT on MNLI": str(trained), "not yet": str(tmp_path / "no")},
  )
  assert f"report   {tmp_path}/table_5/report.html" in capsys.readouterr().out
  page = scripts.report(tmp_path / "table_5")
  assert "<td>BERT &amp; co</td><td>61.2 (0.8, 3) | 84.4</td>" in page
  assert '<a href="../fine_tuning/BERT/report.html">BERT on MNLI</a>' in page
  assert "not yet" not in page


@pytest.mark.integration
def test_wrong_flags_are_one_line(tmp_path):
  path = tmp_path / "own.tsv"
  path.write_text("text\tlabel\n" + "a\tx\nb\ty\n" * 9)
  novel = tmp_path / "novel.tsv"
  novel.write_text("It was\na dark night.\n")
  cases = [
    ({}, "give --table or --figure"),
    ({"table": 5, "figure": 5}, "give --table or --figure"),
    ({"table": 6, "corpus": "x"}, "needs --held_out_corpus"),
    ({"table": 5, "tasks": "MNLI"}, "must be NAME=PATH"),
    (
      {"table": 7, "corpus": path, "tasks": f"own={path}"},
      "needs a task of tags",
    ),
    ({"table": 5, "tasks": f"own={novel}"}, "novel.tsv"),
    ({"table": "glue"}, "--table=glue needs --tasks"),
    ({"table": 5, "init_checkpoint": "x"}, "(x) is one model: table_5 com"),
    ({"table": 7, "init_checkpoint": "no_model"}, "no_model"),
    ({"table": 5, "corpus": "none"}, "none"),
    ({"table": 5, "held_out_corpus": "none"}, "none"),
    ({"table": 5, "vocab_file": "none"}, "none"),
    ({"table": 5, "random_seed": -1}, "random_seed (-1) must be in [0, "),
    (
      {"table": 5, "random_seed": 2**31 - 2, "num_restarts": 3},
      "random_seed of a restart (2147483648) must be in [0, 2147483647]",
    ),
  ]
  usual = functools.partial(dict, model_dir=tmp_path / "out")
  scripts.check_mistakes("run_ablation", cases, usual)
  assert not (tmp_path / "out").exists()
