"""What a folder says of its run, and which runs may go on in it."""

import pytest

from keras_bert_impl.training import run_configuration, training_config

FIXED = {"encoder": {"hidden_size": 8}, "vocabulary": "abc"}


def config(folder, **changes):
  return training_config.TrainingConfig(output_dir=str(folder), **changes)


def test_a_folder_without_a_run_agrees_with_all(tmp_path):
  assert run_configuration.read_agreed(str(tmp_path)) == {}
  run_configuration.check_same(config(tmp_path), FIXED)


def test_what_may_change_is_not_compared(tmp_path):
  run_configuration.write(config(tmp_path), FIXED, num_replicas=2)
  run_configuration.write_schedule(str(tmp_path), {"num_train_steps": 5})
  agreed = run_configuration.read_agreed(str(tmp_path))
  assert agreed.keys() >= {"learning_rate", "encoder"}
  assert not agreed.keys() & {"num_replicas", "schedule", "num_train_steps"}
  longer = config(tmp_path, num_train_steps=7)
  run_configuration.check_same(longer, FIXED)
  run_configuration.write(longer, FIXED, num_replicas=1)
  content = run_configuration.read(str(tmp_path))
  assert content["schedule"] == {"num_train_steps": 5}
  assert content["num_replicas"] == 1


def test_another_run_is_refused_and_the_difference_named(tmp_path):
  run_configuration.write(config(tmp_path), FIXED, num_replicas=1)
  with pytest.raises(ValueError, match="learning_rate=5e-05, not 0.1"):
    run_configuration.check_same(config(tmp_path, learning_rate=0.1), FIXED)
  wider = FIXED | {"encoder": {"hidden_size": 16}}
  with pytest.raises(ValueError, match="encoder.hidden_size=8, not 16"):
    run_configuration.check_same(config(tmp_path), wider)


def test_a_folder_is_claimed_before_its_run(tmp_path):
  folder = str(tmp_path)
  run_configuration.claim(folder, objective="bert")
  run_configuration.claim(folder, objective="bert")
  with pytest.raises(ValueError, match="objective='bert', not 'electra'"):
    run_configuration.claim(folder, objective="electra")
  fixed = FIXED | {"objective": "bert"}
  run_configuration.check_same(config(tmp_path), fixed)
  run_configuration.write(config(tmp_path), fixed, num_replicas=1)
  content = run_configuration.read(folder)
  run_configuration.claim(folder, objective="bert")
  assert run_configuration.read(folder) == content
