import numpy as np
import pytest
import tensorflow as tf

from keras_bert_impl.checkpoints.formats import tf_format

ARRAYS = {
  "bert/encoder/layer_0/output/dense/kernel": np.arange(
    6, dtype="float32"
  ).reshape(2, 3),
  "bert/encoder/layer_0/output/dense/kernel/adam_m": np.ones((2, 3), "float32"),
  "global_step": np.array(7, "int64"),
}


@pytest.fixture(name="prefix")
def fixture_prefix(tmp_path):
  prefix = str(tmp_path / "folder/model.ckpt-7")
  tf_format.write(prefix, ARRAYS)
  return prefix


def test_what_is_written_is_read_again(prefix):
  checkpoint = tf_format.read(prefix)
  assert list(checkpoint) == sorted(ARRAYS) and len(checkpoint) == 3
  for name, array in ARRAYS.items():
    assert checkpoint.shapes[name] == array.shape
    assert checkpoint[name].dtype == array.dtype
    np.testing.assert_array_equal(checkpoint[name], array)


def test_the_files_are_those_of_a_tensorflow_1_saver(prefix, tmp_path):
  with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    variable = tf.compat.v1.get_variable(
      "bert/encoder/layer_0/output/dense/kernel", (2, 3), use_resource=False
    )
    tf.compat.v1.train.Saver([variable]).restore(session, prefix)
    restored = session.run(variable)
  np.testing.assert_array_equal(restored, np.arange(6).reshape(2, 3))


def test_tensors_and_variables_of_any_dtype_can_be_written(tmp_path):
  prefix = str(tmp_path / "model.ckpt")
  tf_format.write(
    prefix,
    {
      "bfloat16": tf.constant([1.5], tf.bfloat16),
      "variable": tf.Variable([1, 2]),
      "string": tf.constant("text"),
    },
  )
  checkpoint = tf_format.read(prefix)
  assert float(checkpoint["bfloat16"][0]) == 1.5
  np.testing.assert_array_equal(checkpoint["variable"], [1, 2])
  assert checkpoint["string"] == b"text"


def test_a_relative_prefix_will_do(tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  tf_format.write("model.ckpt", ARRAYS)
  assert (tmp_path / "model.ckpt.index").exists()
  assert tf_format.read("model.ckpt")["global_step"] == 7


def test_writing_again_replaces(prefix):
  tf_format.write(prefix, {"other": np.zeros(2)})
  assert list(tf_format.read(prefix)) == ["other"]


def test_writing_nothing_is_refused(tmp_path):
  with pytest.raises(ValueError, match="model.ckpt"):
    tf_format.write(tmp_path / "model.ckpt", {})


def test_an_unknown_name_is_a_key_error(prefix):
  checkpoint = tf_format.read(prefix)
  assert "absent" not in checkpoint
  with pytest.raises(KeyError, match="absent"):
    checkpoint["absent"]


def test_a_missing_checkpoint_is_refused_with_its_prefix(tmp_path):
  with pytest.raises(ValueError, match="absent.ckpt.index does not exist"):
    tf_format.read(tmp_path / "absent.ckpt")


@pytest.mark.parametrize(
  ("file", "length", "message"),
  [
    ("index", 8, "model.ckpt-7.index is damaged"),
    ("data-00000-of-00001", None, "kernel.*model.ckpt-7"),
    ("data-00000-of-00001", 8, "kernel.*model.ckpt-7"),
  ],
)
def test_what_is_cut_off_or_missing_is_refused_with_its_prefix(
  file, length, message, prefix, tmp_path
):
  path = tmp_path / f"folder/model.ckpt-7.{file}"
  content = path.read_bytes()
  path.unlink()
  if length:
    path.write_bytes(content[:length])
  with pytest.raises(ValueError, match=message):
    tf_format.read(prefix)["bert/encoder/layer_0/output/dense/kernel"]
