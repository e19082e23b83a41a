"""Which checkpoint a path means, and paths that mean none."""

import dataclasses
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import zipfile

import keras
import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy

from keras_bert_impl import heads, models
from keras_bert_impl.checkpoints import reading
from keras_bert_impl.checkpoints.descriptions import config_json, description
from keras_bert_impl.checkpoints.formats import tf_format
from tests import architectures

PARITY = pathlib.Path(__file__).parents[1] / "data/parity"
TINY = architectures.tiny()


@pytest.fixture(name="folder")
def fixture_folder(tmp_path):
  """A copy of a checkpoint in safetensors that a test may damage."""
  return shutil.copytree(PARITY / "bert_classifier", tmp_path / "model")


def save_tensorflow(prefix, config=TINY):
  model = models.TransformerEncoder(config)
  tf_format.write(prefix, {w.path: w for w in model.weights})
  return model


def test_a_folder_or_a_file_of_safetensors(folder):
  for path in (folder, folder / "model.safetensors"):
    checkpoint = reading.open_checkpoint(path)
    assert checkpoint.format == "safetensors"
    assert checkpoint.described().head == heads.CLASSIFICATION
  (folder / "model.safetensors").rename(folder / "other.safetensors")
  assert reading.open_checkpoint(folder).path.endswith("other.safetensors")


def test_a_prefix_an_index_or_a_folder_of_tensorflow(tmp_path):
  save_tensorflow(tmp_path / "bert_model.ckpt")
  TINY.to_json_file(tmp_path / "bert_config.json")
  for path in ("bert_model.ckpt", "bert_model.ckpt.index", ""):
    checkpoint = reading.open_checkpoint(tmp_path / path)
    assert checkpoint.path == str(tmp_path / "bert_model.ckpt")
    assert checkpoint.described().config == TINY


def test_the_newest_checkpoint_of_a_run(tmp_path):
  for step in (1, 2, 3):
    save_tensorflow(tmp_path / f"model.ckpt-{step}")
  (tmp_path / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-2"')
  assert reading.open_checkpoint(tmp_path).path.endswith("model.ckpt-2")


def test_a_keras_file_of_a_compiled_model(tmp_path):
  model = models.TransformerEncoder(TINY)
  model.compile("adam", "mse")
  model.optimizer.build(model.trainable_variables)
  model.save(tmp_path / "model.keras")
  tensors = reading.open_checkpoint(tmp_path).tensors
  assert set(tensors) == {w.path for w in model.weights}


def test_a_state_file_from_another_machine_does_not_count(tmp_path):
  save_tensorflow(tmp_path / "electra_small")
  (tmp_path / "checkpoint").write_text('model_checkpoint_path: "/elsewhere/e"')
  assert reading.open_checkpoint(tmp_path).path.endswith("electra_small")


def test_a_keras_file_or_its_folder(tmp_path):
  model = models.MultipleChoice(TINY)
  model.save(tmp_path / "model.keras")
  for path in (tmp_path, tmp_path / "model.keras"):
    checkpoint = reading.open_checkpoint(path)
    assert checkpoint.described().config == TINY
    assert checkpoint.described().head == heads.MULTIPLE_CHOICE
    assert set(checkpoint.tensors) == {w.path for w in model.weights}
    for weight in model.weights:
      np.testing.assert_array_equal(checkpoint.tensors[weight.path], weight)


def test_weights_without_a_configuration_are_only_weights(tmp_path):
  save_tensorflow(tmp_path / "bert_model.ckpt")
  checkpoint = reading.open_checkpoint(tmp_path)
  assert checkpoint.description is None
  with pytest.raises(FileNotFoundError, match="There is no bert_config.json"):
    checkpoint.described()


@pytest.mark.integration
def test_safetensors_and_torch_need_no_tensorflow_on_another_backend(tmp_path):
  path = tmp_path / "bfloat16.safetensors"
  values = {"a": np.array([1.5], ml_dtypes.bfloat16)}
  safetensors.numpy.save_file(values, path)
  program = (
    "import pickle, sys\n"
    "from keras_bert_impl.checkpoints import reading\n"
    "from keras_bert_impl.checkpoints.formats import safetensors_format\n"
    "from keras_bert_impl.checkpoints.formats import torch_format\n"
    "tensors = reading.open_checkpoint(sys.argv[1]).tensors\n"
    "assert tensors['bert/pooler/dense/kernel'].shape == (32, 32)\n"
    "assert safetensors_format.read(sys.argv[2])['a'] == [1.5]\n"
    # Files of torch go through no unpickler that calls what they name.
    "pickle.Unpickler = pickle.load = pickle.loads = None\n"
    "assert torch_format.read(sys.argv[3])['scalar'] == 3\n"
    "assert not {'tensorflow', 'torch', 'transformers'} & set(sys.modules)\n"
  )
  folder, torch = PARITY / "bert_pretraining", PARITY.parent / "torch/zip.bin"
  subprocess.run(
    [sys.executable, "-c", program, folder, path, torch],
    check=True,
    env=os.environ | {"KERAS_BACKEND": "jax"},
  )


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt"])
def test_a_pickle_is_never_run_but_the_remedy_named(name, tmp_path):
  # Were it run, there would be a file more.
  payload = b"cos\nsystem\n(S'touch %s'\ntR." % bytes(tmp_path / "executed")
  (tmp_path / name).write_bytes(payload)
  for path in (tmp_path, tmp_path / name):
    with pytest.raises(ValueError, match="names 'os.system'.*torch.save"):
      reading.open_checkpoint(path)
  assert not (tmp_path / "executed").exists()


def save_other_model(path):
  inputs = keras.Input((2,))
  keras.Model(inputs, keras.layers.Dense(2)(inputs)).save(path)


@pytest.mark.parametrize(
  ("name", "write", "message"),
  [
    (
      "checkpoint",
      lambda path: path.write_bytes(b"\xff\xfe no text"),
      "/checkpoint is damaged .*: name one",
    ),
    (
      "notes.txt",
      lambda path: path.write_text("text"),
      "notes.txt is not a checkpoint of a",
    ),
    (
      "model.keras",
      lambda path: path.write_bytes(b"no zip file"),
      "model.keras is damaged",
    ),
    ("model.keras", save_other_model, "no model of this library"),
  ],
)
def test_a_file_that_is_no_checkpoint_is_refused(
  name, write, message, tmp_path
):
  write(tmp_path / name)
  path = tmp_path / name if name == "notes.txt" else tmp_path
  with pytest.raises(ValueError, match=message):
    reading.open_checkpoint(path)


@pytest.mark.parametrize(
  ("damage", "kind", "message"),
  [
    (lambda f: shutil.rmtree(f), FileNotFoundError, "There is no checkpoint"),
    (
      lambda f: (f / "config.json").unlink(),
      FileNotFoundError,
      "There is no config.json beside",
    ),
    (
      lambda f: (f / "model.safetensors").unlink(),
      FileNotFoundError,
      "holds no checkpoint",
    ),
    (
      lambda f: (f / "config.json").write_text("{"),
      ValueError,
      "config.json is not JSON",
    ),
    (
      lambda f: (f / "config.json").write_text("[]"),
      ValueError,
      "config.json must be an object",
    ),
    (
      lambda f: (f / "model.safetensors").rename(f / "model.ckpt"),
      FileNotFoundError,
      "holds no checkpoint",
    ),
  ],
)
def test_what_is_missing_or_damaged_is_named(damage, kind, message, folder):
  damage(folder)
  with pytest.raises(kind, match=message) as error:
    reading.open_checkpoint(folder)
  assert str(folder) in str(error.value)


def test_fewer_layers_than_the_configuration_says_are_refused(tmp_path):
  save_tensorflow(tmp_path / "bert_model.ckpt")
  deeper = dataclasses.replace(TINY, num_hidden_layers=7)
  deeper.to_json_file(tmp_path / "bert_config.json")
  checkpoint = reading.open_checkpoint(tmp_path)
  with pytest.raises(ValueError, match=r"layer_6 is missing .* 7 layers"):
    checkpoint.described()
  assert checkpoint.described(allow_partial=True).config == deeper


def test_a_keras_file_with_a_layer_of_torch_is_refused(tmp_path):
  path = tmp_path / "model.keras"
  save_other_model(path)
  with zipfile.ZipFile(path) as file:
    entries = {name: file.read(name) for name in file.namelist()}
  config = json.loads(entries["config.json"])
  layer = config["config"]["layers"][1]
  layer |= {"class_name": "TorchModuleWrapper", "registered_name": None}
  layer["config"] = {"name": "wrapped", "module": "no module"}
  entries["config.json"] = json.dumps(config)
  with zipfile.ZipFile(path, "w") as file:
    for name, content in entries.items():
      file.writestr(name, content)
  with pytest.raises(ValueError, match="model.keras is damaged, or not a"):
    reading.open_checkpoint(path)


def test_several_checkpoints_without_a_state_file_must_be_named(tmp_path):
  for name in ("a.ckpt", "b.ckpt"):
    save_tensorflow(tmp_path / name)
  with pytest.raises(ValueError, match="several checkpoints .a.ckpt.index, b"):
    reading.open_checkpoint(tmp_path)


def test_a_keras_file_whose_entries_are_elsewhere_is_refused(tmp_path):
  path = tmp_path / "model.keras"
  with zipfile.ZipFile(path, "w") as file:
    file.writestr("config.json", "{}")
  content = bytearray(path.read_bytes())
  # In the directory, byte 42 of an entry tells where its content begins.
  place = content.index(b"PK\1\2") + 42
  content[place : place + 4] = struct.pack("<I", len(content) - 3)
  path.write_bytes(content)
  with pytest.raises(ValueError, match="model.keras is damaged.* file header"):
    reading.open_checkpoint(path)


def test_the_folder_of_a_search_is_told_from_its_runs(tmp_path):
  results = {"best": {"name": "learning_rate=3e-05", "folder": "/gone"}}
  (tmp_path / "results.json").write_text(json.dumps(results))
  best = f"give its best run, {tmp_path}/runs/learning_rate=3e-05."
  with pytest.raises(FileNotFoundError, match=best):
    reading.open_checkpoint(str(tmp_path))
  (tmp_path / "results.json").write_text(json.dumps({"best": None}))
  with pytest.raises(FileNotFoundError, match="holds no checkpoint: no safe"):
    reading.open_checkpoint(str(tmp_path))


def test_googles_file_says_what_a_tensorflow_encoder_is(tmp_path):
  save_tensorflow(tmp_path / "bert_model.ckpt")
  other = dataclasses.replace(TINY, num_attention_heads=1)
  declared = description.Description(other, labels=("no", "yes"))
  values = config_json.to_dict(declared)
  (tmp_path / "config.json").write_text(json.dumps(values))
  assert reading.open_checkpoint(tmp_path).description.config == (
    config_json.from_dict(values, "").config
  )
  TINY.to_json_file(tmp_path / "bert_config.json")
  found = reading.open_checkpoint(tmp_path).description
  assert found.config == TINY
  # Keys that only config.json has are kept.
  assert found.source == values
