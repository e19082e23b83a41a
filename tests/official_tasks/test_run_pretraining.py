"""run_pretraining.py end to end, its resume and its refusals."""

import json
import pathlib
import signal
import time

import numpy as np
import pytest

from keras_bert_impl.checkpoints.formats import tf_format
from keras_bert_impl.metrics import intervals
from keras_bert_impl.tokenizers.formats import vocabularies as vocabulary
from tests.official_tasks import scripts
from tests.tokenizers import vocabularies


@pytest.fixture(scope="module")
def data(tmp_path_factory):
  """Folder with vocab.txt, bert_config.json and records."""
  folder = tmp_path_factory.mktemp("data")
  scripts.write_model_files(folder)
  scripts.write_records(folder)
  return folder


def flags(data, output_dir, **overrides):
  values = {
    "input_file": data / f"records-dynamic-{scripts.LENGTH}",
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
def uninterrupted(data, tmp_path_factory):
  """A finished run with evaluation and exports."""
  output_dir = tmp_path_factory.mktemp("runs") / "uninterrupted"
  status, out, err = scripts.run(
    "run_pretraining",
    **flags(data, output_dir, do_eval=True, do_export=True),
    example_text="the [MASK] sees a tree .",
  )
  assert status == 0, err
  return output_dir, out


def test_a_run_leaves_everything_it_names(uninterrupted):
  output_dir, out = uninterrupted
  results = scripts.results(output_dir)
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
  assert "the [MASK] sees a tree ." in out
  png = (output_dir / "curves.png").read_bytes()
  assert png.startswith(b"\x89PNG") and len(png) > 10_000
  page = scripts.report(output_dir)
  assert "the [MASK] sees a tree ." in page
  number = min(4096, results["data"]["num_records"])
  measured = f"<td>rows measured</td><td>{number:,}</td>"
  assert measured in page and "Tokens of a row" in page
  accuracy, number = (
    results["eval"][f"masked_lm_{what}"] for what in ("accuracy", "number")
  )
  low, high, _ = intervals.wilson(accuracy * number, number)
  assert f"{low:.4f} to {high:.4f}" in page


def test_checkpoints_are_rotated_and_in_the_originals_names(uninterrupted):
  output_dir, _ = uninterrupted
  state = final_state(output_dir)
  assert state["global_step"] == 12
  kernel = "bert/encoder/layer_0/attention/self/query/kernel"
  assert {kernel, f"{kernel}/adam_m", f"{kernel}/adam_v"} <= state.keys()
  kept = sorted(p.name for p in output_dir.glob("model.ckpt-*.index"))
  assert kept == [f"model.ckpt-{s}.index" for s in (12, 4, 8)]


def test_a_second_run_says_that_it_is_done(data, uninterrupted):
  output_dir, _ = uninterrupted
  before, page = final_state(output_dir), scripts.report(output_dir)
  status, out, err = scripts.run(
    "run_pretraining",
    **flags(data, output_dir, do_eval=True, do_export=True),
    example_text="the [MASK] sees a tree .",
  )
  assert status == 0, err
  assert "already has all 12 steps" in out
  # From the exported model, which this process did not make.
  assert "the [MASK] sees a tree .\n    " in out
  assert_equal_bitwise(final_state(output_dir), before)
  assert scripts.report(output_dir) == page
  exports = (output_dir / "saved_model" / "encoder").iterdir()
  assert [path.name for path in exports if path.is_dir()] == ["1"]


def wait_for_step(output_dir, step, process):
  """Waits until the log of a running process has reached a step."""
  log = output_dir / "train_log.jsonl"
  while process.poll() is None:
    lines = log.read_text().splitlines() if log.exists() else []
    if lines and json.loads(lines[-1] or "{}").get("step", 0) >= step:
      return
    time.sleep(0.02)
  pytest.fail(f"ended before step {step}: {process.communicate()[1]}")


def test_a_killed_run_ends_with_the_same_bits(data, uninterrupted, tmp_path):
  output_dir = tmp_path / "killed"
  for step in (1, 5):
    process = scripts.start(
      "run_pretraining", **flags(data, output_dir, iterations_per_loop=1)
    )
    wait_for_step(output_dir, step, process)
    process.kill()
    process.communicate()
  status, _, err = scripts.run("run_pretraining", **flags(data, output_dir))
  assert status == 0, err
  assert_equal_bitwise(final_state(output_dir), final_state(uninterrupted[0]))
  steps = [
    json.loads(line)["step"]
    for line in (output_dir / "train_log.jsonl").read_text().splitlines()
  ]
  assert steps == sorted(set(steps))


def test_ctrl_c_saves_and_the_same_command_continues(
  data, uninterrupted, tmp_path
):
  output_dir = tmp_path / "stopped"
  command = flags(
    data, output_dir, iterations_per_loop=1, save_checkpoints_steps=1000
  )
  process = scripts.start("run_pretraining", **command)
  wait_for_step(output_dir, 2, process)
  process.send_signal(signal.SIGINT)
  _, err = process.communicate(timeout=60)
  assert process.returncode == 75
  assert "Stopped: SIGINT: saved" in err
  assert "Traceback" not in err
  assert list(output_dir.glob("model.ckpt-*.index"))
  status, _, err = scripts.run("run_pretraining", **command)
  assert status == 0, err
  assert_equal_bitwise(final_state(output_dir), final_state(uninterrupted[0]))


def test_two_phases_carry_weights_and_positions_over(
  data, uninterrupted, tmp_path
):
  longer = 2 * scripts.LENGTH
  scripts.write_records(data, length=longer)
  status, _, err = scripts.run(
    "run_pretraining",
    **flags(
      data,
      tmp_path / "long",
      input_file=data / f"records-dynamic-{longer}",
      max_seq_length=longer,
      init_checkpoint=uninterrupted[0],
      num_train_steps=1,
      num_warmup_steps=1,  # the rate of the first step is zero
    ),
  )
  assert status == 0, err
  first, second = (
    final_state(uninterrupted[0]),
    final_state(tmp_path / "long", step=1),
  )
  name = "bert/embeddings/position_embeddings"
  np.testing.assert_array_equal(first[name], second[name])
  assert first[name].shape == (longer, 16)


def test_a_table_may_have_rows_to_spare(data, tmp_path):
  config = json.loads((data / "bert_config.json").read_text())
  config["vocab_size"] += 3
  (tmp_path / "bert_config.json").write_text(json.dumps(config))
  status, _, err = scripts.run(
    "run_pretraining",
    **flags(
      data,
      tmp_path / "out",
      bert_config_file=tmp_path / "bert_config.json",
      vocab_file=data / "vocab.txt",
      do_eval=True,
      num_train_steps=2,
    ),
  )
  assert status == 0, err
  assert f"fewer than the vocab_size ({config['vocab_size']})" in err


def test_records_masked_at_write_time_train_without_a_vocabulary(
  data, tmp_path
):
  records = scripts.write_records(data, masking="static")
  config = tmp_path / "bert_config.json"
  config.write_text((data / "bert_config.json").read_text())
  status, out, err = scripts.run(
    "run_pretraining",
    **flags(
      data,
      tmp_path / "out",
      input_file=records,
      bert_config_file=config,
      do_eval=True,
      num_train_steps=2,
    ),
  )
  assert status == 0, err
  assert "training-data MLM accuracy" in out


def test_words_start_from_vectors(data, tmp_path):
  tokens = (data / "vocab.txt").read_text().split()
  size = json.loads((data / "bert_config.json").read_text())["hidden_size"]
  vectors = tmp_path / "vectors.txt"
  vectors.write_text("the" + " 3 -3" * (size // 2) + "\n")
  values = flags(
    data,
    tmp_path / "out",
    word_vectors=vectors,
    learning_rate=0,
    num_train_steps=2,
  )
  [(refused, err), (status, log)] = scripts.run_each(
    "run_pretraining", [values | {"init_checkpoint": tmp_path}, values]
  )
  assert refused == 1
  assert "must be left out with init_checkpoint" in scripts.error_line(err)
  assert status == 0, log
  table = tf_format.read(str(tmp_path / "out" / "model.ckpt-2"))[
    "bert/embeddings/word_embeddings"
  ]
  row = table[tokens.index("the")]
  np.testing.assert_allclose(row, [0.02, -0.02] * (size // 2), rtol=1e-6)


def test_records_to_evaluate_on_may_be_masked_when_they_are_read(
  data, tmp_path
):
  status, out, err = scripts.run(
    "run_pretraining",
    **flags(
      data,
      tmp_path / "out",
      input_file=scripts.write_records(data, masking="static"),
      eval_input_file=data / f"records-dynamic-{scripts.LENGTH}",
      do_eval=True,
      num_train_steps=2,
    ),
  )
  assert status == 0, err
  assert "held-out MLM accuracy" in out


def test_replicas_accumulation_and_bfloat16_run(data, tmp_path):
  status, _, err = scripts.run(
    "run_pretraining",
    **flags(
      data,
      tmp_path / "out",
      distribution_strategy="mirrored",
      num_logical_cpus=2,
      gradient_accumulation_steps=2,
      dtype="bfloat16",
      do_eval=True,
      num_train_steps=3,
    ),
  )
  assert status == 0, err
  assert scripts.results(tmp_path / "out")["train"]["steps"] == 3


def test_the_default_runs_from_nothing_again_and_on(tmp_path, monkeypatch):
  temporary = tmp_path / "temporary"
  temporary.mkdir()
  monkeypatch.setenv("TMPDIR", str(temporary))
  for steps, is_first in ((3, True), (3, False), (5, False)):
    status, out, err = scripts.run(
      "run_pretraining",
      is_fresh=True,
      output_dir=tmp_path / "out",
      num_train_steps=steps,
    )
    assert status == 0, err
    assert scripts.results(tmp_path / "out")["train"]["steps"] == steps
    assert "held-out MLM accuracy" in out
    assert "Returns the [MASK] of the array." in out
    assert ("Writing TFRecords" in err) == is_first
    assert ("Documentation: " in err) == is_first
  results = scripts.results(tmp_path / "out")
  assert results["data"]["num_documents"] > 1500
  assert results["eval"]["masked_lm_baseline_accuracy"] > 0.03
  assert pathlib.Path(results["artifacts"]["fill_mask_saved_model"]).exists()
  # AutoGraph leaves a file for every function that it looks through.
  assert not list(temporary.glob("__autograph*"))


def test_training_needs_no_tensorflow_text(data, tmp_path, monkeypatch):
  missing = tmp_path / "site" / "tensorflow_text.py"
  missing.parent.mkdir()
  missing.write_text("raise ImportError('no tensorflow_text here')")
  monkeypatch.setenv("PYTHONPATH", str(missing.parent))
  status, out, err = scripts.run(
    "run_pretraining",
    is_fresh=True,
    **flags(
      data, tmp_path / "out", do_eval=True, do_export=True, num_train_steps=2
    ),
  )
  assert status == 0, err
  assert "install tensorflow-text" in err
  assert "MLM accuracy" in out


@pytest.mark.slow
def test_parts_of_characters_can_be_shown_as_fillings(tmp_path):
  scripts.write_text(tmp_path / "text.txt")
  path = vocabularies.write_byte_bpe(tmp_path)
  size = vocabulary.Vocabulary.load(path).size
  scripts.write_model_files(tmp_path / "config", vocab_size=size)
  status, err = scripts.run_each(
    "create_pretraining_data",
    [
      {
        "objective": "roberta",
        "input_file": tmp_path / "text.txt",
        "output_file": tmp_path / f"records-dynamic-{scripts.LENGTH}",
        "vocab_file": path,
        "max_seq_length": scripts.LENGTH,
        "max_predictions_per_seq": 5,
        "num_workers": 1,
      }
    ],
  )[0]
  assert status == 0, err
  # Half of the tokens are no UTF-8, and 30 fillings are shown.
  status, out, err = scripts.run(
    "run_pretraining",
    **flags(
      tmp_path,
      tmp_path / "out",
      objective="roberta",
      bert_config_file=tmp_path / "config/bert_config.json",
      vocab_file=path,
      num_train_steps=1,
      num_warmup_steps=0,
      do_export=True,
    ),
    example_text="the <mask>" * 6,
  )
  assert status == 0, err
  assert "\ufffd" in out
