"""A user's mistakes: one clear line, a status, nothing lost."""

import json
import os
import pathlib
import shutil
import time

import pytest
import tensorflow as tf

from tests.official_tasks import scripts
from tests.official_tasks.test_run_pretraining import (
  RECORDS,
  assert_equal_bitwise,
  final_state,
  flags,
  write_data,
)
from tfrecords import manifest


def write_json(path, content):
  path.write_text(json.dumps(content))
  return path


def without_mask(folder):
  path = folder / "no_mask" / "vocab.txt"
  path.parent.mkdir()
  text = (folder / "vocab.txt").read_text(encoding="utf-8")
  path.write_text(text.replace("[MASK]", "[unused]"), encoding="utf-8")
  return path


def longer(folder):
  path = folder / "longer" / "vocab.txt"
  path.parent.mkdir()
  text = (folder / "vocab.txt").read_text(encoding="utf-8")
  path.write_text(text + "more\n", encoding="utf-8")
  return path


def swapped(folder):
  path = folder / "swapped" / "vocab.txt"
  path.parent.mkdir()
  *tokens, first, second = (folder / "vocab.txt").read_text("utf-8").split()
  path.write_text("\n".join([*tokens, second, first, ""]), encoding="utf-8")
  return path.parent


def unknown_key(folder):
  config = json.loads((folder / "bert_config.json").read_text())
  return write_json(folder / "unknown.json", config | {"hiden_size": 3})


def torn(folder):
  path = folder / "torn"
  content = (folder / RECORDS).read_bytes()
  path.write_bytes(content[: len(content) // 2])
  return path


def alone(folder):
  path = folder / "alone" / "bert_config.json"
  path.parent.mkdir()
  path.write_text((folder / "bert_config.json").read_text())
  return path


CASES = {
  "unknown flag": (dict(learning_rat=1), 2, ["learning_rat"]),
  "malformed flag": (dict(num_train_steps="many"), 2, ["num_train_steps"]),
  "unknown configuration key": (
    dict(bert_config_file=unknown_key),
    1,
    ["hiden_size", "unknown.json"],
  ),
  "missing configuration": (
    dict(bert_config_file="/no/where.json"),
    1,
    ["/no/where.json"],
  ),
  "missing records": (
    dict(input_file="/no/records-*"),
    1,
    ["/no/records-*", "matches no file"],
  ),
  "torn records": (dict(input_file=torn), 1, ["torn", "record"]),
  "vocabulary without [MASK]": (
    dict(vocab_file=without_mask),
    1,
    ["[MASK]", "no_mask", "add it"],
  ),
  "no vocabulary": (
    dict(bert_config_file=alone),
    1,
    ["--vocab_file must be given", "alone"],
  ),
  "vocabulary of another model": (
    dict(vocab_file=longer),
    1,
    ["vocab_size", "longer", "belong together"],
  ),
  "vocabulary of other records": (
    dict(vocab_file=swapped),
    1,
    ["swapped", "written with another vocabulary"],
  ),
  "more tokens than positions": (
    dict(max_seq_length=1000),
    1,
    ["1000", "max_position_embeddings (64)"],
  ),
  "batch that does not divide": (
    dict(gradient_accumulation_steps=3),
    1,
    ["batch size (8)", "(3)"],
  ),
  "neither training nor evaluation": (
    dict(do_train=False),
    1,
    ["--do_train", "--do_eval"],
  ),
  "warm-up longer than the run": (
    dict(num_warmup_steps=13),
    1,
    ["num_warmup_steps (13)", "(12)"],
  ),
  "decay of a moment": (
    dict(adam_beta_1=2),
    1,
    ["adam_beta_1 (2.0) must be in [0, 1)"],
  ),
  "clip norm without end": (
    dict(clip_norm="inf"),
    1,
    ["clip_norm (inf) must be in [0, 1e30]"],
  ),
  "width that is no number": (
    dict(generator_size="nan"),
    1,
    ["generator_size (nan)"],
  ),
  "no such initial checkpoint": (
    dict(init_checkpoint="/no/bert_model.ckpt"),
    1,
    ["/no/bert_model.ckpt"],
  ),
  "empty initial checkpoint folder": (
    dict(init_checkpoint="/"),
    1,
    ["holds no checkpoint"],
  ),
  "learning rate that diverges": (
    dict(learning_rate=1e30, num_warmup_steps=0, save_checkpoints_steps=1),
    1,
    ["not finite at step 2", "--learning_rate", "model.ckpt-1"],
  ),
  "evaluation without a checkpoint": (
    dict(do_train=False, do_eval=True),
    1,
    ["holds no checkpoint", "--do_train"],
  ),
}


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
  for case, (wrong, _, _) in CASES.items():
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
  return scripts.run_all("run_pretraining", commands)


@pytest.mark.parametrize("case", CASES)
def test_one_line_names_what_is_wrong(outcomes, case):
  _, expected_status, expected_words = CASES[case]
  status, _, err = outcomes[case]
  assert status == expected_status, err
  line = scripts.error_line(err)
  for word in expected_words:
    assert word in line


def test_a_run_that_could_not_start_does_not_bind_the_next(outcomes):
  assert outcomes["not started"][0] == 1
  assert outcomes["started"][0] == 0, outcomes["started"]


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


@pytest.mark.slow
def test_records_exchanged_during_a_run_end_it(data, tmp_path):
  source = pathlib.Path(data / RECORDS)
  records = tmp_path / "records"
  shutil.copy(source, records)
  shutil.copy(manifest.path_of(str(source)), manifest.path_of(str(records)))
  command = flags(data, tmp_path / "out", input_file=records)
  command |= {"num_train_steps": 400, "save_checkpoints_steps": 20}
  process = scripts.start("run_pretraining", **command)
  while not (tmp_path / "out" / "model.ckpt-20.index").exists():
    assert process.poll() is None
    time.sleep(0.05)
  content = records.read_bytes()
  os.rename(records, tmp_path / "before")
  records.write_bytes(content[::-1])
  _, err = process.communicate(timeout=300)
  assert process.returncode == 1
  assert f"{records} has been exchanged" in scripts.error_line(err)
  assert not (tmp_path / "out" / "model.ckpt-400.index").exists()
  os.replace(tmp_path / "before", records)
  # The same command continues.
  status, _, err = scripts.run("run_pretraining", **command)
  assert status == 0, err
  once = command | {"output_dir": tmp_path / "once"}
  status, _, err = scripts.run("run_pretraining", **once)
  assert status == 0, err
  ours, theirs = (final_state(tmp_path / name, 400) for name in ("out", "once"))
  assert_equal_bitwise(ours, theirs)
