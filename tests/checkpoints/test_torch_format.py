"""Files of `torch.save`, whole and in shards."""

import json
import pathlib

import numpy as np
import pytest

from keras_bert_impl.checkpoints import reading
from keras_bert_impl.checkpoints.formats import torch_format
from tests.checkpoints import originals
from tests.checkpoints import torch_files as t

DATA = pathlib.Path(__file__).parents[1] / "data"
PARITY = DATA / "parity"
# Content of tests/data/torch; written by torch 2.13.
BASE = np.arange(24, dtype="float32")
EXPECTED = {
  "weight": BASE[:6].reshape(2, 3),
  "bias": [-1.5, 2],
  "transposed": BASE[:12].reshape(3, 4).T,
  "part": BASE[12:].reshape(3, 4)[1:, ::2],
  "tied": BASE[:6].reshape(2, 3),
  "half": [1.5, -2],
  "bfloat16": [1.5, -2],
  "double": [1.5, -2],
  "scalar": 3,
  "empty": np.zeros((0, 3)),
  "parameter": [4],
}


@pytest.mark.parametrize("form", ["zip", "legacy", "protocol_4"])
def test_what_torch_writes_is_read(form):
  tensors = torch_format.read(DATA / f"torch/{form}.bin")
  assert set(tensors) == {*EXPECTED, "position_ids"}
  for name, array in EXPECTED.items():
    assert tensors.shapes[name] == np.shape(array)
    assert tensors[name].dtype == np.float32
    np.testing.assert_array_equal(tensors[name], array)


def test_integers_are_listed_but_not_read():
  tensors = torch_format.read(DATA / "torch/zip.bin")
  assert tensors.shapes["position_ids"] == (1, 4)
  with pytest.raises(ValueError, match="position_ids in .* of type int64"):
    tensors["position_ids"]


@pytest.mark.parametrize(
  ("name", "write"),
  [
    ("bert_classifier", t.write_zip),
    ("albert_pretraining", t.write_legacy),
    ("modernbert_masked_lm", t.write_zip),
  ],
)
def test_a_model_opens_as_from_safetensors(name, write, tmp_path):
  source = PARITY / name
  originals.copy_config(source, tmp_path)
  t.write_arrays(
    tmp_path / "pytorch_model.bin", originals.stored(source), write
  )
  originals.assert_same(tmp_path, source, "torch")


def test_shards_are_read_as_one(tmp_path):
  source = PARITY / "bert_classifier"
  originals.copy_config(source, tmp_path)
  arrays = originals.stored(source)
  index = {}
  for number in range(2):
    file_name = f"pytorch_model-{number}.bin"
    part = {name: arrays[name] for name in list(arrays)[number::2]}
    t.write_arrays(tmp_path / file_name, part)
    index |= dict.fromkeys(part, file_name)
  (tmp_path / torch_format.INDEX_NAME).write_text(
    json.dumps({"weight_map": index})
  )
  originals.assert_same(tmp_path, source, "torch")


def test_safetensors_come_before_torch_and_torch_before_others(tmp_path):
  source = PARITY / "bert_classifier"
  for name in ("config.json", "model.safetensors"):
    (tmp_path / name).write_bytes((source / name).read_bytes())
  t.write_arrays(tmp_path / "pytorch_model.bin", originals.stored(source))
  (tmp_path / "training_args.bin").write_bytes(b"whatever it is")
  assert reading.open_checkpoint(tmp_path).format == "safetensors"
  (tmp_path / "model.safetensors").unlink()
  path = reading.open_checkpoint(tmp_path).path
  assert path == str(tmp_path / "pytorch_model.bin")


def test_the_one_state_dict_of_a_training_is_taken(tmp_path):
  training = {
    "epoch": t.number(3),
    "model": t.dictionary({"a": t.tensor()}),
    "optimizer": t.dictionary({"state": t.dictionary({"b": b"]"})}),
  }
  path = t.write_zip(tmp_path / "model.pt", t.dictionary(training))
  assert torch_format.read(path).shapes == {"a": (2, 3)}


def test_two_state_dicts_are_refused(tmp_path):
  part = t.dictionary({"a": t.tensor()})
  part = t.dictionary({"model": part, "average": part})
  path = t.write_zip(tmp_path / "model.pt", part)
  with pytest.raises(ValueError, match="holds 2 state dicts, not one"):
    torch_format.read(path)


def test_paths_in_a_zip_file_are_only_names(tmp_path):
  before = sorted(tmp_path.parent.iterdir())
  names = {"../../x": b"1", "/x": b"1", "..\\x": b"1"}
  path = t.write_zip(tmp_path / "model.pt", root="..", **names)
  assert torch_format.read(path)["a"].shape == (2, 3)
  assert sorted(tmp_path.parent.iterdir()) == before


def test_the_copy_outlives_the_file(tmp_path):
  path = t.write_zip(tmp_path / "model.pt")
  array = torch_format.read(path)["a"]
  path.write_bytes(b"")
  np.testing.assert_array_equal(array, np.zeros((2, 3)))
  assert array.flags.writeable
