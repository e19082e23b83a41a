"""run_pretraining.py: runs of one process, and runs that are stopped."""

import functools
import itertools
import json
import math
import pathlib
import resource
import shutil
import signal
import sys
import time

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl import configs
from keras_bert_impl.checkpoints.formats import tf_format
from keras_bert_impl.metrics import intervals
from keras_bert_impl.runs.pretraining import (
  default_models,
  default_pretraining,
  pretraining_run,
)
from keras_bert_impl.training import run_log
from tests.official_tasks import scripts
from tfrecords.text import python_documentation

TEXT = "the [MASK] sees a tree ."
RECORDS = f"records-dynamic-{scripts.LENGTH}"


def write_data(folder):
  """Writes vocab.txt, bert_config.json and records; returns the folder."""
  scripts.write_model_files(folder)
  scripts.write_records(folder)
  return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory):
  return write_data(tmp_path_factory.mktemp("data"))


def flags(data, output_dir, **overrides):
  values = {
    "input_file": data / RECORDS,
    "output_dir": output_dir,
    "bert_config_file": data / "bert_config.json",
    "do_train": True,
    "train_batch_size": 8,
    "max_seq_length": scripts.LENGTH,
    "max_predictions_per_seq": 5,
    "num_train_steps": 12,
    "num_warmup_steps": 2,
    "learning_rate": 1e-3,
    "save_checkpoints_steps": 4,
    "do_export": False,
  }
  return values | overrides


def final_state(output_dir, step=12):
  checkpoint = tf_format.read(str(output_dir / f"model.ckpt-{step}"))
  return {name: checkpoint[name] for name in checkpoint}


def assert_equal_bitwise(ours, theirs):
  assert ours.keys() == theirs.keys()
  for name, array in ours.items():
    np.testing.assert_array_equal(array, theirs[name], err_msg=name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
  """Folder of the folders of all runs."""
  return tmp_path_factory.mktemp("runs")


def run_all(data, folder, runs):
  """Returns {folder of a run: (status, stdout, stderr)}."""
  return scripts.run_all(
    "run_pretraining",
    {
      name: flags(data, **{"output_dir": folder / name, **values})
      for name, values in runs.items()
    },
  )


@pytest.fixture(scope="module")
def outcomes(data, folder):
  """{folder of a whole run, or of its repetition: (status, stdout, stderr)}."""
  whole = {"do_eval": True, "do_export": True, "example_text": TEXT}
  again = {"output_dir": folder / "whole", "example_text": TEXT}
  return run_all(data, folder, {"whole": whole, "again": again})


@pytest.fixture(scope="module")
def whole(outcomes, folder):
  """Folder of a finished run with evaluation and exports."""
  assert outcomes["whole"][0] == 0, outcomes["whole"]
  return folder / "whole"


def test_a_run_leaves_everything_it_names(outcomes, whole):
  results, out = scripts.results(whole), outcomes["whole"][1]
  for name in (
    "masked_lm_accuracy",
    "masked_lm_baseline_accuracy",
    "masked_lm_loss",
    "next_sentence_accuracy",
  ):
    assert 0 <= results["eval"][name] < 10
  assert results["train"]["steps"] == 12
  assert results["train"]["examples_per_second"] > 0
  assert results["train"]["tokens_per_second"] > 0
  assert results["data"]["num_documents"] == 40
  assert results["data"]["num_instances"] == results["data"]["num_records"] > 0
  for name, path in results["artifacts"].items():
    for one in path if name == "records" else [path]:
      found = pathlib.Path(one)
      assert found.exists() or found.with_name(found.name + ".index").exists()
  assert "training-data MLM accuracy" in out
  assert TEXT in out
  png = (whole / "curves.png").read_bytes()
  assert png.startswith(b"\x89PNG") and len(png) > 10_000
  page = scripts.report(whole)
  assert TEXT in page
  number = min(4096, results["data"]["num_records"])
  measured = f"<td>rows measured</td><td>{number:,}</td>"
  assert measured in page and "Tokens of a row" in page
  accuracy, number = (
    results["eval"][f"masked_lm_{what}"] for what in ("accuracy", "number")
  )
  low, high, _ = intervals.wilson(accuracy * number, number)
  assert f"{low:.4f} to {high:.4f}" in page


def test_checkpoints_are_rotated_and_in_the_originals_names(whole):
  state = final_state(whole)
  assert state["global_step"] == 12
  kernel = "bert/encoder/layer_0/attention/self/query/kernel"
  assert {kernel, f"{kernel}/adam_m", f"{kernel}/adam_v"} <= state.keys()
  kept = sorted(p.name for p in whole.glob("model.ckpt-*.index"))
  assert kept == [f"model.ckpt-{s}.index" for s in (12, 4, 8)]


def test_a_second_run_says_that_it_is_done(outcomes, whole):
  status, out, err = outcomes["again"]
  assert status == 0, err
  assert "already has all 12 steps" in out
  assert f"{TEXT}\n    " in out  # From the model exported before.
  exports = (whole / "saved_model" / "encoder").iterdir()
  assert [path.name for path in exports if path.is_dir()] == ["1"]


@pytest.mark.integration
def test_rows_of_similar_length_have_less_padding(data, folder):
  longer = 2 * scripts.LENGTH
  by_length = {
    "objective": "roberta",
    "input_file": scripts.write_records(
      data, longer, objective="roberta", packing="doc_sentences"
    ),
    "max_seq_length": longer,
    "bucket_by_length": True,
  }
  [(status, _, err)] = run_all(data, folder, {"by length": by_length}).values()
  assert status == 0, err
  records = tf.data.TFRecordDataset(str(data / f"records-dynamic-{longer}"))
  features = [
    tf.train.Example.FromString(record.numpy()).features.feature
    for record in records
  ]
  padded = 1 - np.mean(
    [len(f["input_ids"].int64_list.value) / longer for f in features]
  )
  entries = run_log.read(str(folder / "by length"))
  assert np.mean([e["padding_share"] for e in entries]) < 0.7 * padded


def wait_for_step(output_dir, step, process):
  """Waits until the log of a running process has reached a step."""
  log = output_dir / "train_log.jsonl"
  while process.poll() is None:
    # Not what is written just now.
    lines = log.read_text().split("\n")[:-1] if log.exists() else []
    if lines and json.loads(lines[-1])["step"] >= step:
      return
    time.sleep(0.02)
  pytest.fail(f"ended before step {step}: {process.communicate()[1]}")


@pytest.mark.integration
def test_a_run_stopped_then_killed_ends_with_the_same_bits(
  data, whole, tmp_path
):
  output_dir = tmp_path / "stopped"
  command = flags(data, output_dir, iterations_per_loop=1)
  process = scripts.start(
    "run_pretraining", **command | {"save_checkpoints_steps": 1000}
  )
  wait_for_step(output_dir, 2, process)
  process.send_signal(signal.SIGINT)
  _, err = process.communicate(timeout=60)
  assert process.returncode == 75
  assert "Stopped: SIGINT: saved" in err
  assert "Traceback" not in err
  assert list(output_dir.glob("model.ckpt-*.index"))
  process = scripts.start("run_pretraining", **command)
  wait_for_step(output_dir, 9, process)
  process.kill()
  process.communicate()
  status, _, err = scripts.run("run_pretraining", **command)
  assert status == 0, err
  assert_equal_bitwise(final_state(output_dir), final_state(whole))
  steps = [
    json.loads(line)["step"]
    for line in (output_dir / "train_log.jsonl").read_text().splitlines()
  ]
  assert steps == sorted(set(steps))


@pytest.mark.integration
def test_a_full_disk_keeps_the_last_good_checkpoint(data, whole, tmp_path):
  for path in whole.glob("*"):
    if path.is_file():
      shutil.copy(path, tmp_path)
  # A limit on the size of a file fails like a full disk: in the middle.
  status, _, err = scripts.run(
    "run_pretraining",
    before=functools.partial(
      resource.setrlimit, resource.RLIMIT_FSIZE, (20_000, 20_000)
    ),
    **flags(data, tmp_path, num_train_steps=16),
  )
  assert status == 1
  line = scripts.error_line(err)
  assert "model.ckpt-16" in line
  assert "model.ckpt-12" in line
  assert "raise the limit of file sizes (ulimit -f)" in line
  assert {p.stem for p in tmp_path.glob("model.ckpt-*")} == {
    f"model.ckpt-{step}" for step in (4, 8, 12)
  }


def shrink_default():
  """Makes the default run take a few texts of the machine."""
  find = python_documentation.iter_modules
  python_documentation.iter_modules = lambda: itertools.islice(find(), 60)
  default_pretraining.VOCAB_SIZE = 500


def check_default(output_dir, outcome, steps, is_first):
  status, out, err = outcome
  assert status == 0, err
  assert scripts.results(output_dir)["train"]["steps"] == steps
  assert "held-out MLM accuracy" in out
  assert ("Writing TFRecords" in err) == is_first
  assert ("Gathering the documentation" in err) == is_first
  assert ("Word vectors from the records" in err) == is_first


@pytest.mark.integration
def test_the_default_runs_from_nothing_and_goes_on(tmp_path):
  values = {"output_dir": tmp_path / "out", "do_export": False}
  outcomes = scripts.run_all(
    "run_pretraining",
    {steps: values | {"num_train_steps": steps} for steps in (2, 3)},
    shrink_default,
  )
  for steps, outcome in outcomes.items():
    check_default(tmp_path / "out", outcome, 3, is_first=steps == 2)
  assert "Resuming at step 2" in outcomes[3][2]


@pytest.mark.integration
def test_a_recipe_sets_what_is_not_given(data, tmp_path):
  values = {"recipe": "fast", "num_train_steps": 2, "do_export": False}
  given = flags(data, tmp_path / "given", optimizer="lamb", **values)
  for name in (
    "bert_config_file",
    "max_predictions_per_seq",
    "num_warmup_steps",
  ):
    del given[name]
  given |= {"objective": "bert", "vocab_file": data / "vocab.txt"}
  given["masked_lm_prob"] = 0.3
  own_records = values | {
    "input_file": tmp_path / "text" / "tfrecords" / "train-*",
    "output_dir": tmp_path / "own records",
    "vocab_file": tmp_path / "text",
    "max_seq_length": 64,
    "do_train": True,
  }
  outcomes = scripts.run_all(
    "run_pretraining",
    {
      "text": values | {"output_dir": tmp_path / "text"},
      "given": given,
      "own records": own_records,
    },
    shrink_default,
  )
  recipe = default_models.RECIPES["fast"]
  preset = configs.EncoderConfig.preset(recipe.preset)
  for name, own in (("text", {}), ("given", given), ("own records", {})):
    status, out, err = outcomes[name]
    assert status == 0, err
    found = scripts.results(tmp_path / name)["configuration"]
    expected = {k: own.get(k, value) for k, value in recipe.flags.items()}
    # It has steps for its own text alone; here they are given.
    expected["num_train_steps"] = 2
    assert {k: found[k] for k in expected} == expected
    [line] = [x for x in out.splitlines() if x.startswith("--recipe=fast: ")]
    for flag, value in expected.items():
      is_own = flag != "num_train_steps" or name == "text"
      assert (f"--{flag}={value}" in line) == is_own
    model = json.loads((tmp_path / name / "bert_config.json").read_text())
    assert model["model_type"] == preset.model_type
    # Records of the test data say how many of their tokens are masked: 5.
    most = 5 if own else math.ceil(0.3 * found["max_seq_length"])
    assert found["max_predictions_per_seq"] == most
    assert found["num_warmup_steps"] == 0  # A tenth of the steps.


def test_a_default_that_makes_no_sense_is_refused_before_it_is_prepared(
  data, tmp_path
):
  folder = tmp_path / "of_bert"
  folder.mkdir()
  (folder / "run_config.json").write_text('{"objective": "bert"}')
  model = {"bert_config_file": data / "bert_config.json"}
  long = {"max_seq_length": 10 * scripts.LENGTH}
  none = {"recipe": "fast", "input_file": tmp_path / "none", "do_train": True}
  scripts.check_mistakes(
    "run_pretraining",
    [
      (
        {"objective": "roberta", "output_dir": folder},
        "holds a run with objective='bert', not 'roberta': choose another",
      ),
      ({"objective": "left_to_right"} | model, "use_causal_mask (False) must"),
      (model | long, f"max_seq_length ({10 * scripts.LENGTH}) must be at most"),
      ({"objective": "xlnet", "mem_len": 64}, "mem_len (64) must be below"),
      # Not that its vectors would replace those of a recipe.
      ({"recipe": "fast", "init_checkpoint": folder}, f"{folder} holds no"),
      ({"objective": "elmo", "masked_lm_prob": 0.3}, "must be left out"),
      ({"vocab_file": tmp_path / "none.txt"}, "none.txt"),
      (none, "--recipe=fast with --input_file needs the --vocab_file"),
      (none | {"vocab_file": data / "vocab.txt"}, "matches no file"),
    ],
    lambda **values: {"output_dir": tmp_path / "new"} | values,
  )
  assert [path.name for path in folder.iterdir()] == ["run_config.json"]
  assert not (tmp_path / "new").exists()


@pytest.mark.slow
def test_the_default_runs_whole_from_nothing_again_and_on(
  tmp_path, monkeypatch
):
  """Adds the whole text, the exports and the modules that a user imports."""
  temporary = tmp_path / "temporary"
  temporary.mkdir()
  monkeypatch.setenv("TMPDIR", str(temporary))
  output_dir = tmp_path / "out"
  for steps, is_first in ((3, True), (3, False), (5, False)):
    outcome = scripts.run(
      "run_pretraining",
      is_fresh=True,
      output_dir=output_dir,
      num_train_steps=steps,
    )
    check_default(output_dir, outcome, steps, is_first)
    assert "Returns the [MASK] of the array." in outcome[1]
  results = scripts.results(output_dir)
  assert results["data"]["num_documents"] > 1500
  assert results["eval"]["masked_lm_baseline_accuracy"] > 0.03
  assert pathlib.Path(results["artifacts"]["fill_mask_saved_model"]).exists()
  # AutoGraph leaves a file for every function that it looks through.
  assert not list(temporary.glob("__autograph*"))


def test_without_tensorflow_text_nothing_is_exported(monkeypatch, caplog):
  name = "keras_bert_impl.runs.pretraining.exports"
  monkeypatch.setitem(sys.modules, name, None)
  assert pretraining_run._import_exports("No SavedModels") is None
  assert "No SavedModels" in caplog.text
  assert "install tensorflow-text and run the same command" in caplog.text
