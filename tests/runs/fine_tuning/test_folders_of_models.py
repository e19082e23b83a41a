"""A run writes into no folder of a model; its own folder it goes on in."""

import pathlib
import shutil

import numpy as np
import pytest

import keras_bert_impl as kb
from keras_bert_impl.checkpoints.formats import tf_format
from keras_bert_impl.runs.fine_tuning import fine_tuning_config, job
from keras_bert_impl.training import experiment, run_configuration, savers

DATA = pathlib.Path(__file__).parents[2] / "data"
HELD = r"output_dir \(.*\) holds a model, whose configuration"


def content(folder):
  return {
    path: path.is_dir() or path.read_bytes() for path in folder.rglob("*")
  }


@pytest.fixture(name="released")
def fixture_released(tmp_path):
  """Google's layout: a prefix and, in some releases, a state file."""
  folder = tmp_path / "released"
  folder.mkdir()
  for name in ("bert_config.json", "vocab.txt"):
    (folder / name).write_text("its own")
  tf_format.write(str(folder / "bert_model.ckpt"), {"x": np.zeros(2)})
  return folder


@pytest.mark.parametrize(
  "name", ["parity/bert_classifier", "sentences", "late"]
)
def test_folders_of_transformers_are_refused(tmp_path, name):
  folder = tmp_path / "model"
  shutil.copytree(DATA / name, folder)
  with pytest.raises(ValueError, match=HELD):
    experiment.check_folder(str(folder))


@pytest.mark.parametrize("has_state", [False, True])
def test_folders_of_releases_are_refused(released, has_state):
  if has_state:
    (released / "checkpoint").write_text(
      'model_checkpoint_path: "bert_model.ckpt"\n'
    )
  with pytest.raises(ValueError, match=HELD):
    experiment.check_folder(str(released))


@pytest.mark.parametrize("mark", ["1/saved_model.pb", "1/model.onnx"])
def test_versions_of_a_server_are_refused(tmp_path, mark):
  path = tmp_path / mark
  path.parent.mkdir()
  path.touch()
  with pytest.raises(ValueError, match=HELD):
    experiment.check_folder(str(path.parent))
  experiment.check_folder(str(tmp_path))


def test_the_folder_of_a_run_is_its_own(tmp_path):
  folder = str(tmp_path)
  experiment.check_folder(folder)
  (tmp_path / "vocab.txt").write_text("of the records")
  experiment.check_folder(folder)
  # One of the original, too, which is continued.
  tf_format.write(f"{folder}/{savers.BASE_NAME}-3", {"x": np.zeros(2)})
  experiment.check_folder(folder)
  (tmp_path / "model.safetensors").touch()
  run_configuration.claim(folder, objective="bert")
  experiment.check_folder(folder)


def test_a_job_and_an_encoder_leave_the_model_as_it_was(tmp_path):
  folder = tmp_path / "model"
  shutil.copytree(DATA / "sentences", folder)
  before = content(folder)
  settings = fine_tuning_config.FineTuningConfig(do_train=True)
  with pytest.raises(ValueError, match=HELD):
    job.Job(settings, output_dir=str(folder), init_checkpoint=str(folder))
  encoder = kb.SentenceEncoder.from_checkpoint(folder)
  with pytest.raises(ValueError, match=HELD):
    encoder.fit([("a", "b"), ("c", "d")], output_dir=folder)
  assert content(folder) == before


def test_adapters_need_trained_weights(tmp_path):
  settings = fine_tuning_config.FineTuningConfig(
    do_train=True,
    bert_config_file=str(DATA / "parity/bert_classifier/config.json"),
  )
  with pytest.raises(ValueError, match=r"lora_rank \(2\) needs --init_checkp"):
    job.Job(settings, output_dir=str(tmp_path / "run"), lora_rank=2)
  assert not (tmp_path / "run").exists()
