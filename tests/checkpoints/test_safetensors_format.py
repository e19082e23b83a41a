"""Safetensors files, whole and in shards, good and bad."""

import json
import os
import resource
import stat

import ml_dtypes
import numpy as np
import pytest
import safetensors
import safetensors.numpy

from keras_bert_impl.checkpoints.formats import safetensors_format
from keras_bert_impl.checkpoints.naming import mappings

ARRAYS = {
  "a.weight": np.arange(6, dtype="float32").reshape(2, 3),
  "b.bias": np.ones(4, "float32"),
  "c": np.full((1, 2), 7, "float32"),
}


def write(folder, arrays=None, **options):
  return safetensors_format.write(
    folder, mappings.Arrays(arrays or ARRAYS), **options
  )


def assert_reads_back(path):
  checkpoint = safetensors_format.read(path)
  assert list(checkpoint) == list(ARRAYS) and len(checkpoint) == 3
  for name, array in ARRAYS.items():
    assert checkpoint.shapes[name] == array.shape
    np.testing.assert_array_equal(checkpoint[name], array)


def test_what_is_written_is_read_again(tmp_path):
  [path] = write(tmp_path)
  assert_reads_back(path)


def test_the_file_has_the_mark_that_transformers_asks_for(tmp_path):
  [path] = write(tmp_path)
  with safetensors.safe_open(path, "np") as file:
    assert file.metadata() == {"format": "pt"}


@pytest.mark.parametrize("umask", [0o022, 0o002, 0o077])
def test_the_file_has_the_mode_of_any_other(umask, tmp_path):
  before = os.umask(umask)
  try:
    safetensors_format.write(tmp_path, mappings.Arrays({"a": np.ones((2, 3))}))
  finally:
    os.umask(before)
  mode = (tmp_path / "model.safetensors").stat().st_mode
  assert stat.S_IMODE(mode) == 0o666 & ~umask


def test_shards_hold_no_more_than_allowed_and_read_as_one(tmp_path):
  *shards, index = write(tmp_path, max_shard_size=24)
  assert [path.name for path in shards] == [
    "model-00001-of-00002.safetensors",
    "model-00002-of-00002.safetensors",
  ]
  content = json.loads(index.read_text())
  assert content["metadata"] == {"total_size": 48}
  assert content["weight_map"] == {
    "a.weight": shards[0].name,
    "b.bias": shards[1].name,
    "c": shards[1].name,
  }
  assert_reads_back(index)


def test_a_tensor_above_the_limit_has_a_shard_of_its_own(tmp_path):
  *shards, _ = write(tmp_path, max_shard_size=1)
  assert len(shards) == 3


def test_a_full_disk_is_an_error_of_the_file_system(tmp_path):
  # A limit on the size of a file fails like a full disk: in the middle.
  limits = resource.getrlimit(resource.RLIMIT_FSIZE)
  resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
  try:
    with pytest.raises(OSError, match="/model.safetensors") as error:
      write(tmp_path, {"a": np.zeros(10_000, "float32")})
    assert "File too large" in str(error.value)
  finally:
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64])
def test_other_floats_are_read_as_float32(dtype, tmp_path):
  safetensors.numpy.save_file(
    {"a": np.array([1.5, -2], dtype)}, tmp_path / "model.safetensors"
  )
  array = safetensors_format.read(tmp_path / "model.safetensors")["a"]
  assert array.dtype == np.float32
  np.testing.assert_array_equal(array, [1.5, -2])


def test_quantised_weights_are_refused_with_name_and_type(tmp_path):
  safetensors.numpy.save_file(
    {"a": np.array([1], "int8")}, tmp_path / "model.safetensors"
  )
  checkpoint = safetensors_format.read(tmp_path / "model.safetensors")
  with pytest.raises(ValueError, match="a in .*model.safetensors.*I8"):
    checkpoint["a"]


@pytest.mark.parametrize(
  "damage",
  [
    lambda content: b"",
    lambda content: content[:4],
    lambda content: content[:-1],
    lambda content: content[:8] + b"not a header" + content[20:],
  ],
)
def test_a_damaged_file_is_refused_with_its_name(damage, tmp_path):
  [path] = write(tmp_path)
  path.write_bytes(damage(path.read_bytes()))
  with pytest.raises(ValueError, match="model.safetensors is damaged"):
    safetensors_format.read(path)


@pytest.mark.parametrize(
  "name", ["../model.safetensors", "/etc/passwd", "deeper/x.safetensors", ".."]
)
def test_an_index_may_not_point_outside_its_folder(name, tmp_path):
  index = tmp_path / safetensors_format.INDEX_NAME
  index.write_text(json.dumps({"weight_map": {"a": name}}))
  with pytest.raises(ValueError, match="points outside its folder"):
    safetensors_format.read(index)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"weight_map": 3}'])
def test_a_damaged_index_is_refused_with_its_name(content, tmp_path):
  index = tmp_path / safetensors_format.INDEX_NAME
  index.write_text(content)
  with pytest.raises(ValueError, match="index.json"):
    safetensors_format.read(index)


def test_a_missing_shard_is_named(tmp_path):
  *shards, index = write(tmp_path, max_shard_size=1)
  os.remove(shards[1])
  with pytest.raises(FileNotFoundError, match="model-00002-of-00003"):
    safetensors_format.read(index)


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_axes_are_swapped_while_values_are_read(dtype, tmp_path):
  # More columns than are copied at once.
  array = np.arange(130 * 3).reshape(130, 3).astype(dtype)
  safetensors.numpy.save_file({"a": array}, tmp_path / "model.safetensors")
  stored = safetensors_format.read(tmp_path / "model.safetensors")
  swapped = stored.renamed({"b": "a", "c": "a"}, {"b"})
  assert swapped.shapes == {"b": (3, 130), "c": (130, 3)}
  np.testing.assert_array_equal(swapped["b"], array.T)
  np.testing.assert_array_equal(swapped["c"], array)
  assert all(swapped[name].flags.c_contiguous for name in "bc")
