"""A user's mistakes: one clear line, a status, nothing lost."""

import json
import pathlib
import shutil

import pytest
import tensorflow as tf

from tests.official_tasks import scripts
from tests.official_tasks.test_run_pretraining import (
  RECORDS,
  flags,
  write_data,
)
from tfrecords import manifest

pytestmark = pytest.mark.integration


def write_json(path, content):
  path.write_text(json.dumps(content))
  return path


def vocabulary(name, change):
  """Returns a maker of a folder whose vocabulary has other tokens."""

  def make(folder):
    path = folder / name / "vocab.txt"
    path.parent.mkdir()
    tokens = change((folder / "vocab.txt").read_text("utf-8").split())
    path.write_text("\n".join([*tokens, ""]), encoding="utf-8")
    return path

  return make


def damaged(folder):
  """Returns a file whose fourth record is none."""
  path = folder / "damaged"
  with tf.io.TFRecordWriter(str(path)) as writer:
    for number, record in enumerate(
      tf.data.TFRecordDataset(str(folder / RECORDS))
    ):
      writer.write(b"none" if number == 3 else record.numpy())
  return path


def alone(folder):
  path = folder / "alone" / "bert_config.json"
  path.parent.mkdir()
  path.write_text((folder / "bert_config.json").read_text())
  return path


# {case: (flags that are wrong, words of the error)}; the exit status is 1.
CASES = {
  "unknown flag": ({"learning_rat": 1}, ["learning_rat"]),
  "malformed flag": ({"num_train_steps": "many"}, ["num_train_steps"]),
  "missing configuration": ({"bert_config_file": "/no.json"}, ["/no.json"]),
  "missing records": (
    {"input_file": "/no/records-*"},
    ["/no/records-*", "matches no file"],
  ),
  "a record to count that is none": (
    {"input_file": damaged, "word_vectors": "records"},
    ["damaged, record 3"],
  ),
  "no vocabulary": (
    {"bert_config_file": alone},
    ["--vocab_file must be given", "alone"],
  ),
  "vocabulary of another model": (
    {"vocab_file": vocabulary("longer", lambda tokens: [*tokens, "more"])},
    ["vocab_size", "longer", "belong together"],
  ),
  "vocabulary of other records": (
    {"vocab_file": vocabulary("reversed", reversed)},
    ["reversed", "written with another vocabulary"],
  ),
  "more tokens than positions": (
    {"max_seq_length": 1000},
    ["1000", "max_position_embeddings (64)"],
  ),
  "neither training nor evaluation": (
    {"do_train": False},
    ["--do_train", "--do_eval"],
  ),
  "two starts": (
    {"word_vectors": "records", "init_checkpoint": "/"},
    ["word_vectors (records) must be left out with init_checkpoint"],
  ),
  "learning rate that diverges": (
    {"learning_rate": 1e30, "num_warmup_steps": 0, "save_checkpoints_steps": 1},
    ["not finite at step 2", "--learning_rate", "model.ckpt-1"],
  ),
  "evaluation without a checkpoint": (
    {"do_train": False, "do_eval": True},
    ["holds no checkpoint", "--do_train"],
  ),
}
MODEL = pathlib.Path(__file__).parents[1] / "data/parity/bert_classifier"
_OF_FLAGS = ("unknown flag", "malformed flag")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
  return write_data(tmp_path_factory.mktemp("bad_data"))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
  """Folder of the folders of all runs."""
  return tmp_path_factory.mktemp("runs")


def write_reordered(data, runs):
  """Writes the records in two orders; yields the path of each."""
  source = str(data / RECORDS)
  content = manifest.read(source)
  counts = {k: v for k, v in content.items() if k.startswith("num_")}
  rows = [row.numpy() for row in tf.data.TFRecordDataset(source)]
  for name, written in (("a", rows), ("b", rows[::-1])):
    (runs / name).mkdir()
    records = str(runs / name / "records")
    with tf.io.TFRecordWriter(records) as writer:
      for row in written:
        writer.write(row)
    manifest.write(records, content["origin"], counts)
    yield records


@pytest.fixture(scope="module")
def outcomes(data, runs):
  """{case or run: (status, stdout, stderr)}."""
  commands = {}
  for case, (wrong, _) in CASES.items():
    wrong = {
      name: value(data) if callable(value) else value
      for name, value in wrong.items()
    }
    commands[case] = flags(data, runs / case, **wrong)
  first, second = write_reordered(data, runs)
  started = flags(data, runs / "started", num_train_steps=2)
  commands |= {
    "not started": started | {"init_checkpoint": "/no/bert_model.ckpt"},
    "started": started | {"input_file": first},
    "other records": started | {"input_file": second},
    "other rate": started | {"input_file": first, "learning_rate": 2e-3},
  }
  for name in ("eval_text_file", "init_checkpoint"):
    folder = runs / f"default without {name}"
    commands[folder.name] = {"output_dir": folder, name: "/no/file"}
  shutil.copytree(MODEL, runs / "model")
  commands["model"] = {"output_dir": runs / "model"}
  return scripts.run_all("run_pretraining", commands)


@pytest.mark.parametrize("case", CASES)
def test_one_line_names_what_is_wrong(outcomes, case):
  status, _, err = outcomes[case]
  assert status == (2 if case in _OF_FLAGS else 1), err
  line = scripts.error_line(err)
  for word in CASES[case][1]:
    assert word in line


def test_a_run_that_could_not_start_does_not_bind_the_next(outcomes):
  assert outcomes["not started"][0] == 1
  assert outcomes["started"][0] == 0, outcomes["started"]


@pytest.mark.parametrize("name", ["eval_text_file", "init_checkpoint"])
def test_the_default_run_opens_its_files_before_it_makes_data(
  outcomes, runs, name
):
  status, _, err = outcomes[f"default without {name}"]
  assert status == 1
  assert "/no/file" in scripts.error_line(err)
  left = runs / f"default without {name}"
  assert not left.exists() or not [*left.glob("[!.]*")]


def test_the_default_run_leaves_a_model_as_it_was(outcomes, runs):
  status, _, err = outcomes["model"]
  assert status == 1
  assert "model) holds a model, whose" in scripts.error_line(err)
  left = {path.name for path in (runs / "model").iterdir()}
  assert left == {path.name for path in MODEL.iterdir()}


@pytest.mark.parametrize(
  "case, words",
  [
    ("other rate", "learning_rate=0.001, not 0.002"),
    ("other records", "holds a run with records_sha256.records='"),
  ],
)
def test_another_configuration_or_data_do_not_touch_the_run(
  outcomes, runs, case, words
):
  status, _, err = outcomes[case]
  assert status == 1
  assert words in scripts.error_line(err)
  folder = runs / "started"
  configuration = scripts.results(folder)["configuration"]
  assert configuration["learning_rate"] == 1e-3
  assert configuration["input_file"] == str(runs / "a/records")
  times = [
    (folder / name).stat().st_mtime_ns
    for name in ("run_config.json", "model.ckpt-2.index", "results.json")
  ]
  assert times == sorted(times)
