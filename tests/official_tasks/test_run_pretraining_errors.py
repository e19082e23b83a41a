"""What a user can get wrong: one clear line, a status, nothing lost."""

import functools
import json
import os
import pathlib
import resource
import shutil
import time

import pytest
import tensorflow as tf

from tests.official_tasks import scripts
from tests.official_tasks.test_run_pretraining import (
  assert_equal_bitwise,
  final_state,
  flags,
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
  content = (folder / f"records-dynamic-{scripts.LENGTH}").read_bytes()
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
  folder = tmp_path_factory.mktemp("bad_data")
  scripts.write_model_files(folder)
  scripts.write_records(folder)
  return folder


@pytest.fixture(scope="module")
def outcomes(data, tmp_path_factory):
  """{case: (status, stderr)}."""
  runs = tmp_path_factory.mktemp("runs")
  commands = []
  for case, (wrong, _, _) in CASES.items():
    wrong = {
      name: value(data) if callable(value) else value
      for name, value in wrong.items()
    }
    output_dir = runs / case.replace(" ", "_")
    commands.append(flags(data, output_dir, **wrong))
  outcomes = scripts.run_each("run_pretraining", commands)
  return dict(zip(CASES, outcomes, strict=True))


@pytest.mark.parametrize("case", CASES)
def test_one_line_names_what_is_wrong(outcomes, case):
  _, expected_status, expected_words = CASES[case]
  status, err = outcomes[case]
  assert status == expected_status, err
  line = scripts.error_line(err)
  for word in expected_words:
    assert word in line


def test_another_configuration_does_not_touch_the_run(data, tmp_path):
  output_dir = tmp_path / "out"
  status, _, err = scripts.run(
    "run_pretraining", **flags(data, output_dir, num_train_steps=2)
  )
  assert status == 0, err
  before = {p.name: p.stat().st_mtime_ns for p in output_dir.iterdir()}
  status, _, err = scripts.run(
    "run_pretraining",
    **flags(data, output_dir, num_train_steps=2, learning_rate=2e-3),
  )
  assert status == 1
  assert "learning_rate=0.001, not 0.002" in err
  assert before == {p.name: p.stat().st_mtime_ns for p in output_dir.iterdir()}


def test_other_records_under_the_same_name_are_noticed(data, tmp_path):
  source = str(data / f"records-dynamic-{scripts.LENGTH}")
  content = manifest.read(source)
  counts = {k: v for k, v in content.items() if k.startswith("num_")}
  rows = [row.numpy() for row in tf.data.TFRecordDataset(source)]
  commands = []
  for name, written in (("a", rows), ("b", rows[::-1])):
    (tmp_path / name).mkdir()
    records = str(tmp_path / name / "records")
    with tf.io.TFRecordWriter(records) as writer:
      for row in written:
        writer.write(row)
    manifest.write(records, content["origin"], counts)
    commands.append(
      flags(data, tmp_path / "out", input_file=records, num_train_steps=2)
    )
  (trained, err), (status, line) = scripts.run_each("run_pretraining", commands)
  assert trained == 0, err
  assert status == 1
  assert "holds a run with records_sha256.records='" in scripts.error_line(line)


def test_a_run_that_could_not_start_does_not_bind_the_next(data, tmp_path):
  wrong = flags(data, tmp_path / "out", init_checkpoint="/no/bert_model.ckpt")
  right = flags(data, tmp_path / "out", num_train_steps=2)
  outcomes = scripts.run_each("run_pretraining", [wrong, right])
  assert [status for status, _ in outcomes] == [1, 0], outcomes


def test_a_full_disk_keeps_the_last_good_checkpoint(data, tmp_path):
  output_dir = tmp_path / "out"
  status, _, err = scripts.run(
    "run_pretraining", **flags(data, output_dir, num_train_steps=4)
  )
  assert status == 0, err
  # A limit on the size of a file fails like a full disk: in the middle.
  status, _, err = scripts.run(
    "run_pretraining",
    before=functools.partial(
      resource.setrlimit, resource.RLIMIT_FSIZE, (20_000, 20_000)
    ),
    **flags(data, output_dir),
  )
  assert status == 1
  line = scripts.error_line(err)
  assert "model.ckpt-8" in line
  assert "model.ckpt-4" in line
  assert "Make room" in line
  left = sorted(p.name for p in output_dir.glob("model.ckpt-*"))
  assert left == ["model.ckpt-4.data-00000-of-00001", "model.ckpt-4.index"]


@pytest.mark.slow
def test_records_exchanged_during_a_run_end_it(data, tmp_path):
  source = pathlib.Path(data / f"records-dynamic-{scripts.LENGTH}")
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
