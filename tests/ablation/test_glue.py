"""--table=glue: tasks of a folder, their average, and what is handed in."""

import json
import pathlib
import zipfile

import pytest

from keras_bert_impl.ablation import glue, scales, table_plan, tables
from tests.ablation import small
from tests.official_tasks import scripts

TABLE = tables.TABLES["glue"]
PAPER = TABLE.rows[0].paper
USUAL = ("train", "dev", "test")
MNLI = (
  *("train", "dev_matched", "dev_mismatched"),
  *("test_matched", "test_mismatched"),
)
FILES = {
  **dict.fromkeys(("CoLA", "sst2", "MRPC", "QQP", "STS-B", "QNLI"), USUAL),
  **dict.fromkeys(("RTE", "WNLI", "other"), USUAL),
  "MNLI": MNLI,
  "diagnostic": ("diagnostic",),
}
MAIN_METRICS = {
  "CoLA": "matthews",
  "MRPC": "f1",
  "QQP": "f1",
  "STS-B": "spearman",
}


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
  """The files of all tasks, without content."""
  for task, names in FILES.items():
    (tmp_path / "glue" / task).mkdir(parents=True)
    for name in names:
      (tmp_path / "glue" / task / f"{name}.tsv").touch()
  return tmp_path / "glue"


def experiment(folder):
  models = str(folder.parent / "models")
  given = glue.tasks(str(folder))
  tiny = scales.SCALES["tiny"]
  return table_plan.Experiment(models, tiny, given, "v.txt", "text", "", 2)


def predictions(whole, folder):
  """{name of a task: `Command`} of the test sets."""
  before = table_plan.commands_of(TABLE, whole)
  found = glue.commands(str(folder), whole, before)
  return {command.flags["task_name"]: command for command in found}


def finish(whole, *restarts):
  """Writes the results of fine-tunings that had scores {column: percent}."""
  for _, column, command in table_plan.cells_of(TABLE, whole):
    folder = pathlib.Path(command.folder)
    split = "dev_mismatched" if column == "MNLI-mm" else "dev"
    metric = MAIN_METRICS.get(command.flags["task_name"], "accuracy")
    for number, scores in enumerate(restarts):
      path = folder / f"runs/random_seed={number}/results.json"
      path.parent.mkdir(parents=True, exist_ok=True)
      results = json.loads(path.read_text()) if path.exists() else {"eval": {}}
      found = {metric: scores[column] / 100}
      results["eval"][split] = {"scores": {**found, "another": 0.01}}
      path.write_text(json.dumps(results))
    names = [{"name": f"random_seed={n}"} for n in range(len(restarts))]
    search = {"metric": metric, "runs": names, "best": names[-1]}
    (folder / "results.json").write_text(json.dumps(search))


def test_tasks_are_found_by_the_names_of_their_folders(folder):
  found = glue.tasks(str(folder))
  names = ["MNLI", "QQP", "QNLI", "SST-2", "CoLA", "STS-B", "MRPC", "RTE"]
  assert [task.name for task in found] == names
  assert found[3].flags == {
    "task_name": "SST-2",
    "data_dir": str(folder / "sst2"),
  }


def test_a_missing_file_or_folder_is_named(folder, tmp_path):
  with pytest.raises(FileNotFoundError, match="Folder /no, of GLUE's tasks"):
    glue.tasks("/no")
  (tmp_path / "empty").mkdir()
  with pytest.raises(ValueError, match="empty.* has no folder of a task"):
    glue.tasks(str(tmp_path / "empty"))
  (folder / "MNLI/dev_mismatched.tsv").unlink()
  with pytest.raises(FileNotFoundError, match="mismatched.tsv, of the task MN"):
    glue.tasks(str(folder))


def test_the_average_is_that_of_the_papers_table(folder):
  whole = experiment(folder)
  finish(whole, PAPER)
  [row] = table_plan.scores_of(TABLE, whole)
  assert list(row["scores"]) == list(PAPER)
  for column, published in PAPER.items():
    score = row["scores"][column]
    assert score["mean"] == pytest.approx(published, abs=0.05)
    assert (score["sd"], score["n"]) == (0.0, 1)


def test_an_average_of_fewer_tasks_has_a_name_of_its_own(folder):
  for path in (folder / "MNLI").iterdir():
    path.unlink()
  (folder / "MNLI").rmdir()
  whole = experiment(folder)
  # Restarts that differ by 10 in each task differ by 10 in their average.
  finish(whole, dict.fromkeys(PAPER, 50.0), dict.fromkeys(PAPER, 60.0))
  [row] = table_plan.scores_of(TABLE, whole)
  average = row["scores"]["Average of 7"]
  assert average == {"mean": 55.0, "sd": pytest.approx(50**0.5), "n": 2}
  assert list(predictions(whole, folder)) == [
    *("CoLA", "MRPC", "QNLI", "QQP", "RTE", "STS-B", "WNLI", "SST-2")
  ]


def test_test_sets_are_predicted_by_the_best_runs(folder):
  (folder / "RTE/test.tsv").unlink()
  whole = experiment(folder)
  found = predictions(whole, folder)
  assert "RTE" not in found
  assert found["WNLI"].flags["predict_majority"]
  assert "init_checkpoint" not in found["WNLI"].flags
  finish(whole, PAPER, PAPER)
  best = whole.join("fine_tuning/MNLI/bert/runs/random_seed=1")
  for name in ("MNLI", "AX"):
    assert f"--init_checkpoint={best}" in found[name].arguments()
    assert "--do_train" not in " ".join(found[name].arguments())


def test_the_zip_holds_what_the_site_takes(folder, tmp_path):
  found = predictions(experiment(folder), folder)
  names = {"test": "MNLI-m.tsv", "test_mismatched": "MNLI-mm.tsv"}
  for task, command in found.items():
    files = names if task == "MNLI" else {"test": f"{task}.tsv"}
    for split, name in files.items():
      path = pathlib.Path(command.folder, split, name)
      path.parent.mkdir(parents=True)
      path.write_text(f"index\tprediction\n0\t{name}\n")
  contents = []
  for _ in range(2):
    line = glue.write_zip(str(tmp_path), [*found.values()])
    assert line == f"to hand in {tmp_path}/submission.zip"
    contents.append((tmp_path / "submission.zip").read_bytes())
  assert contents[0] == contents[1]
  with zipfile.ZipFile(tmp_path / "submission.zip") as archive:
    assert len(archive.namelist()) == 11
    assert archive.read("AX.tsv") == b"index\tprediction\n0\tAX.tsv\n"
  line = glue.write_zip(str(tmp_path), [found["WNLI"], found["QNLI"]])
  assert "also wants MNLI-m.tsv, MNLI-mm.tsv, QQP.tsv, SST-2.tsv" in line
  assert "nothing to hand in" in glue.write_zip(str(tmp_path), [])


@pytest.mark.slow
def test_a_folder_becomes_a_table_and_a_zip(tmp_path):
  data = tmp_path / "glue"
  nli = ("contradiction", "entailment", "neutral")
  for name in MNLI[:3]:
    small.write_pairs(data / f"MNLI/{name}.tsv", "gold_label", nli)
  small.write_pairs(data / "WNLI/train.tsv", "label", ("1", "1", "0"))
  for name in (*(f"MNLI/{n}" for n in MNLI[3:]), "WNLI/test", "AX/diagnostic"):
    small.write_pairs(data / f"{name}.tsv")
  process = small.start(tmp_path, table="glue", tasks=data)
  out, err = process.communicate(timeout=300)
  assert process.returncode == 0, err
  folder = tmp_path / "models/table_glue"
  [row] = scripts.results(folder)["rows"]
  assert list(row["scores"]) == ["MNLI-m", "MNLI-mm", "Average of 2"]
  assert row["scores"]["Average of 2"]["n"] == 2
  assert "| 83.4" in out and "also wants QQP.tsv" in out
  assert (folder / "table.png").stat().st_size > 5000
  with zipfile.ZipFile(folder / "submission.zip") as archive:
    names = ["AX.tsv", "MNLI-m.tsv", "MNLI-mm.tsv", "WNLI.tsv"]
    assert archive.namelist() == names
    lines = archive.read("WNLI.tsv").decode().splitlines()
    assert lines[1:] == [f"{number}\t1" for number in range(24)]
    assert len(archive.read("AX.tsv").decode().splitlines()) == 25
