"""A fine-tuning from Python, without flags."""

import os
import shutil

import pytest

from keras_bert_impl.checkpoints import reading
from keras_bert_impl.runs.fine_tuning import fine_tuning_config, job
from tests.official_tasks import scripts
from tests.runs.fine_tuning import toy


def make_job(folder, training=(), **settings):
  settings = {"do_train": True, "do_eval": True, **settings}
  return job.Job(
    fine_tuning_config.FineTuningConfig(
      max_seq_length=16,
      num_train_epochs=1.0,
      bert_config_file=str(folder / "model/bert_config.json"),
      **settings,
    ),
    output_dir=str(folder / "run"),
    learning_rate=3e-3,
    train_batch_size=8,
    **dict(training),
  )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
  folder = tmp_path_factory.mktemp("job")
  toy.write_model(folder / "model")
  return folder


@pytest.mark.integration
def test_python_needs_no_flags(folder):
  this = make_job(folder)
  fine_tuning = toy.make_parts(this.encoder_config)
  splits = {"train": toy.make_examples(16, 1), "dev": toy.make_examples(40, 2)}
  results = this.run(fine_tuning, splits)
  assert results == scripts.results(folder / "run")
  assert os.path.exists(results["artifacts"]["dev predictions"])
  described = reading.open_checkpoint(str(folder / "run")).described()
  assert described.labels == toy.LABELS

  # A later job in the folder knows the trained model.
  later = make_job(folder, do_train=False)
  assert later.described_task()["labels"] == list(toy.LABELS)
  again = later.run(fine_tuning, {"dev": splits["dev"]})
  assert again["eval"]["dev"]["scores"] == results["eval"]["dev"]["scores"]


def settings_of(folder, name="use_bias_correction"):
  return scripts.results(folder / "run", "run_config.json")[name]


@pytest.mark.integration
def test_a_run_keeps_the_defaults_that_it_was_begun_with(folder, tmp_path):
  shutil.copytree(folder / "model", tmp_path / "model")
  splits = {"train": toy.make_examples(16, 1), "dev": toy.make_examples(8, 2)}

  def run(training=(), **settings):
    this = make_job(tmp_path, training, **settings)
    this.run(toy.make_parts(this.encoder_config), splits)

  run(recipe="paper")
  assert not settings_of(tmp_path)
  run()  # As a newer version, whose default is another one.
  assert not settings_of(tmp_path)
  with pytest.raises(ValueError, match="use_bias_correction=False, not True"):
    run({"use_bias_correction": True})
  shutil.rmtree(tmp_path / "run")
  run()
  assert settings_of(tmp_path)
  with pytest.raises(ValueError, match="use_bias_correction=True, not False"):
    run(recipe="paper")


def test_a_recipe_sets_what_is_not_given():
  ours = fine_tuning_config.training_values()
  of_paper = fine_tuning_config.training_values("paper")
  names = {"use_bias_correction": False, "train_batch_size": 32}
  assert {k: v for k, v in of_paper.items() if ours[k] != v} == names
  given = {name: ours[name] for name in names}
  assert fine_tuning_config.training_values("paper", **given) == ours
  with pytest.raises(ValueError, match=r"recipe \('fast'\) must be one of pap"):
    fine_tuning_config.FineTuningConfig(do_eval=True, recipe="fast")


def test_what_was_given_to_a_run_is_no_default_of_its_next():
  begun = {"use_bias_correction": False, "train_batch_size": 16}
  values = fine_tuning_config.training_values(begun=begun)
  assert values["use_bias_correction"] is False
  assert values["train_batch_size"] == 8  # Refused as another configuration.


def test_lengths_of_rows_and_settings_are_the_same(folder):
  this = make_job(folder)
  with pytest.raises(ValueError, match=r"processor \(8\) must equal that of"):
    this.run(toy.make_parts(this.encoder_config, 8), {})


@pytest.mark.parametrize("value", ["last_0", "last_99", "foo"])
def test_layers_that_are_not_there_are_refused_at_once(folder, value):
  with pytest.raises(ValueError, match=rf"train_layers \('{value}'\) must be"):
    make_job(folder, {"train_layers": value})


def test_an_option_of_pre_training_is_refused():
  with pytest.raises(ValueError, match="'num_train_steps' is not an option of"):
    fine_tuning_config.training_values(num_train_steps=3)
