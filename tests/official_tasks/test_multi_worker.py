"""run_pretraining.py as two workers on this machine, killed and restarted."""

import json
import shutil
import signal
import socket
import time

import numpy as np
import pytest

from keras_bert_impl import locks
from keras_bert_impl.training import distribution
from tests.official_tasks import scripts, test_run_pretraining

pytestmark = pytest.mark.integration

NUM_STEPS = 60


@pytest.fixture(scope="module")
def data(tmp_path_factory):
  """Folder with vocab.txt, bert_config.json (with dropout) and records."""
  folder = tmp_path_factory.mktemp("data")
  scripts.write_model_files(folder)
  scripts.write_records(folder, num_shards=4)
  return folder


def flags(data, output_dir, **overrides):
  values = {
    "input_file": data / f"records-dynamic-{scripts.LENGTH}*",
    # Two lanes: each worker reads two of the four files.
    "train_batch_size": 128,
    "num_train_steps": NUM_STEPS,
    "save_checkpoints_steps": 10,
  }
  return test_run_pretraining.flags(data, output_dir, **values | overrides)


def start_two(data, output_dirs, others=None, **overrides):
  """Starts two workers on free ports; returns their processes.

  `others` are flags that the second worker gets instead.
  """
  listeners = [socket.create_server(("127.0.0.1", 0)) for _ in output_dirs]
  addresses = [f"127.0.0.1:{s.getsockname()[1]}" for s in listeners]
  for listener in listeners:
    listener.close()
  return [
    scripts.start(
      "run_pretraining",
      json.dumps(
        {
          "cluster": {"worker": addresses},
          "task": {"type": "worker", "index": index},
        }
      ),
      **flags(
        data, output_dir, **overrides, **((others or {}) if index else {})
      ),
      distribution_strategy="multi_worker_mirrored",
    )
    for index, output_dir in enumerate(output_dirs)
  ]


def finish(processes, timeout=240):
  """Returns [(exit status, stdout, stderr)]."""
  outcomes = []
  for process in processes:
    out, err = process.communicate(timeout=timeout)
    outcomes.append((process.returncode, out, err))
  return outcomes


def run_two(data, output_dir, **overrides):
  outcomes = finish(start_two(data, [output_dir] * 2, **overrides))
  for status, _, err in outcomes:
    assert status == 0, err
  return outcomes


def final_state(output_dir):
  return test_run_pretraining.final_state(output_dir, NUM_STEPS)


def check_same(ours, theirs, tolerance):
  assert ours.keys() == theirs.keys()
  for name, array in ours.items():
    np.testing.assert_allclose(
      array, theirs[name], rtol=0, atol=tolerance, err_msg=name
    )


@pytest.fixture(scope="module")
def undisturbed(data, tmp_path_factory):
  """The folder of two workers, and their outcomes."""
  output_dir = tmp_path_factory.mktemp("runs") / "two"
  outcomes = run_two(data, output_dir, do_eval=True)
  return output_dir, outcomes


def test_two_workers_train_as_one_device(data, undisturbed, tmp_path):
  status, _, err = scripts.run(
    "run_pretraining", **flags(data, tmp_path / "one", do_eval=True)
  )
  assert status == 0, err
  output_dir, _ = undisturbed
  check_same(final_state(output_dir), final_state(tmp_path / "one"), 1e-5)
  ours, theirs = (
    scripts.results(folder)["eval"] for folder in (output_dir, tmp_path / "one")
  )
  assert ours == pytest.approx(theirs, abs=1e-5)


def test_the_chief_alone_writes_and_reports(undisturbed):
  output_dir, [(_, chiefs, _), (_, others, _)] = undisturbed
  assert "training-data MLM accuracy" in chiefs
  assert others == ""
  names = {path.name for path in output_dir.iterdir()}
  assert {"results.json", "report.html", "vocab.txt"} <= names
  events = list((output_dir / "tensorboard").iterdir())
  assert len(events) == 1
  lines = (output_dir / "train_log.jsonl").read_text().splitlines()
  steps = [json.loads(line)["step"] for line in lines]
  assert steps == sorted(set(steps))


def stop_two(data, output_dir, victim, kind):
  """Sends a signal to one of two workers; returns the step of what is left."""
  processes = start_two(data, [output_dir] * 2, iterations_per_loop=1)
  test_run_pretraining.wait_for_step(output_dir, 15, processes[0])
  processes[victim].send_signal(kind)
  started = time.monotonic()
  outcomes = finish(processes)
  assert time.monotonic() - started < 30
  for index, (status, _, err) in enumerate(outcomes):
    if kind == signal.SIGTERM:
      assert status == 75
      cause = "SIGTERM" if index == victim else "another worker got a signal"
      assert f"Stopped: {cause}: saved" in err
    elif index != victim:
      assert status == 75
      assert "Stopped: another worker has stopped" in err
  state = (output_dir / "checkpoint").read_text().splitlines()[0]
  return int(state.rpartition("-")[2].strip('"'))


@pytest.mark.slow
@pytest.mark.parametrize("victim", [0, 1])
def test_all_stop_when_one_is_killed_and_go_on_exactly(
  data, undisturbed, tmp_path, victim
):
  step = stop_two(data, tmp_path / "killed", victim, signal.SIGKILL)
  assert step % 10 == 0 and 10 <= step < NUM_STEPS
  run_two(data, tmp_path / "killed")
  ours, theirs = tmp_path / "killed", undisturbed[0]
  check_same(final_state(ours), final_state(theirs), 0)


@pytest.mark.slow
def test_all_save_when_one_is_asked_to_stop(data, undisturbed, tmp_path):
  output_dir = tmp_path / "stopped"
  step = stop_two(data, output_dir, 1, signal.SIGTERM)
  assert 15 <= step < NUM_STEPS
  shutil.copytree(output_dir, tmp_path / "fewer")
  run_two(data, output_dir, do_export=True)
  check_same(final_state(output_dir), final_state(undisturbed[0]), 0)
  assert (output_dir / "saved_model/encoder/1").exists()
  # And one device goes on where two workers stopped.
  output_dir = tmp_path / "fewer"
  status, _, err = scripts.run("run_pretraining", **flags(data, output_dir))
  assert status == 0, err
  assert "1 replicas go on where 2 stopped" in err
  check_same(final_state(output_dir), final_state(undisturbed[0]), 1e-5)


@pytest.mark.slow
def test_folders_that_are_not_one_are_refused(data, undisturbed, tmp_path):
  output_dir = tmp_path / "first"
  run_two(data, output_dir, num_train_steps=4)
  outcomes = finish(start_two(data, [output_dir, tmp_path / "second"]))
  for (status, _, err), step in zip(outcomes, (4, 0)):
    assert status == 1
    line = scripts.error_line(err)
    assert "must be one folder that all workers see" in line
    assert f"this one finds step {step} in it" in line
  # Nor are two that hold nothing yet.
  outcomes = finish(start_two(data, [tmp_path / "third", tmp_path / "fourth"]))
  for (status, _, err), who in zip(outcomes, ("another", "this")):
    assert status == 1
    assert f"is not there for {who} one" in scripts.error_line(err)


def test_workers_with_other_flags_are_refused(data, tmp_path):
  outcomes = finish(
    start_two(data, [tmp_path] * 2, others={"learning_rate": 1e-4})
  )
  for status, _, err in outcomes:
    assert status == 1
    assert "give all of them the same command" in scripts.error_line(err)
  assert not (tmp_path / "run_config.json").exists()


def test_what_several_workers_cannot_do_is_said():
  cluster = {"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker"}}
  outcomes = scripts.run_each(
    "run_pretraining",
    [{"distribution_strategy": "multi_worker_mirrored", "output_dir": "/tmp"}],
  )
  [(status, err)] = outcomes
  assert status == 1
  assert "TF_CONFIG" in err and "it is None" in err
  wrong_clusters = (
    {"worker": ["a", "b"]},
    {"worker": "a:1"},
    {"worker": ["a:1", "a:1"]},
    {"worker": ["a:1"], "chief": ["b:1", "c:1"]},
    {"worker": ["a:1"], "ps": ["b:1"]},
    ["a:1"],
  )
  task = {"type": "worker", "index": 0}
  for wrong in (
    *(None, "", "{", "[]", json.dumps(cluster)),
    *(json.dumps({"cluster": c, "task": task}) for c in wrong_clusters),
  ):
    with pytest.raises(ValueError, match="needs the environment variable"):
      distribution.check_cluster(wrong)
  for index in (2, -1):
    cluster["task"]["index"] = index
    with pytest.raises(ValueError, match="TF_CONFIG"):
      distribution.check_cluster(json.dumps(cluster))
  cluster["task"]["index"] = 1
  distribution.check_cluster(json.dumps(cluster))


@pytest.mark.slow
def test_all_workers_are_told_of_a_folder_in_use(data, tmp_path):
  """Adds the chief's refusal, which the others hear of, to that of a lock."""
  with locks.of_folder(tmp_path / "out"):
    outcomes = finish(start_two(data, [tmp_path / "out"] * 2))
    for status, _, err in outcomes:
      assert status == 1
      assert "is in use by" in scripts.error_line(err)
  assert not (tmp_path / "out").exists()
