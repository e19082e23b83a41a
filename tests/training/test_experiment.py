"""A run in its folder: what a later run is told, what it keeps, its speed."""

import shutil

import pytest

from keras_bert_impl.training import experiment, runner, training_config
from tests.training import tiny

FIELDS = tiny.FIELDS | {"num_train_steps": 2, "num_warmup_steps": 1}


def prepare(folder, fixed=None, **changes):
  """Returns an `Experiment` with a tiny model in a folder, not started."""
  config = training_config.TrainingConfig(
    output_dir=str(folder), **FIELDS | changes
  )
  return experiment.Experiment(tiny.TinyTask(), config, fixed)


def make(folder, fixed=None, **changes):
  """Returns an `Experiment` that was started."""
  return prepare(folder, fixed, **changes).start()


@pytest.fixture(name="finished", scope="module")
def fixture_finished(tmp_path_factory):
  folder = tmp_path_factory.mktemp("run") / "finished"
  make(folder).train(tiny.dataset(2).skip)
  return folder


@pytest.fixture(name="run")
def fixture_run(finished, tmp_path):
  """Folder of a run of two steps."""
  return shutil.copytree(finished, tmp_path / "run")


@pytest.fixture(name="trained")
def fixture_trained(monkeypatch, caplog):
  """Begins a training that makes no step; returns what it says of schedules."""
  monkeypatch.setattr(runner, "train", lambda *unused: None)

  def train(folder, **changes):
    caplog.clear()
    make(folder, **changes).train(None)
    return [line for line in caplog.messages if "schedule" in line]

  return train


def test_nothing_happens_before_it_is_started(tmp_path):
  prepared = prepare(tmp_path / "run")
  assert not (tmp_path / "run").exists()
  assert prepared.start() is prepared
  assert (tmp_path / "run/run_config.json").exists()


def test_what_follows_a_checkpoint_follows_the_one_resumed_from(run):
  judged = []
  make(run, num_train_steps=4).train(
    tiny.dataset(4).skip, after_save=lambda step: not judged.append(step)
  )
  assert judged == [2]
  assert make(run, num_train_steps=4).loop.step == 2  # True ends the training.


def test_a_prolonged_run_says_what_becomes_of_its_schedule(run, trained):
  assert trained(run, num_train_steps=4) == [
    "Another schedule from step 2 on: num_train_steps=4, num_warmup_steps=1,"
    " where it was num_train_steps=2, num_warmup_steps=1; the learning rate is"
    " 0.005 here, where it would be 0."
  ]
  assert not trained(run, num_train_steps=4)


def test_a_trapezoid_may_get_its_decay_later(run, trained):
  flat = {"learning_rate_schedule": "trapezoidal", "num_decay_steps": 0}
  (run / "run_config.json").unlink()  # As if it had been so from the start.
  assert not trained(run, **flat)
  later = flat | {"num_train_steps": 6, "num_decay_steps": 4}
  (line,) = trained(run, **later)
  assert "num_decay_steps=4, where it was" in line
  assert "the learning rate is 0.01 here, where it would be 0.01" in line


def test_a_new_run_has_no_schedule_before(tmp_path, trained):
  assert not trained(tmp_path)
  assert not trained(tmp_path, num_train_steps=9)


def test_an_evaluation_between_has_no_schedule(run, trained):
  make(run, num_train_steps=100000, num_warmup_steps=10000)
  assert not trained(run)


def test_what_was_not_recorded_is_not_compared(run):
  make(run, {"invented_later": 1})
  with pytest.raises(ValueError, match="invented_later=1, not 2"):
    make(run, {"invented_later": 2})


def test_a_run_without_its_state_file_is_still_that_run(run):
  (run / "checkpoint").unlink()
  assert make(run).loop.step == 2
  with pytest.raises(ValueError, match="learning_rate=0.01, not 0.02"):
    make(run, learning_rate=0.02)


METRICS = {"tokens_per_step": 100.0, "padding_share": 0.5}


@pytest.mark.parametrize(
  ("reports", "examples", "tokens"),
  [
    # The first one compiles, and counts only if it is the only one.
    ([(1, 60.0), (10, 2.0), (10, 2.0)], 40.0, 500.0),
    ([(1, 4.0)], 2.0, 25.0),
  ],
)
def test_speeds_are_those_of_steps_that_compile_nothing(
  reports, examples, tokens
):
  meter = runner._Meter(max_steps=1000, batch_size=8)
  for steps, seconds in reports:
    meter.record(steps, seconds, METRICS)
  assert meter.totals() == {
    "padding_share": 0.5,
    "examples_per_second": examples,
    "tokens_per_second": tokens,
  }
